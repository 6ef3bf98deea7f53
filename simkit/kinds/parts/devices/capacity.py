"""Validation of the capacities of devices, and of what claims may ask of each.

Follows ``validateRequestPolicy`` of ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from simkit.kinds.parts.devices.names import validate_set
from simkit.kinds.parts.validation.resource_quantities import compare
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.objects import Object
from simkit.meta.quantity import Quantity, canonical, parse

_MOST_OPTIONS: Final = 10
_BOTH: Final = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def validate_capacity(path: str, capacity: Object, *, shared: bool) -> Iterator[FieldError]:
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
        yield from _validate_options(f"{here}.validValues", options, policy["default"], most)
    elif within is not None:
        yield from _validate_range(f"{here}.validRange", within, policy["default"], most)


def _validate_options(path: str, options: Sequence[str], default: str, most: str) -> Iterator[FieldError]:
    for index, (one, following) in enumerate(pairwise(options), start=1):
        if compare(one, following) > 0:
            yield invalid_value(f"{path}[{index}]", canonical(following), "values must be sorted in ascending order")

    def check(at: str, option: str) -> Iterator[FieldError]:
        if compare(option, most) > 0:
            told = f"option is larger than capacity value: {canonical(most)}"
            yield invalid_value(at, canonical(option), told)

    yield from validate_set(path, options, _MOST_OPTIONS, check, lambda option: str(parse(option).whole))
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
