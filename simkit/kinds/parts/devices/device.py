"""Validation of one device of a resource slice: its attributes, capacities, taints, and where it can be used.

Follows ``validateDevice`` of ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from simkit.kinds.parts.devices.names import (
    LABEL,
    LONGEST_QUALIFIED,
    NAME,
    POOL,
    SUBDOMAIN,
    TRUE,
    field_of,
    list_of,
    map_of,
    qualified,
    set_of,
)
from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.pod.validation.scheduling import DEVICE_NODE_SELECTOR, NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.parts.validation.object_meta import QUALIFIED
from simkit.kinds.parts.validation.resource_quantities import compare, is_native
from simkit.kinds.rules import REQUIRED, by, changes, fields, fixed, items, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import Errors, FieldError, duplicate, forbidden_field, invalid_value, missing, required
from simkit.meta.name_validation import label_value
from simkit.meta.objects import Draft, Object
from simkit.meta.quantity import Quantity, canonical, parse

_MOST_OPTIONS: Final = 10
_BOTH: Final = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def _validate_policy(behaviour: ServedBehaviour, path: str, capacity: Object) -> Errors:
    """The errors of how much of a capacity may be requested, where several claims may have the device."""
    policy, most = capacity["requestPolicy"], capacity.get("value") or "0"
    options, within = policy.get("validValues") or (), policy.get("validRange")
    here = f"{path}.requestPolicy"
    if options and within is not None:
        yield forbidden_field(here, _BOTH)
    elif policy.get("default") is None:
        if options or within is not None:
            yield required(f"{here}.default", f"required when {'validValues' if options else 'validRange'} is defined")
    elif options:
        yield from _validate_options(behaviour, f"{here}.validValues", options, policy["default"], most)
    elif within is not None:
        yield from _validate_range(f"{here}.validRange", within, policy["default"], most)


def _validate_options(behaviour: ServedBehaviour, path: str, options: Sequence[str], default: str, most: str) -> Errors:
    for index, (one, following) in enumerate(pairwise(options), start=1):
        if compare(one, following) > 0:
            yield invalid_value(f"{path}[{index}]", canonical(following), "values must be sorted in ascending order")
    fits = must.hold(
        lambda option: compare(option, most) <= 0, f"option is larger than capacity value: {canonical(most)}", canonical
    )
    yield from placed(path, set_of(_MOST_OPTIONS, fits, lambda option: str(parse(option).whole))(behaviour, options))
    if len(options) > _MOST_OPTIONS or all(compare(option, default) for option in options):
        yield invalid_value(path, canonical(default), "default value is not valid according to the requestPolicy")


def _validate_range(path: str, within: Object, default: str, most: str) -> Errors:
    low, high, step = within.get("min"), within.get("max"), within.get("step")
    if low is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    if compare(low, most) > 0:
        yield invalid_value(f"{path}.min", canonical(low), f"min is larger than capacity value: {canonical(most)}")
    if compare(default, low) < 0:
        yield invalid_value(f"{path}.min", canonical(default), f"default is less than min: {canonical(low)}")
    if high is not None:
        if compare(low, high) > 0:
            yield invalid_value(f"{path}.max", canonical(low), f"min is larger than max: {canonical(high)}")
        if compare(high, most) > 0:
            yield invalid_value(f"{path}.max", canonical(high), f"max is larger than capacity value: {canonical(most)}")
        if compare(default, high) > 0:
            yield invalid_value(f"{path}.max", canonical(default), f"default is more than max: {canonical(high)}")
    if step is not None:
        yield from _validate_step(f"{path}.step", low, step, most, [default] if high is None else [default, high])


def _validate_step(path: str, low: str, step: str, most: str, amounts: Sequence[str]) -> Errors:
    first = str(Quantity(parse(low).nano + parse(step).nano, parse(low).format))
    if compare(first, most) > 0:
        told = f"one step {first} is larger than capacity value: {canonical(most)}"
        yield invalid_value(path, canonical(step), told)
    width = parse(step).whole
    for amount in amounts:
        if width and (parse(amount).whole - parse(low).whole) % width:
            told = f"value is not a multiple of a given step ({canonical(step)}) from ({canonical(low)})"
            yield invalid_value(path, canonical(amount), told)


_COUNTERS: Final = row("counters", REQUIRED, must.have_at_most(32), map_of(63, LABEL, table()))
_COUNTER_SET: Final = table(row("name", REQUIRED, LABEL), _COUNTERS)
_CONSUMPTION: Final = table(row("counterSet", REQUIRED, LABEL), _COUNTERS)
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
EFFECT: Final = table(
    row("", must.be_one_of(*_EFFECTS), since="device-taints-without-effect"),
    row("", must.be_one_of(*_EFFECTS[:-1]), until="device-taints-without-effect"),
)
"""The check of the effect of a taint of a device."""


def default_taint(taint: Draft, now: float) -> None:
    """Say when a taint was added, if nothing else says it."""
    if taint.get("timeAdded") is None:
        taint["timeAdded"] = timestamp(now)


_TAINT: Final = table(row("key", QUALIFIED, zero=""), row("value", must.be(label_value)))
_EFFECT: Final = row("effect", REQUIRED, EFFECT)
NEW_TAINT: Final = table(_TAINT, _EFFECT)
"""The check of a new taint."""


def validate_changed_taint(behaviour: ServedBehaviour, taint: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of a taint; an effect that was stored is not looked at."""
    same = old is not None and (old.get("effect") or "") == (taint.get("effect") or "")
    if same and behaviour.applies("device-taints-without-effect"):
        return _TAINT(behaviour, taint)
    return NEW_TAINT(behaviour, taint)


