"""Numbers in texts, read as Go reads them.

Follows ``strconv/atoi.go`` of Go 1.22, which Kubernetes 1.30 is built with.
"""

from __future__ import annotations

from simkit.meta.fielderror import quoted
from simkit.meta.integers import is_digits, saturating_int


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
    number = saturating_int(text, bits=bits + 1) if is_digits(text) else None
    return _within(range(2**bits), number, "ParseUint", text)


def parse_int(text: str, *, bits: int = 64) -> int:
    """The signed integer in decimal digits, as ``strconv.ParseInt`` reads it. Raises ValueError.

    Examples
    --------
    >>> parse_int("-1")
    -1
    """
    limit = 2 ** (bits - 1)
    return _within(range(-limit, limit), saturating_int(text, bits=bits), "ParseInt", text)


def _within(allowed: range, number: int | None, function: str, text: str) -> int:
    if number is None or number not in allowed:
        why = "invalid syntax" if number is None else "value out of range"
        raise ValueError(f"strconv.{function}: parsing {quoted(text)}: {why}")
    return number
