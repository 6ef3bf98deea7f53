"""Cells of Table rows: ages, durations, labels.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simkit.meta.objects import Object, metadata

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR: Final = 365 * DAY


def seconds(time: str) -> float:
    """The time in RFC 3339 as seconds since the epoch."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone(UTC).timestamp()


def age(time: str | None, now: float) -> str:
    """The time since a moment in human-readable form.

    Examples
    --------
    >>> age("1970-01-01T00:00:00Z", 200)
    '3m20s'
    >>> age(None, 0)
    '<unknown>'
    """
    return duration(now - seconds(time)) if time else UNKNOWN


_SCALE: Final = (
    (2 * MINUTE, 1, "s", 1, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 1, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 1, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 1, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)
"""The limit of each form (seconds), the unit and its letter, the unit of the rest and its letter if shown."""


def duration(passed: float) -> str:
    """A duration in the one or two units for its size.

    Examples
    --------
    >>> duration(90), duration(200), duration(5 * HOUR + 61), duration(9 * DAY + 1)
    ('90s', '3m20s', '5h1m', '9d')
    """
    whole = int(passed)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    for limit, unit, letter, rest, rest_letter in _SCALE:
        if whole < limit:
            left = whole % unit // rest
            return f"{whole // unit}{letter}" + (f"{left}{rest_letter}" if left and rest_letter else "")
    return f"{whole // YEAR}y"


def created(obj: Object, now: float) -> str:
    """The age of an object."""
    return age(metadata(obj).get("creationTimestamp"), now)


def pairs(labels: Mapping[str, Any] | None) -> str:
    """Labels as ``key=value``, sorted, separated by commas."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))
