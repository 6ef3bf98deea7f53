"""Validation of container resources: requests, limits, overhead.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.pod.validation.resource_claims import validate_claim_references
from simkit.kinds.parts.validation.resource_quantities import (
    is_native,
    validate_container_resource_name,
    validate_resource_quantity,
)
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.objects import Object
from simkit.meta.quantity import QuantityError, canonical, parse

_HUGE: Final = "hugepages-"
_COMPUTE: Final = frozenset({"cpu", "memory"})


NameCheck = Callable[[str, str], Iterator[FieldError]]


def validate_resource(
    path: str,
    resources: Object,
    *,
    claims: Sequence[str] = (),
    name_check: NameCheck = validate_container_resource_name,
) -> Iterator[FieldError]:
    """The errors of the ``resources`` of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        yield from _validate_amount(f"{path}.limits[{name}]", name, amount, name_check)
    for name, amount in requests.items():
        yield from name_check(f"{path}.requests[{name}]", name)
        yield from validate_resource_quantity(f"{path}.requests[{name}]", name, amount)
        yield from _compared(path, name, amount, limits)
        yield from _validate_page(f"{path}.requests[{name}]", name, amount)
    named = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE) for name in named) and not named & _COMPUTE:
        yield forbidden_field(path, "HugePages require cpu or memory")
    if resources.get("claims"):
        yield from validate_claim_references(f"{path}.claims", resources["claims"], claims)


def _validate_amount(path: str, name: str, amount: str, name_check: NameCheck) -> Iterator[FieldError]:
    yield from name_check(path, name)
    yield from validate_resource_quantity(path, name, amount)
    yield from _validate_page(path, name, amount)


def _compared(path: str, name: str, amount: str, limits: Mapping[str, str]) -> Iterator[FieldError]:
    """The errors of a request above its limit, or different from it for resources without overcommit."""
    shared = is_native(name) and not name.startswith(_HUGE)
    limit = limits.get(name)
    if limit is None:
        if not shared:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    difference = parse(amount).nano - parse(limit).nano
    if difference and not shared:
        yield invalid_value(f"{path}.requests", canonical(amount), f"must be equal to {_shown_limit(name, limit)}")
    elif difference > 0:
        text = f"must be less than or equal to {_shown_limit(name, limit)}"
        yield invalid_value(f"{path}.requests", canonical(amount), text)


def _shown_limit(name: str, limit: str) -> str:
    return f"{name} limit of {canonical(limit)}" if applies("limits-told-with-requests") else f"{name} limit"


def _validate_page(path: str, name: str, amount: str) -> Iterator[FieldError]:
    if not name.startswith(_HUGE):
        return
    try:
        size = parse(name.removeprefix(_HUGE)).whole
    except QuantityError:
        size = 0
    if size <= 0 or parse(amount).whole % size:
        text = f"{canonical(amount)} is not positive integer multiple of {name}"
        yield invalid_value(path, canonical(amount), text)


def validate_overhead(path: str, overhead: Mapping[str, str]) -> Iterator[FieldError]:
    """The errors of the overhead of a pod."""
    yield from validate_resource(path, {"limits": overhead})
