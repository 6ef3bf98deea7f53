"""Checks of numbers against an OpenAPI schema: ranges of their formats, factors and limits.

Follows ``numberValidator`` of ``k8s.io/kube-openapi/pkg/validation/validate``, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.schema.custom import messages

_NEARLY: Final = 1e-9
_BITS: Final = {"int32": 31}
_GREATEST_FLOAT: Final = float.fromhex("0x1.ffffffp127")
"""From here on a number rounds to no 32-bit fraction."""


def is_whole(number: float) -> bool:
    """True if a fraction counts as an integer: nearly one, and small enough to be exact."""
    if not abs(number) < 2**53:
        return False
    return number.is_integer() or (number > 1 and (number % 1) / (number + number // 1) < _NEARLY)


def number_errors(
    behaviour: ServedBehaviour, properties: Mapping[str, Any], types: Sequence[str], form: str, value: float, path: str
) -> Iterator[FieldError]:
    """The errors of a number; ``form`` is the format that is checked, or empty."""
    ranged = len(types) == 1 and behaviour.applies("numbers-in-range")
    if ranged:
        yield from _outside(value, "Checked", types[0], form, path)
    yield from _against_factor(properties.get("multipleOf"), ranged, types, form, value, path)
    for name, told in (("minimum", "greater than"), ("maximum", "less than")):
        limit = properties.get(name)
        if limit is None:
            continue
        if ranged:
            yield from _outside(limit, f"{name.capitalize()} boundary", types[0], form, path)
        strict = bool(properties.get(f"exclusive{name.capitalize()}"))
        beyond = value < limit if name == "minimum" else value > limit
        if beyond or (strict and value == limit):
            rule = told if strict else f"{told} or equal to"
            yield messages.against(path, value, f"should be {rule} {_limit(limit, value)}")


def _against_factor(
    factor: float | None, ranged: bool, types: Sequence[str], form: str, value: float, path: str
) -> Iterator[FieldError]:
    if factor is None:
        return
    if ranged:
        yield from _outside(factor, "MultipleOf", types[0], form, path)
    if isinstance(value, int):
        factor = int(factor)  # whole numbers are divided by whole factors, as MultipleOfNativeType does
    if factor <= 0:
        yield messages.bad_factor(path, _limit(factor, value))
    elif not _divides(factor, value):
        yield messages.against(path, value, f"should be a multiple of {_limit(factor, value)}")


def _outside(number: float, what: str, kind: str, form: str, path: str) -> Iterator[FieldError]:
    """The error of a number of the value or the schema that its type and format cannot hold."""
    if kind == "integer":
        limit = 2 ** _BITS.get(form, 63)
        fits = float(number).is_integer() and -limit <= int(number) < limit
    elif kind == "number" and form == "float":
        fits = abs(number) < _GREATEST_FLOAT
    else:
        return
    if not fits:
        name = f"with format {form}" if form else "(default format)"
        yield messages.as_a_whole(f"{what} value must be of type {kind} {name} in {path}")


def _limit(limit: float, value: float) -> str:
    """A limit as written beside a value: whole beside whole numbers."""
    return str(int(limit)) if isinstance(value, int) else messages.number(float(limit))


def _divides(factor: float, value: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    if not abs(quotient) < 2**53:
        return False
    return quotient.is_integer() or abs(quotient - round(quotient)) < _NEARLY * abs(round(quotient))
