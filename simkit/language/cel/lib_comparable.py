"""Quantities and semantic versions: parsed, compared and added exactly.

k8s.io/apiserver/pkg/cel/library/quantity.go, release 1.29, over k8s.io/apimachinery/pkg/api/resource; semverlib.go,
release 1.33.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import total_ordering
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, declared, takes
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.types import parsed
from simkit.language.cel.values import INT_MAX, INT_MIN
from simkit.meta.fielderror import quoted
from simkit.meta.go_number import parse_uint
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


def _as_integer(amount: QuantityValue) -> int:
    number = amount.number
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _as_float(amount: QuantityValue) -> float:
    """The number of units times the unit, in floats, with their rounding."""
    unit = _FINEST if amount.unit is None else amount.unit
    if unit > 308:  # as by Go's Pow10
        return math.copysign(math.inf, amount.nano) if amount.nano else math.nan
    counted = amount.nano // 10 ** (unit - _FINEST) or bool(amount.nano)  # one that is too large has lost its digits
    return float(counted) * float(f"1e{unit}")


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
    limit = INT_MAX * 10 ** min(finer - _FINEST, 2000)  # beyond all amounts
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
        declared("is_quantity_string", "isQuantity(string) bool", takes(quantity)),
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
        declared("quantity_is_integer", "Quantity.isInteger() bool", lambda amount: amount.number is not None),
        declared("quantity_add", "Quantity.add(Quantity) Quantity", _sum),
        declared("quantity_add_int", "Quantity.add(int) Quantity", lambda one, other: _sum(one, _written(other))),
        declared("quantity_sub", "Quantity.sub(Quantity) Quantity", _difference),
        declared(
            "quantity_sub_int", "Quantity.sub(int) Quantity", lambda one, other: _difference(one, _written(other))
        ),
    ),
)


_DIGITS: Final = re.compile("[0-9]*")
_WORD: Final = re.compile("[0-9A-Za-z-]*")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Semver:
    """A version. Build metadata does not count in comparisons."""

    cel_kind: ClassVar[str] = "kubernetes.Semver"
    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()

    def __repr__(self) -> str:
        before = f"-{'.'.join(self.prerelease)}" if self.prerelease else ""
        return f"semver('{self.major}.{self.minor}.{self.patch}{before}')"

    def _order(self) -> tuple[object, ...]:
        # A number comes before any word, and all that comes before a release before the release itself.
        before = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease)
        return self.major, self.minor, self.patch, not before, before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order() == other._order()

    def __lt__(self, other: Semver) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())


def semver(text: str, normalize: bool = False) -> Semver:
    """The version in a text; ``normalize`` allows shorter forms: ``v1.2`` for ``1.2.0``.

    Examples
    --------
    >>> semver("1.10.0") > semver("1.9.0-rc.1"), semver("v01.2", True)
    (True, semver('1.2.0'))
    """
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    found = Semver(
        _number(parts[0], "major", "Major"),
        _number(parts[1], "minor", "Minor"),
        _number(patch, "patch", "Patch"),
        tuple(map(_prerelease, prerelease.split("."))) if dash else (),
    )
    for part in build.split(".") if plus else ():
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return found


def _number(text: str, name: str, title: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{title} number must not contain leading zeroes {quoted(text)}")
    return _parsed(text)


def _parsed(text: str) -> int:
    try:
        return parse_uint(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _prerelease(text: str) -> str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if text.isdigit() and text.isascii():
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        _parsed(text)
    elif not _WORD.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if set("+-") & set(parts[-1]):
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest and rest[0] in "0123456789" else f"0{rest}"


SEMVER: Final = Library(
    "semver",
    (1, 33),
    (
        declared("string_to_semver", "semver(string) Semver", semver),
        declared("string_bool_to_semver", "semver(string, bool) Semver", semver),
        declared("is_semver_string", "isSemver(string) bool", takes(semver)),
        declared("is_semver_string_bool", "isSemver(string, bool) bool", takes(semver)),
        declared("semver_is_greater_than", "Semver.isGreaterThan(Semver) bool", lambda one, other: one > other),
        declared("semver_is_less_than", "Semver.isLessThan(Semver) bool", lambda one, other: one < other),
        declared("semver_compare_to", "Semver.compareTo(Semver) int", lambda one, other: (one > other) - (one < other)),
        declared("semver_major", "Semver.major() int", lambda found: found.major),
        declared("semver_minor", "Semver.minor() int", lambda found: found.minor),
        declared("semver_patch", "Semver.patch() int", lambda found: found.patch),
    ),
    types=(parsed("Semver"),),
)
