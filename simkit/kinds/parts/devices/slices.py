"""Validation of resource slices: which nodes have the devices of a pool, and the counters that devices share.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.devices.counters import validate_counter_set
from simkit.kinds.parts.devices.device import LISTS, validate_device
from simkit.kinds.parts.devices.names import validate_pool_name, validate_set
from simkit.kinds.parts.go_printing.structures import structures
from simkit.kinds.parts.pod.validation.scheduling import validate_node_selector
from simkit.kinds.parts.pod.validation.volume_sources import validate_driver
from simkit.kinds.parts.validation.fields import validate_immutable_field, validate_text
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, at

_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
_ONE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def validate_slice(spec: Object, old: Object | None) -> Iterator[FieldError]:
    """The errors of the spec of a resource slice."""
    yield from validate_driver("spec.driver", spec.get("driver") or "")
    pool = spec.get("pool") or {}
    yield from _validate_pool("spec.pool", pool)
    if old is not None:
        yield from validate_immutable_field("spec.pool.name", pool.get("name") or "", at(old, "pool", "name") or "")
        yield from validate_immutable_field("spec.driver", spec.get("driver") or "", old.get("driver") or "")
        yield from validate_immutable_field("spec.nodeName", spec.get("nodeName"), old.get("nodeName"))
    yield from _validate_nodes(spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None and applies("counters-in-slices-of-their-own"):
        yield invalid_value("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    before = {each.get("name") or "": each for each in (old or {}).get("devices") or ()}

    def check(path: str, device: Any) -> Iterator[FieldError]:
        known = before.get(device.get("name") or "")
        return validate_device(path, device, known, per_device=bool(spec.get("perDeviceNodeSelection")))

    advanced = applies("counters-in-slices-of-their-own") and any(map(_is_advanced, devices or ()))
    most = _MOST_ADVANCED_DEVICES if advanced else _MOST_DEVICES
    yield from validate_set("spec.devices", devices or (), most, check, _name, "name")
    yield from validate_set(
        "spec.sharedCounters", counters or (), _MOST_COUNTER_SETS, validate_counter_set, _name, "name"
    )


def _name(item: Any) -> str:
    return item.get("name") or ""


def _is_advanced(device: Object) -> bool:
    """True if a device has what slices may have of fewer devices."""
    attributes: Mapping[str, Object] = device.get("attributes") or {}
    lists = any(each.get(name) is not None for each in attributes.values() for name in LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _validate_pool(path: str, pool: Object) -> Iterator[FieldError]:
    yield from validate_pool_name(f"{path}.name", pool.get("name") or "")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid_value(f"{path}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        yield invalid_value(f"{path}.generation", generation, "must be greater than or equal to zero")


def _validate_nodes(spec: Object) -> Iterator[FieldError]:
    """The errors of what names the nodes: a slice says it in exactly one way."""
    said: list[str] = []
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        said.append("nodeName")
        yield from validate_text("spec.nodeName", name, dns_subdomain)
    elif name is not None:
        yield invalid_value("spec.nodeName", name, "must be either unset or set to a non-empty string")
    if selector is not None:
        said.append("nodeSelector")
        yield from validate_node_selector("spec.nodeSelector", selector, of_devices=True)
        terms: Sequence[Object] | None = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            shown = structures("core.NodeSelectorTerm", terms)
            yield invalid_value(
                "spec.nodeSelector.nodeSelectorTerms", shown, "must have exactly one node selector term"
            )
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field):
            said.append(field)
        elif spec.get(field) is not None:
            yield invalid_value(f"spec.{field}", False, "must be either unset or set to true")
    if not said:
        yield required("spec", _ONE)
    elif len(said) > 1:
        shown_fields = ", ".join(f"`{field}`" for field in said)
        yield invalid_value("spec", f"{{{shown_fields}}}", f"{_ONE}, but multiple fields are set")
