"""Validation of one device of a resource slice: its attributes, capacities, taints, and where it can be used.

Follows ``validateDevice`` of ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from simkit.kinds.parts.devices.names import (
    LONGEST_QUALIFIED,
    told_at,
    validate_each,
    validate_map,
    validate_pool_name,
    validate_qualified,
    validate_set,
)
from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.pod.validation.scheduling import DEVICE_NODE_SELECTOR, NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import validate_driver
from simkit.kinds.parts.validation.fields import repeats, validate_immutable_field, validate_text
from simkit.kinds.parts.validation.object_meta import validate_qualified_name
from simkit.kinds.parts.validation.resource_quantities import compare, is_native
from simkit.kinds.rules import REQUIRED, Check, by, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    missing,
    required,
    too_long,
    unsupported,
)
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value
from simkit.meta.objects import Draft, Object, at
from simkit.meta.quantity import Quantity, canonical, parse

_MOST_OPTIONS: Final = 10
_BOTH: Final = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def validate_capacity(behaviour: ServedBehaviour, path: str, capacity: Object, *, shared: bool) -> Iterator[FieldError]:
    """The errors of one capacity of a device; ``shared`` tells whether several claims may have the device."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    here = f"{path}.requestPolicy"
    if not shared:
        yield forbidden_field(here, "allowMultipleAllocations must be true")
        return
    options, within, most = policy.get("validValues") or (), policy.get("validRange"), capacity.get("value") or "0"
    if options and within is not None:
        yield forbidden_field(here, _BOTH)
    elif policy.get("default") is None:
        if options or within is not None:
            yield required(f"{here}.default", f"required when {'validValues' if options else 'validRange'} is defined")
    elif options:
        yield from _validate_options(behaviour, f"{here}.validValues", options, policy["default"], most)
    elif within is not None:
        yield from _validate_range(f"{here}.validRange", within, policy["default"], most)


def _validate_options(
    behaviour: ServedBehaviour, path: str, options: Sequence[str], default: str, most: str
) -> Iterator[FieldError]:
    for index, (one, following) in enumerate(pairwise(options), start=1):
        if compare(one, following) > 0:
            yield invalid_value(f"{path}[{index}]", canonical(following), "values must be sorted in ascending order")

    def check(behaviour: ServedBehaviour, at: str, option: str) -> Iterator[FieldError]:
        if compare(option, most) > 0:
            told = f"option is larger than capacity value: {canonical(most)}"
            yield invalid_value(at, canonical(option), told)

    yield from validate_set(behaviour, path, options, _MOST_OPTIONS, check, lambda option: str(parse(option).whole))
    if len(options) > _MOST_OPTIONS or all(compare(option, default) for option in options):
        yield invalid_value(path, canonical(default), "default value is not valid according to the requestPolicy")


def _validate_range(path: str, within: Object, default: str, most: str) -> Iterator[FieldError]:
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


def _validate_step(path: str, low: str, step: str, most: str, amounts: Sequence[str]) -> Iterator[FieldError]:
    first = str(Quantity(parse(low).nano + parse(step).nano, parse(low).format))
    if compare(first, most) > 0:
        told = f"one step {first} is larger than capacity value: {canonical(most)}"
        yield invalid_value(path, canonical(step), told)
    width = parse(step).whole
    for amount in amounts:
        if width and (parse(amount).whole - parse(low).whole) % width:
            told = f"value is not a multiple of a given step ({canonical(step)}) from ({canonical(low)})"
            yield invalid_value(path, canonical(amount), told)


def _any_amount(behaviour: ServedBehaviour, path: str, counter: Any) -> Iterator[FieldError]:
    return iter(())


def _validate_counters(behaviour: ServedBehaviour, path: str, counters: Mapping[str, Any]) -> Iterator[FieldError]:
    return validate_map(
        behaviour, path, counters, 32, 63, lambda _, at, name: validate_text(at, name, dns_label), _any_amount
    )


def _counters_of(named: str) -> Check:
    """The check of counters and the name of their set."""
    return table(row(named, REQUIRED, must.be(dns_label)), row("counters", REQUIRED, by(_validate_counters)))


_COUNTER_SET: Final = _counters_of("name")
_CONSUMPTION: Final = _counters_of("counterSet")


_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")


