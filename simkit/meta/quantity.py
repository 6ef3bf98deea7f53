"""Resource quantities such as ``500m`` and ``64Mi``: exact values and their canonical form.

Follows ``k8s.io/apimachinery/pkg/api/resource/quantity.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from simkit.meta.bounded_cache import cached_when_short

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

FORMAT_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_RULE: Final = "unable to parse quantity's suffix"

_TEXT: Final = re.compile(r"([+-]?+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT: Final = re.compile(r"[eE]([-+]?\d+)", re.ASCII)
_LONGEST_EXPONENT: Final = 19
"""The most digits of an exponent; more do not fit into 64 bits."""
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final[Mapping[int, str]] = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

NANO: Final = 10**9
MILLI: Final = -3
_LARGEST: Final = (2**63 - 1) * NANO
_FARTHEST_SHIFT: Final = 300
_FARTHEST: Final = 10**_FARTHEST_SHIFT
_COUNTED_DIGITS: Final = 18
_MOST_DIGITS: Final = 700
"""The most significant digits of an amount that are parsed."""


class QuantityError(ValueError):
    """A text that is no quantity; the message is kube-apiserver's."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in billionths (finer amounts were rounded up) and its family of suffixes.

    Attributes
    ----------
    written
        The text that it was read from, where a server writes that text and not the canonical form. Amounts that
        were calculated have none.
    unit
        The power of ten that kube-apiserver counts in with 64 bits; None where it keeps a decimal of any length.
    """

    nano: int
    format: Format = "DecimalSI"
    written: str = field(default="", compare=False)
    unit: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """The canonical text: without a fraction and with the largest suffix that keeps the value, or the original text
        if it is canonical enough.

        Examples
        --------
        >>> [str(parse(text)) for text in ("0.5", "1024Mi", "1.5Gi", "1000m", "1e3", "0", "1.500", "01")]
        ['500m', '1Gi', '1536Mi', '1', '1e3', '0', '1.500', '01']
        """
        if self.written or not self.nano:
            return self.written or "0"
        whole, rest = divmod(self.nano, NANO)
        if self.format == "BinarySI" and not rest and not -1024 < whole < 1024:
            return _with_binary_suffix(whole)
        return _with_decimal_suffix(self.nano, exponent_form=self.format == "DecimalExponent")

    def rounded_to_milli(self) -> Quantity:
        """The amount rounded away from zero to thousandths, as resource amounts are when they are parsed."""
        if self.unit is not None and self.unit >= MILLI:
            return self
        unit = NANO // 1000
        magnitude = -(-abs(self.nano) // unit) * unit
        return Quantity(magnitude if self.nano >= 0 else -magnitude, self.format)

    @property
    def whole(self) -> int:
        """The amount rounded up to an integer."""
        return -(-self.nano // NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded up."""
        return -(-self.nano // (NANO // 1000))


def _with_binary_suffix(whole: int) -> str:
    step = 0
    while whole % 1024 == 0 and step < len(_BINARY_SUFFIX) - 1:
        whole //= 1024
        step += 1
    return f"{whole}{_BINARY_SUFFIX[step]}"


def _with_decimal_suffix(nano: int, *, exponent_form: bool) -> str:
    exponent = -9
    while nano % 1000 == 0:
        nano //= 1000
        exponent += 3
    if exponent_form:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX.get(exponent, '')}"  # kube-apiserver forgets what no suffix says, too


@cached_when_short(8192)
def parse(text: str) -> Quantity:
    """The quantity in a text. Amounts finer than billionths are rounded up; a suffix alone means 0.

    Amounts with binary suffixes are capped at 64 bits, others where no machine would hold them.

    Raises
    ------
    QuantityError
        In kube-apiserver's words.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not text:
        raise QuantityError(FORMAT_RULE)
    sign, number, fraction, suffix = match.groups(default="")
    family, factor, exponent = _suffix(suffix)
    digits, dropped = _leading(number + fraction)
    # Beyond these bounds the result is the cap or one billionth anyway; a power of ten stays computable.
    shift = max(-60 - _MOST_DIGITS, min(9 + exponent - len(fraction) + dropped, _FARTHEST_SHIFT))
    amount = digits * factor * 10**shift if shift >= 0 else -(-digits * factor // 10**-shift)
    amount = min(amount, _LARGEST if family == "BinarySI" else _FARTHEST)
    shown = (number.lstrip("0") or "0") + fraction
    unit = _unit(len(shown), len(fraction), family, factor, exponent)
    kept = text == "0" or (unit is not None and _is_kept(shown, digits, family, unit))
    return Quantity(-amount if sign == "-" else amount, family, text if kept else "", unit)


def _leading(text: str) -> tuple[int, int]:
    """The number in some digits, and how many of its last digits were cut and rounded up.

    Nothing that is kept depends on the digits left out: the largest amount is shorter, and amounts are rounded up.
    """
    significant = text.lstrip("0")
    kept, rest = significant[:_MOST_DIGITS], significant[_MOST_DIGITS:]
    return int(kept or "0") + bool(rest.strip("0")), len(rest)


def _unit(digits: int, places: int, family: Format, factor: int, exponent: int) -> int | None:
    """The power of ten in which 64 bits hold an amount; None if kube-apiserver does not try."""
    if family == "BinarySI":
        room = 14 - digits - 3 * (factor.bit_length() - 1) // 10
        return 0 if room >= 0 and not places else None
    unit = exponent - places
    return unit if digits <= _COUNTED_DIGITS and unit >= -9 else None


def _is_kept(shown: str, digits: int, family: Format, unit: int) -> bool:
    """True if a server keeps the text of an amount that fits into 64 bits."""
    if family == "BinarySI":
        return digits & 7 != 0
    return unit % 3 == 0 and not shown.endswith("000") and shown[0] != "0"


def _suffix(suffix: str) -> tuple[Format, int, int]:
    """Family, integer factor and power of ten of a suffix."""
    if suffix in _DECIMAL:
        return "DecimalSI", 1, _DECIMAL[suffix]
    if suffix in _BINARY:
        return "BinarySI", 1 << _BINARY[suffix], 0
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or len(exponent[1].lstrip("+-0")) > _LONGEST_EXPONENT:
        raise QuantityError(SUFFIX_RULE)
    return "DecimalExponent", 1, int(exponent[1])


@cached_when_short(8192)
def canonical(text: str) -> str:
    """The canonical form of a quantity. Raises QuantityError."""
    return str(parse(text.strip()))


@cached_when_short(8192)
def canonical_resource_amount(text: str) -> str:
    """The canonical form of an amount in a resource list, rounded up to thousandths. Raises QuantityError."""
    return str(parse(text.strip()).rounded_to_milli())
