"""Durations in Go's format: ``1h30m``, ``500ms``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from simkit.meta.fielderror import quoted

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")


def seconds(text: str) -> float:
    """The seconds of a text such as ``1h30m``, ``-1.5s`` or ``0``. Raises ValueError.

    Examples
    --------
    >>> seconds("1h30m"), seconds("500ms"), seconds("0")
    (5400.0, 0.5, 0.0)
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    length, end = Fraction(0), 0
    while not end or end < len(rest):
        part = _PART.match(rest, end)
        if part is None:
            raise ValueError(f"time: invalid duration {quoted(text)}")
        number, unit = part.groups()
        if unit not in _UNITS:
            wrong = f"unknown unit {quoted(unit)}" if unit else "missing unit"
            raise ValueError(f"time: {wrong} in duration {quoted(text)}")
        length += Fraction(number.rstrip(".")) * _UNITS[unit]
        end = part.end()
    return float(sign * length)


def written(length: float) -> str:
    """Seconds as Go writes a duration.

    Examples
    --------
    >>> written(300), written(31), written(0.5), written(0)
    ('5m0s', '31s', '500ms', '0s')
    """
    nanos = round(abs(length) * 10**9)
    sign = "-" if length < 0 and nanos else ""
    if nanos == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if nanos < 10**9 and nanos < size * 1000:
            return f"{sign}{_decimal(nanos, size)}{unit}"
    minutes, rest = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}h" if hours else ""
    shown += f"{minutes}m" if hours or minutes else ""
    return f"{sign}{shown}{_decimal(rest, 10**9)}s"


def _decimal(nanos: int, size: int) -> str:
    whole, rest = divmod(nanos, size)
    digits = str(rest).zfill(len(str(size)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
