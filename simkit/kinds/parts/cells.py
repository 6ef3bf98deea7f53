"""What cells of a Table have in common: ages, labels, owners."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simkit.meta.objects import Object, metadata

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR: Final = 365 * _DAY


def seconds(time: str) -> float:
    """The moment of an RFC 3339 time, in seconds since the epoch."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone(UTC).timestamp()


def age(time: str | None, now: float) -> str:
    """How long ago a time was, as people read it.

    Examples
    --------
    >>> age("1970-01-01T00:00:00Z", 200)
    '3m20s'
    >>> age(None, 0)
    '<unknown>'
    """
    return duration(now - seconds(time)) if time else UNKNOWN


def _pair(large: int, letter: str, small: int, other: str) -> str:
    return f"{large}{letter}{small}{other}" if small else f"{large}{letter}"


def duration(passed: float) -> str:
    """A time span with as few units as tell it apart."""
    whole = int(passed)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _pair(whole // _MINUTE, "m", whole % _MINUTE, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _pair(whole // _HOUR, "h", whole // _MINUTE % 60, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _pair(whole // _DAY, "d", whole // _HOUR % 24, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _pair(whole // _YEAR, "y", whole // _DAY % 365, "d")
    return f"{whole // _YEAR}y"


def created(obj: Object, now: float) -> str:
    """The age of an object."""
    return age(metadata(obj).get("creationTimestamp"), now)


def pairs(labels: Mapping[str, Any] | None) -> str:
    """Labels as ``key=value``, sorted, separated by commas."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))
