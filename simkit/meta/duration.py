"""Durations in Go's format: ``1h30m``, ``500ms``.

Follows ``ParseDuration`` and ``Duration.String`` of Go's package time, src/time/format.go and src/time/time.go.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.meta.fielderror import quoted
from simkit.meta.integers import parse_int

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Nanoseconds of each unit."""
_PART: Final = re.compile(r"([0-9]*+)(?:\.([0-9]*+))?+([^0-9.]*+)")
_LARGEST: Final = 2**63 - 1
_LONGEST: Final = 1000
"""The longest text that is parsed; Go has no limit."""
_FRACTION: Final = 18
"""The digits of a fraction that count."""


def nanoseconds(text: str) -> int:
    """The nanoseconds of a text such as ``1h30m``, ``-1.5s`` or ``0``.

    Raises ValueError with Go's message, also for what does not fit into 64 bits. Digits below a nanosecond are dropped.

    Examples
    --------
    >>> nanoseconds("1.5us"), nanoseconds("-1h")
    (1500, -3600000000000)
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest or len(rest) > _LONGEST:
        raise _invalid(text)
    nanos, end = 0, 0
    while end < len(rest):
        part = _PART.match(rest, end)
        if part is None or not (part[1] or part[2]):
            raise _invalid(text)
        unit = _UNITS.get(part[3])
        if unit is None:
            wrong = f"unknown unit {quoted(part[3])}" if part[3] else "missing unit"
            raise ValueError(f"time: {wrong} in duration {quoted(text)}")
        whole, fraction = parse_int(part[1] or "0"), (part[2] or "")[:_FRACTION]
        if whole is None:
            raise _invalid(text)
        nanos += whole * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        end = part.end()
    if nanos > _LARGEST:
        raise _invalid(text)
    return sign * nanos


def seconds(text: str) -> float:
    """The seconds of a text such as ``1h30m``, ``-1.5s`` or ``0``. Raises ValueError as ``nanoseconds`` does.

    Examples
    --------
    >>> seconds("1h30m"), seconds("500ms"), seconds("0")
    (5400.0, 0.5, 0.0)
    """
    return nanoseconds(text) / 10**9


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {quoted(text)}")


def written(length: float) -> str:
    """Seconds in Go's format of a duration.

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