def taint_effects(behaviour: ServedBehaviour) -> Sequence[str]:
    """The effects that taints of devices may have at the served release."""
    return _EFFECTS if behaviour.applies("device-taints-without-effect") else _EFFECTS[:-1]


def default_taint(taint: Draft, now: float) -> None:
    """Say when a taint was added, if nothing else says it."""
    if taint.get("timeAdded") is None:
        taint["timeAdded"] = timestamp(now)


def validate_taint(behaviour: ServedBehaviour, path: str, taint: Any) -> Iterator[FieldError]:
    """The errors of a new taint."""
    return validate_changed_taint(behaviour, path, taint, None)


def validate_changed_taint(
    behaviour: ServedBehaviour, path: str, taint: Object, old: Object | None
) -> Iterator[FieldError]:
    """The errors of a taint; an effect that was stored is not looked at."""
    yield from validate_qualified_name(behaviour, f"{path}.key", taint.get("key") or "")
    if taint.get("value"):
        yield from validate_text(f"{path}.value", taint["value"], label_value)
    effect = taint.get("effect") or ""
    if old is not None and (old.get("effect") or "") == effect and behaviour.applies("device-taints-without-effect"):
        return
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in taint_effects(behaviour):
        yield unsupported(f"{path}.effect", effect, taint_effects(behaviour))


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


def validate_device(
    behaviour: ServedBehaviour, path: str, device: Object, old: Object | None, *, per_device: bool
) -> Iterator[FieldError]:
    """The errors of a device; ``per_device`` tells whether each device of its slice names its nodes."""
    yield from validate_text(f"{path}.name", device.get("name") or "", dns_label)
    attributes, capacities = device.get("attributes") or {}, device.get("capacity") or {}
    yield from _validate_sizes(path, attributes, capacities)
    yield from validate_map(
        behaviour, f"{path}.attributes", attributes, -1, LONGEST_QUALIFIED, validate_qualified, _validate_attribute
    )
    shared = bool(device.get("allowMultipleAllocations"))

    def check(behaviour: ServedBehaviour, at: str, capacity: Any) -> Iterator[FieldError]:
        return validate_capacity(behaviour, at, capacity, shared=shared)

    yield from validate_map(behaviour, f"{path}.capacity", capacities, -1, LONGEST_QUALIFIED, validate_qualified, check)
    taints = device.get("taints") or ()
    if old is None or taints != (old.get("taints") or ()) or not behaviour.applies("device-taints-without-effect"):
        yield from validate_each(behaviour, f"{path}.taints", taints, _MOST_TAINTS, validate_taint)
    consumed = device.get("consumesCounters") or ()
    yield from validate_set(
        behaviour,
        f"{path}.consumesCounters",
        consumed,
        _MOST_CONSUMPTIONS,
        told_at(_CONSUMPTION),
        _counter_set,
        "counterSet",
    )
    yield from _validate_nodes(behaviour, path, device, per_device=per_device)
    yield from validate_binding_conditions(behaviour, path, device)
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


def _validate_attribute(behaviour: ServedBehaviour, path: str, attribute: Any) -> Iterator[FieldError]:
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
    if not given and behaviour.applies("device-attributes-without-value-are-invalid"):
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


_TRUE: Final = must.hold(lambda flag: flag, "must be either unset or set to true")
_NODES: Final = table(
    row("nodeName", must.hold(lambda name: name, "must not be empty"), must.be(dns_subdomain), empty=True),
    row("nodeSelector", NODE_SELECTOR),
    row("allNodes", _TRUE),
)


def _ways(holder: Object, *names: str) -> list[str]:
    """The fields that name nodes, of which an empty selector is one."""
    return [name for name in names if holder.get(name) or (name == "nodeSelector" and holder.get(name) is not None)]


def _validate_nodes(behaviour: ServedBehaviour, path: str, device: Object, *, per_device: bool) -> Iterator[FieldError]:
    names = ("nodeName", "nodeSelector", "allNodes")
    if not per_device:
        if any(device.get(name) is not None for name in names):
            yield invalid_value(path, None, _NOT_HERE)
        return
    yield from placed(path, _NODES(behaviour, device))
    ways = _ways(device, *names)
    if not ways:
        yield required(path, _ONE)
    elif len(ways) > 1:
        yield invalid_value(path, f"{{{', '.join(f'`{name}`' for name in ways)}}}", _ONE)


