"""Integers in texts that come from outside, read as Go reads them.

``str.isdigit`` holds for ``²``, which ``int`` refuses, and ``int`` refuses thousands of digits. Both are errors of ours
wherever a client or a dump chose the text, so such texts are read here.

Upstream: Go's strconv.ParseInt and strconv.Atoi, base 10.
"""

from __future__ import annotations

import re
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DIGITS: Final = re.compile(r"[0-9]+")
_LONGEST: Final = 40
"""The most digits of an integer that fits, without leading zeros."""


def is_digits(text: str) -> bool:
    """True if a text consists of ASCII digits, at least one.

    Examples
    --------
    >>> is_digits("007"), is_digits("²"), is_digits("")
    (True, False, False)
    """
    return _DIGITS.fullmatch(text) is not None


def parse_int(text: str, *, bits: int = 64) -> int | None:
    """The signed integer in a text; None if it is none or does not fit into a number of bits.

    Examples
    --------
    >>> parse_int("+7"), parse_int("²"), parse_int("9" * 5000), parse_int("2147483648", bits=32)
    (7, None, None, None)
    """
    number = saturating_int(text, bits=bits)
    limit = 1 << (bits - 1)
    return number if number is not None and -limit <= number < limit else None


def saturating_int(text: str, *, bits: int = 64) -> int | None:
    """The integer in a text, or the limit plus one if it exceeds a number of bits; None if it is none.

    Examples
    --------
    >>> saturating_int("150"), saturating_int("9" * 5000, bits=8), saturating_int("-9999", bits=8)
    (150, 128, -129)
    >>> saturating_int("1_0")
    """
    if not _INTEGER.fullmatch(text):
        return None
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-").lstrip("0")
    limit = 1 << (bits - 1)
    number = limit + 1 if len(digits) > _LONGEST else int(digits or "0")
    return max(-limit - 1, min(limit, sign * number))