_MOST_ATTRIBUTES: Final = 32
_MOST_VALUES: Final = 48
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


def _validate_device(behaviour: ServedBehaviour, device: Object, old: Object | None, *, per_device: bool) -> Errors:
    """The errors of a device; ``per_device`` tells whether each device of its slice names its nodes."""
    capacities = device.get("capacity") or {}
    yield from NAME(behaviour, device)
    yield from _validate_sizes(device.get("attributes") or {}, capacities)
    yield from _ATTRIBUTES(behaviour, device)
    yield from (_SHARED if device.get("allowMultipleAllocations") else _UNSHARED)(behaviour, device)
    taints = device.get("taints") or ()
    if old is None or taints != (old.get("taints") or ()) or not behaviour.applies("device-taints-without-effect"):
        yield from placed(".taints", _TAINTS(behaviour, taints))
    yield from _CONSUMED(behaviour, device)
    if per_device:
        yield from _NODES(behaviour, device)
        yield from _one_way(_ways(device, *_NAMING), _ONE, _ONE)
    elif any(device.get(name) is not None for name in _NAMING):
        yield invalid_value("", None, _NOT_HERE)
    yield from BINDING_CONDITIONS(behaviour, device)
    yield from placed(".nodeAllocatableResourceMappings", _validate_mappings(device, capacities))


def _validate_sizes(attributes: Mapping[str, Object], capacities: Mapping[str, Object]) -> Errors:
    both = len(attributes) + len(capacities)
    if both > _MOST_ATTRIBUTES:
        yield invalid_value(
            "", both, f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        )
    values = sum(sum(len(each.get(name) or ()) for name in LISTS) or 1 for each in attributes.values())
    if values > _MOST_VALUES:
        yield invalid_value("", values, f"the total number of attribute values must not exceed {_MOST_VALUES}")


_TEXT: Final = must.have_at_most_bytes(64)
_SEMANTIC: Final = table(must.hold(_VERSION.fullmatch, "must be a string compatible with semver.org spec 2.0.0"), _TEXT)
_FULL: Final = must.hold(lambda values: values, "must not be empty if specified")


def _validate_one_value(behaviour: ServedBehaviour, path: str, attribute: Object) -> Errors:
    given = [name for name in ("int", "bool", "string", "version", *LISTS) if attribute.get(name) is not None]
    text = "exactly one value must be specified"
    if len(given) > 1:
        yield invalid_value(path, structure("resource.DeviceAttribute", attribute), text)
    elif not given:
        unset = behaviour.applies("device-attributes-without-value-are-invalid")
        yield invalid_value(path, "", text) if unset else required(path, text)


_ATTRIBUTE: Final = table(
    row("string", _TEXT, empty=True),
    row("version", _SEMANTIC, empty=True),
    row("bools", _FULL),
    row("ints", _FULL),
    row("strings", table(_FULL, items(_TEXT))),
    row("versions", table(_FULL, items(_SEMANTIC))),
    by(_validate_one_value),
)
_ATTRIBUTES: Final = row("attributes", map_of(LONGEST_QUALIFIED, qualified, _ATTRIBUTE))
_POLICY: Final = fields.present("requestPolicy")
_OWN: Final = row("requestPolicy", must.be_absent("allowMultipleAllocations must be true", pointer=True))
_UNSHARED: Final = row("capacity", map_of(LONGEST_QUALIFIED, qualified, _OWN))
_SHARED: Final = row("capacity", map_of(LONGEST_QUALIFIED, qualified, row("", by(_validate_policy), when=_POLICY)))
_TAINTS: Final = list_of(16, NEW_TAINT)
_CONSUMED: Final = row("consumesCounters", set_of(2, _CONSUMPTION, field_of("counterSet"), "counterSet"))
_NAMING: Final = ("nodeName", "nodeSelector", "allNodes")
_NODES: Final = table(
    row("nodeName", must.hold(lambda name: name, "must not be empty"), SUBDOMAIN, empty=True),
    row("nodeSelector", NODE_SELECTOR),
    row("allNodes", TRUE),
)


def _ways(holder: Object, *names: str) -> list[str]:
    """The fields that name nodes, of which an empty selector is one."""
    return [name for name in names if holder.get(name) or (name == "nodeSelector" and holder.get(name) is not None)]


