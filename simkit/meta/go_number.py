"""Numbers in texts, read as Go reads them.

Follows ``strconv/atoi.go`` of Go 1.22, which Kubernetes 1.30 is built with.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.fielderror import quoted

_LONGEST: Final = 20
"""Digits of the largest number of 64 bits."""


def parse_uint(text: str) -> int:
    """The number of 64 bits without sign that a text says in decimal digits, as ``strconv.ParseUint`` reads it.

    Raises
    ------
    ValueError
        With Go's words, for a text that is no such number.

    Examples
    --------
    >>> parse_uint("007")
    7
    >>> parse_uint("-1")
    Traceback (most recent call last):
    ...
    ValueError: strconv.ParseUint: parsing "-1": invalid syntax
    """
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    digits = text.lstrip("0") or "0"
    if len(digits) > _LONGEST or int(digits) >= 2**64:
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(digits)
