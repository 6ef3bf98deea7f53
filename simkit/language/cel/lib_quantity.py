"""Quantities: amounts with a suffix, compared and added exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import INT_MAX
from simkit.meta.quantity import NANO, Quantity, QuantityError, parse


@dataclass(frozen=True, slots=True, repr=False)
class QuantityValue:
    """An amount in billionths. Amounts above the 64 bits are capped and are no integers."""

    cel_kind: ClassVar[str] = "kubernetes.Quantity"
    nano: int

    def __repr__(self) -> str:
        return f"quantity('{Quantity(self.nano)}')"


def quantity(text: str) -> QuantityValue:
    """The amount that a text means."""
    try:
        return QuantityValue(parse(text).nano)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def is_quantity(text: str) -> bool:
    """Whether the text means an amount."""
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _is_integer(amount: QuantityValue) -> bool:
    return amount.nano % NANO == 0 and abs(amount.nano) < INT_MAX * NANO


def _as_integer(amount: QuantityValue) -> int:
    if not _is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.nano // NANO


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
        declared("quantity_get_float", "Quantity.asApproximateFloat() double", lambda one: one.nano / NANO),
        declared("quantity_get_int", "Quantity.asInteger() int", _as_integer),
        declared("quantity_is_integer", "Quantity.isInteger() bool", _is_integer),
        declared(
            "quantity_add", "Quantity.add(Quantity) Quantity", lambda one, other: QuantityValue(one.nano + other.nano)
        ),
        declared(
            "quantity_add_int", "Quantity.add(int) Quantity", lambda one, other: QuantityValue(one.nano + other * NANO)
        ),
        declared(
            "quantity_sub", "Quantity.sub(Quantity) Quantity", lambda one, other: QuantityValue(one.nano - other.nano)
        ),
        declared(
            "quantity_sub_int", "Quantity.sub(int) Quantity", lambda one, other: QuantityValue(one.nano - other * NANO)
        ),
    ),
)
