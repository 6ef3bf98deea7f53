"""Validation of one device of a resource slice: its attributes, capacities, taints, and where it can be used.

Follows ``validateDevice`` of ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.devices.capacity import validate_capacity
from simkit.kinds.parts.devices.counters import validate_consumption
from simkit.kinds.parts.devices.names import (
    LONGEST_QUALIFIED,
    validate_each,
    validate_map,
    validate_qualified,
    validate_set,
)
from simkit.kinds.parts.devices.taints import validate_taint
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.scheduling import validate_node_selector
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.kinds.parts.validation.repeats import repeats
from simkit.kinds.parts.validation.resource_quantities import is_native
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, missing, required, too_long
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object
from simkit.meta.quantity import canonical, parse

_MOST_ATTRIBUTES: Final = 32
_MOST_VALUES: Final = 48
_MOST_TAINTS: Final = 16
_MOST_CONSUMPTIONS: Final = 2
_MOST_CONDITIONS: Final = 4
_LONGEST_VALUE: Final = 64
LISTS: Final = ("bools", "ints", "strings", "versions")
"""The fields of attributes that hold several values."""
_PART: Final = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){{2}}(-{_PART}(\.{_PART})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_ONE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NOT_HERE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


def validate_device(path: str, device: Object, old: Object | None, *, per_device: bool) -> Iterator[FieldError]:
    """The errors of a device; ``per_device`` tells whether each device of its slice names its nodes."""
    yield from validate_text(f"{path}.name", device.get("name") or "", dns_label)
    attributes, capacities = device.get("attributes") or {}, device.get("capacity") or {}
    yield from _validate_sizes(path, attributes, capacities)
    yield from validate_map(
        f"{path}.attributes", attributes, -1, LONGEST_QUALIFIED, validate_qualified, _validate_attribute
    )
    shared = bool(device.get("allowMultipleAllocations"))

    def check(at: str, capacity: Any) -> Iterator[FieldError]:
        return validate_capacity(at, capacity, shared=shared)

    yield from validate_map(f"{path}.capacity", capacities, -1, LONGEST_QUALIFIED, validate_qualified, check)
    taints = device.get("taints") or ()
    if old is None or taints != (old.get("taints") or ()) or not applies("device-taints-without-effect"):
        yield from validate_each(f"{path}.taints", taints, _MOST_TAINTS, validate_taint)
    consumed = device.get("consumesCounters") or ()
    yield from validate_set(
        f"{path}.consumesCounters", consumed, _MOST_CONSUMPTIONS, validate_consumption, _counter_set, "counterSet"
    )
    yield from _validate_nodes(path, device, per_device=per_device)
    yield from validate_binding_conditions(path, device)
    yield from _validate_mappings(f"{path}.nodeAllocatableResourceMappings", device, capacities)


def _counter_set(consumed: Any) -> str:
    return consumed.get("counterSet") or ""


def _validate_sizes(
    path: str, attributes: Mapping[str, Object], capacities: Mapping[str, Object]
) -> Iterator[FieldError]:
    both = len(attributes) + len(capacities)
    if both > _MOST_ATTRIBUTES:
        told = f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        yield invalid_value(path, both, told)
    values = sum(sum(len(each.get(name) or ()) for name in LISTS) or 1 for each in attributes.values())
    if values > _MOST_VALUES:
        yield invalid_value(path, values, f"the total number of attribute values must not exceed {_MOST_VALUES}")


def _validate_attribute(path: str, attribute: Any) -> Iterator[FieldError]:
    checks: Mapping[str, Callable[[str, str], Iterator[FieldError]]] = {
        "string": _validate_string,
        "version": _validate_version,
    }
    for name, check in checks.items():
        if attribute.get(name) is not None:
            yield from check(f"{path}.{name}", attribute[name])
    for name in LISTS:
        values = attribute.get(name)
        if values is not None and not values:
            yield invalid_value(f"{path}.{name}", [], "must not be empty if specified")
        if name[:-1] in checks:
            for index, value in enumerate(values or ()):
                yield from checks[name[:-1]](f"{path}.{name}[{index}]", value)
    given = [name for name in ("int", "bool", "string", "version", *LISTS) if attribute.get(name) is not None]
    if not given and applies("device-attributes-without-value-are-invalid"):
        yield invalid_value(path, "", "exactly one value must be specified")
    elif not given:
        yield required(path, "exactly one value must be specified")
    elif len(given) > 1:
        yield invalid_value(
            path, structure("resource.DeviceAttribute", attribute), "exactly one value must be specified"
        )


def _validate_string(path: str, value: str) -> Iterator[FieldError]:
    if len(value.encode()) > _LONGEST_VALUE:
        yield too_long(path, _LONGEST_VALUE)


def _validate_version(path: str, value: str) -> Iterator[FieldError]:
    if not _VERSION.fullmatch(value):
        yield invalid_value(path, value, "must be a string compatible with semver.org spec 2.0.0")
    yield from _validate_string(path, value)


def _validate_nodes(path: str, device: Object, *, per_device: bool) -> Iterator[FieldError]:
    name, selector, everywhere = (device.get(field) for field in ("nodeName", "nodeSelector", "allNodes"))
    if not per_device:
        if (name, selector, everywhere) != (None, None, None):
            yield invalid_value(path, None, _NOT_HERE)
        return
    said: list[str] = []
    if name:
        said.append("`nodeName`")
        yield from validate_text(f"{path}.nodeName", name, dns_subdomain)
    elif name is not None:
        yield invalid_value(f"{path}.nodeName", name, "must not be empty")
    if selector is not None:
        said.append("`nodeSelector`")
        yield from validate_node_selector(f"{path}.nodeSelector", selector)
    if everywhere:
        said.append("`allNodes`")
    elif everywhere is not None:
        yield invalid_value(f"{path}.allNodes", False, "must be either unset or set to true")
    if not said:
        yield required(path, _ONE)
    elif len(said) > 1:
        yield invalid_value(path, f"{{{', '.join(said)}}}", _ONE)


def validate_binding_conditions(path: str, device: Object) -> Iterator[FieldError]:
    """The errors of the conditions that a pod with a device waits for before it is bound."""
    wanted: Sequence[str] = device.get("bindingConditions") or ()
    failures: Sequence[str] = device.get("bindingFailureConditions") or ()
    wants, fails = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    yield from validate_each(wants, wanted, _MOST_CONDITIONS, validate_qualified_name)
    yield from validate_each(fails, failures, _MOST_CONDITIONS, validate_qualified_name)
    again = repeats(wanted)
    yield from (duplicate(f"{wants}[{index}]", name) for index, name in enumerate(wanted) if index in again)
    again = repeats(failures)
    for index, name in enumerate(failures):
        if index in again:
            yield duplicate(f"{fails}[{index}]", name)
        if name in wanted:
            yield invalid_value(
                f"{fails}[{index}]", name, "bindingFailureConditions must not overlap with bindingConditions"
            )
    if failures and not wanted:
        empty = device.get("bindingConditions")
        yield invalid_value(wants, empty, "bindingConditions are required to use bindingFailureConditions")
    if wanted and not failures:
        empty = device.get("bindingFailureConditions")
        yield invalid_value(fails, empty, "bindingFailureConditions are required to use bindingConditions")


def _validate_mappings(path: str, device: Object, capacities: Mapping[str, Object]) -> Iterator[FieldError]:
    for name, mapping in sorted((device.get("nodeAllocatableResourceMappings") or {}).items()):
        here, factor, key = f"{path}[{name}]", mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if not is_native(name):
            yield invalid_value(here, name, "must be a node allocatable resource name")
        if factor is None and key is None:
            yield invalid_value(here, "", "at least one of allocationMultiplier or capacityKey must be set")
        if factor is not None and parse(factor).nano <= 0:
            yield invalid_value(f"{here}.allocationMultiplier", canonical(factor), "must be positive")
        if key == "":
            yield invalid_value(f"{here}.capacityKey", "", "capacityKey must not be an empty string")
        elif key is not None and key not in capacities:
            yield missing(f"{here}.capacityKey", key)
