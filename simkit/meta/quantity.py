"""Amounts with a suffix, such as ``500m`` and ``64Mi``: exact values and the one form in which a server writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from simkit.meta.remembered import remembered

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

FORMAT_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_RULE: Final = "unable to parse quantity's suffix"

_TEXT: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([-+]?\d+)", re.ASCII)
_LONGEST_EXPONENT: Final = 19
"""Digits that an exponent may have; more do not fit into 64 bits."""
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final[Mapping[int, str]] = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

NANO: Final = 10**9
_LARGEST: Final = (2**63 - 1) * NANO


class QuantityError(ValueError):
    """A text that is no quantity; the message is the real server's."""


class Quantity(NamedTuple):
    """An amount in billionths (exact: finer amounts were rounded up) and the family of suffixes it was written in."""

    nano: int
    format: Format = "DecimalSI"

    def __str__(self) -> str:
        """The canonical form: no fraction, the largest suffix that keeps the value.

        Examples
        --------
        >>> [str(parse(text)) for text in ("0.5", "1024Mi", "1.5Gi", "1000m", "1e3", "0")]
        ['500m', '1Gi', '1536Mi', '1', '1e3', '0']
        """
        if not self.nano:
            return "0"
        whole, rest = divmod(self.nano, NANO)
        if self.format == "BinarySI" and not rest and not -1024 < whole < 1024:
            return _with_binary_suffix(whole)
        return _with_decimal_suffix(self.nano, exponent_form=self.format == "DecimalExponent")

    def rounded_to_milli(self) -> Quantity:
        """The amount rounded away from zero to thousandths, as amounts of resources are when they are read."""
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
    while nano % 1000 == 0 and exponent < 18:
        nano //= 1000
        exponent += 3
    if exponent_form:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX[exponent]}"


@remembered(8192)
def parse(text: str) -> Quantity:
    """The quantity that a text means. Amounts finer than billionths are rounded up, too large ones are capped.

    Raises
    ------
    QuantityError
        In the real server's words.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(FORMAT_RULE)
    sign, number, fraction, suffix = match.groups(default="")
    family, factor, exponent = _suffix(suffix)
    digits = int(Decimal((number + fraction) or "0"))  # int by itself refuses texts of thousands of digits
    scaled = digits * factor
    # Beyond these bounds the result is the cap or one billionth anyway; a power of ten stays computable.
    shift = max(-60 - len(number), min(9 + exponent - len(fraction), 40))
    amount = scaled * 10**shift if shift >= 0 else -(-scaled // 10**-shift)
    amount = min(amount, _LARGEST)
    return Quantity(-amount if sign == "-" else amount, family)


def _suffix(suffix: str) -> tuple[Format, int, int]:
    """Family, integer factor and power of ten of a suffix."""
    if suffix in _DECIMAL:
        return "DecimalSI", 1, _DECIMAL[suffix]
    if suffix in _BINARY:
        return "BinarySI", 1 << _BINARY[suffix], 0
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or len(exponent[1]) > _LONGEST_EXPONENT:
        raise QuantityError(SUFFIX_RULE)
    return "DecimalExponent", 1, int(exponent[1])


@remembered(8192)
def canonical(text: str) -> str:
    """The form in which a server writes a quantity. Raises QuantityError."""
    return str(parse(text.strip()))


@remembered(8192)
def canonical_resource_amount(text: str) -> str:
    """The canonical form of an amount in a list of resources, rounded up to thousandths. Raises QuantityError."""
    return str(parse(text.strip()).rounded_to_milli())