def validate_binding_conditions(behaviour: ServedBehaviour, path: str, device: Object) -> Iterator[FieldError]:
    """The errors of the conditions that a pod with a device waits for before it is bound."""
    wanted: Sequence[str] = device.get("bindingConditions") or ()
    failures: Sequence[str] = device.get("bindingFailureConditions") or ()
    wants, fails = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    yield from validate_each(behaviour, wants, wanted, _MOST_CONDITIONS, validate_qualified_name)
    yield from validate_each(behaviour, fails, failures, _MOST_CONDITIONS, validate_qualified_name)
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


def device_key(device: Object) -> tuple[str, ...]:
    """The driver, pool, name and share of a device."""
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
_ONE_OF_SLICE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def validate_slice(behaviour: ServedBehaviour, spec: Object, old: Object | None) -> Iterator[FieldError]:
    """The errors of the spec of a resource slice."""
    yield from validate_driver(behaviour, "spec.driver", spec.get("driver") or "")
    pool = spec.get("pool") or {}
    yield from placed("spec.pool", _POOL(behaviour, pool))
    if old is not None:
        yield from validate_immutable_field("spec.pool.name", pool.get("name") or "", at(old, "pool", "name") or "")
        yield from validate_immutable_field("spec.driver", spec.get("driver") or "", old.get("driver") or "")
        yield from validate_immutable_field("spec.nodeName", spec.get("nodeName"), old.get("nodeName"))
    yield from _validate_slice_nodes(behaviour, spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None and behaviour.applies("counters-in-slices-of-their-own"):
        yield invalid_value("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    before = {each.get("name") or "": each for each in (old or {}).get("devices") or ()}

    def check(behaviour: ServedBehaviour, path: str, device: Any) -> Iterator[FieldError]:
        known = before.get(device.get("name") or "")
        return validate_device(behaviour, path, device, known, per_device=bool(spec.get("perDeviceNodeSelection")))

    advanced = behaviour.applies("counters-in-slices-of-their-own") and any(map(_is_advanced, devices or ()))
    most = _MOST_ADVANCED_DEVICES if advanced else _MOST_DEVICES
    yield from validate_set(behaviour, "spec.devices", devices or (), most, check, _name, "name")
    yield from validate_set(
        behaviour, "spec.sharedCounters", counters or (), _MOST_COUNTER_SETS, told_at(_COUNTER_SET), _name, "name"
    )


def _name(item: Any) -> str:
    return item.get("name") or ""


def _is_advanced(device: Object) -> bool:
    """True if a device has what slices may have of fewer devices."""
    attributes: Mapping[str, Object] = device.get("attributes") or {}
    lists = any(each.get(name) is not None for each in attributes.values() for name in LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _validate_one_term(behaviour: ServedBehaviour, path: str, selector: Object) -> Iterator[FieldError]:
    terms = selector.get("nodeSelectorTerms")
    if len(terms or ()) != 1:
        shown = structures("core.NodeSelectorTerm", terms)
        yield invalid_value(f"{path}.nodeSelectorTerms", shown, "must have exactly one node selector term")


_POOL: Final = table(
    row("name", by(validate_pool_name), zero=""),
    row("resourceSliceCount", must.be_above_zero, zero=0),
    row("generation", must.hold(lambda number: number >= 0, "must be greater than or equal to zero")),
)
_SLICE_NODES: Final = table(
    row(
        "nodeName",
        must.hold(lambda name: name, "must be either unset or set to a non-empty string"),
        must.be(dns_subdomain),
        empty=True,
    ),
    row("nodeSelector", table(DEVICE_NODE_SELECTOR, by(_validate_one_term))),
    row("allNodes", _TRUE),
    row("perDeviceNodeSelection", _TRUE),
)


def _validate_slice_nodes(behaviour: ServedBehaviour, spec: Object) -> Iterator[FieldError]:
    """The errors of what names the nodes: a slice says it in exactly one way."""
    yield from placed("spec", _SLICE_NODES(behaviour, spec))
    ways = _ways(spec, "nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
    if not ways:
        yield required("spec", _ONE_OF_SLICE)
    elif len(ways) > 1:
        shown = ", ".join(f"`{name}`" for name in ways)
        yield invalid_value("spec", f"{{{shown}}}", f"{_ONE_OF_SLICE}, but multiple fields are set")
