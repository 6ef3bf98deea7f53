"""Quantities: amounts with a suffix, compared and added exactly.

k8s.io/apiserver/pkg/cel/library/quantity.go, release 1.29, over k8s.io/apimachinery/pkg/api/resource.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import INT_MAX, INT_MIN
from simkit.meta.quantity import NANO, Quantity, QuantityError, parse

_FINEST: Final = -9


@dataclass(frozen=True, slots=True, repr=False)
class QuantityValue:
    """An amount in billionths, and the power of ten that ``resource.Quantity`` uses.

    With no such power it keeps a decimal of any length, and such amounts are no integers, whatever they are worth.
    """

    cel_kind: ClassVar[str] = "kubernetes.Quantity"
    nano: int
    unit: int | None = field(default=0, compare=False)

    def __repr__(self) -> str:
        return f"quantity('{Quantity(self.nano)}')"

    @property
    def number(self) -> int | None:
        """The integer value of ``resource.Quantity``; None if it is no integer."""
        if self.unit is None or self.unit < 0:
            return None
        number = self.nano // NANO
        return number if INT_MIN <= number <= INT_MAX else None


def quantity(text: str) -> QuantityValue:
    """The amount in a text."""
    try:
        found = parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None
    return QuantityValue(found.nano, found.unit)


def is_quantity(text: str) -> bool:
    """True if the text is an amount."""
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _is_integer(amount: QuantityValue) -> bool:
    return amount.number is not None


def _as_integer(amount: QuantityValue) -> int:
    number = amount.number
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _as_float(amount: QuantityValue) -> float:
    """The number of units times the unit, in floats, with their rounding."""
    unit = _FINEST if amount.unit is None else amount.unit
    return float(amount.nano // 10 ** (unit - _FINEST)) * float(f"1e{unit}")


def _sum(one: QuantityValue, other: QuantityValue) -> QuantityValue:
    return QuantityValue(one.nano + other.nano, _common_unit(one, other))


def _difference(one: QuantityValue, other: QuantityValue) -> QuantityValue:
    return _sum(one, QuantityValue(-other.nano, other.unit))


def _common_unit(one: QuantityValue, other: QuantityValue) -> int | None:
    """The unit of a sum: the finer one, unless an amount exceeds 64 bits in it."""
    if one.unit is None or other.unit is None:
        return None
    if not one.nano or not other.nano:
        return other.unit if other.nano else one.unit
    finer = min(one.unit, other.unit)
    limit = INT_MAX * 10 ** (finer - _FINEST)
    fits = max(abs(one.nano), abs(other.nano), abs(one.nano + other.nano)) <= limit
    return finer if fits else None


def _written(number: int) -> QuantityValue:
    return QuantityValue(number * NANO)


def _compare(one: QuantityValue, other: QuantityValue) -> int:
    return (one.nano > other.nano) - (one.nano < other.nano)


QUANTITIES: Final = Library(
    "quantity",
    (1, 28),
    (
        declared("string_to_quantity", "quantity(string) Quantity", quantity),
        declared("is_quantity_string", "isQuantity(string) bool", is_quantity),
        declared("quantity_sign", "sign(Quantity) int", lambda one: (one.nano > 0) - (one.nano < 0)),
        declared(
            "quantity_is_greater_than",
            "Quantity.isGreaterThan(Quantity) bool",
            lambda one, other: one.nano > other.nano,
        ),
        declared(
            "quantity_is_less_than", "Quantity.isLessThan(Quantity) bool", lambda one, other: one.nano < other.nano
        ),
        declared("quantity_compare_to", "Quantity.compareTo(Quantity) int", _compare),
        declared("quantity_get_float", "Quantity.asApproximateFloat() double", _as_float),
        declared("quantity_get_int", "Quantity.asInteger() int", _as_integer),
        declared("quantity_is_integer", "Quantity.isInteger() bool", _is_integer),
        declared("quantity_add", "Quantity.add(Quantity) Quantity", _sum),
        declared("quantity_add_int", "Quantity.add(int) Quantity", lambda one, other: _sum(one, _written(other))),
        declared("quantity_sub", "Quantity.sub(Quantity) Quantity", _difference),
        declared(
            "quantity_sub_int", "Quantity.sub(int) Quantity", lambda one, other: _difference(one, _written(other))
        ),
    ),
)
