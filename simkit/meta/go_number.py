"""Numbers in texts, read as Go reads them.

Follows ``strconv/atoi.go`` of Go 1.22, which Kubernetes 1.30 is built with.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.fielderror import quoted

_LONGEST: Final = 20
"""Digits of the largest number of 64 bits."""


def parse_uint(text: str, *, bits: int = 64) -> int:
    """The unsigned integer in decimal digits, as ``strconv.ParseUint`` reads it.

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
    number = _digits("ParseUint", text, text)
    if number >= 2**bits:
        raise _error("ParseUint", text, "value out of range")
    return number


def parse_int(text: str, *, bits: int = 64) -> int:
    """The signed integer in decimal digits, as ``strconv.ParseInt`` reads it. Raises ValueError.

    Examples
    --------
    >>> parse_int("-1")
    -1
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    number = _digits("ParseInt", text, digits) * (-1 if text.startswith("-") else 1)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _error("ParseInt", text, "value out of range")
    return number


def _digits(function: str, text: str, digits: str) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise _error(function, text, "invalid syntax")
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _LONGEST else 2**64


def _error(function: str, text: str, why: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quoted(text)}: {why}")