def _one_way(ways: Sequence[str], none: str, several: str) -> Errors:
    """The error of nodes that are named in no way, or in several."""
    if not ways:
        yield required("", none)
    elif len(ways) > 1:
        yield invalid_value("", f"{{{', '.join(f'`{name}`' for name in ways)}}}", several)


def _validate_overlap(behaviour: ServedBehaviour, path: str, device: Object) -> Errors:
    """The errors of conditions that are listed twice, or among those of failure too."""
    wanted, failures = device.get("bindingConditions") or (), device.get("bindingFailureConditions") or ()
    wants, fails = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    yield from (duplicate(f"{wants}[{index}]", wanted[index]) for index in sorted(repeats(wanted)))
    again = repeats(failures)
    for index, name in enumerate(failures):
        if index in again:
            yield duplicate(f"{fails}[{index}]", name)
        if name in wanted:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid_value(f"{fails}[{index}]", name, text)
    if bool(failures) != bool(wanted):
        lacking, other = sorted(
            ("bindingConditions", "bindingFailureConditions"), key=lambda name: bool(device.get(name))
        )
        text = f"{lacking} are required to use {other}"
        yield invalid_value(f"{path}.{lacking}", device.get(lacking), text)


_CONDITIONS: Final = list_of(4, QUALIFIED)
BINDING_CONDITIONS: Final = table(
    row("bindingConditions", _CONDITIONS), row("bindingFailureConditions", _CONDITIONS), by(_validate_overlap)
)
"""The check of the conditions that a pod with a device waits for before it is bound."""


def _validate_mappings(device: Object, capacities: Mapping[str, Object]) -> Errors:
    for name, mapping in sorted((device.get("nodeAllocatableResourceMappings") or {}).items()):
        here, factor, key = f"[{name}]", mapping.get("allocationMultiplier"), mapping.get("capacityKey")
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


def device_key(device: Object) -> tuple[str, ...]:
    """The driver, pool, name and share of a device."""
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
_ONE_OF_SLICE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def validate_slice(behaviour: ServedBehaviour, spec: Object, old: Object | None) -> Errors:
    """The errors of the spec of a resource slice, relative to it."""
    yield from _DRIVER_AND_POOL(behaviour, spec)
    if old is not None:
        yield from _FIXED(behaviour, spec, old)
    yield from _SLICE_NODES(behaviour, spec)
    ways = _ways(spec, *_NAMING, "perDeviceNodeSelection")
    yield from _one_way(ways, _ONE_OF_SLICE, f"{_ONE_OF_SLICE}, but multiple fields are set")
    devices, apart = spec.get("devices"), behaviour.applies("counters-in-slices-of-their-own")
    if devices is not None and spec.get("sharedCounters") is not None and apart:
        yield invalid_value("", "", "only one of `sharedCounters` or `devices` is allowed")
    before = {each.get("name") or "": each for each in (old or {}).get("devices") or ()}
    per_device = bool(spec.get("perDeviceNodeSelection"))

    def check(behaviour: ServedBehaviour, device: Any) -> Sequence[FieldError]:
        known = before.get(device.get("name") or "")
        return [*_validate_device(behaviour, device, known, per_device=per_device)]

    most = _MOST_ADVANCED_DEVICES if apart and any(map(_is_advanced, devices or ())) else _MOST_DEVICES
    yield from row("devices", set_of(most, check, field_of("name"), "name"))(behaviour, spec)
    yield from _SHARED_COUNTERS(behaviour, spec)


def _is_advanced(device: Object) -> bool:
    """True if a device has what slices may have of fewer devices."""
    attributes: Mapping[str, Object] = device.get("attributes") or {}
    lists = any(each.get(name) is not None for each in attributes.values() for name in LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _validate_one_term(behaviour: ServedBehaviour, path: str, selector: Object) -> Errors:
    terms = selector.get("nodeSelectorTerms")
    if len(terms or ()) != 1:
        shown = structures("core.NodeSelectorTerm", terms)
        yield invalid_value(f"{path}.nodeSelectorTerms", shown, "must have exactly one node selector term")


_DRIVER_AND_POOL: Final = table(
    row("driver", DRIVER, zero=""),
    row(
        "pool",
        row("name", POOL, zero=""),
        row("resourceSliceCount", must.be_above_zero, zero=0),
        row("generation", must.hold(lambda number: number >= 0, "must be greater than or equal to zero")),
        zero={},
    ),
)
_FIXED: Final = changes(fixed("pool.name", "driver", zero=""), fixed("nodeName"))
_SHARED_COUNTERS: Final = row("sharedCounters", set_of(8, _COUNTER_SET, field_of("name"), "name"))
_SLICE_NODES: Final = table(
    row(
        "nodeName",
        must.hold(lambda name: name, "must be either unset or set to a non-empty string"),
        SUBDOMAIN,
        empty=True,
    ),
    row("nodeSelector", table(DEVICE_NODE_SELECTOR, by(_validate_one_term))),
    row("allNodes", TRUE),
    row("perDeviceNodeSelection", TRUE),
)
