"""How long ago, in few letters."""

from __future__ import annotations

from datetime import datetime

from simkit.meta.objects import Object, metadata

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY


def age(obj: Object, now: float) -> str:
    """The age of an object, as the Age column shows it. ``now`` is in seconds since the epoch."""
    return since(metadata(obj).get("creationTimestamp"), now)


def since(timestamp: str | None, now: float) -> str:
    """The time from a timestamp until now, ``<unknown>`` where there is no timestamp."""
    if not timestamp:
        return "<unknown>"
    return duration(now - datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp())


def duration(seconds: float) -> str:
    """A duration with the one or two units that matter at its size.

    Examples
    --------
    >>> duration(90), duration(200), duration(5 * HOUR + 61), duration(9 * DAY + 1)
    ('90s', '3m20s', '5h1m', '9d')
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    for limit, unit, letter, rest, rest_letter in _SCALE:
        if whole < limit:
            return f"{whole // unit}{letter}" + _rest(whole % unit // rest, rest_letter)
    return f"{whole // YEAR}y"


_SCALE = (
    (2 * MINUTE, 1, "s", 1, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 1, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 1, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 1, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)
"""Up to which duration (seconds), the unit and its letter, the unit of what is left over and its letter if shown."""


def _rest(count: int, letter: str) -> str:
    return f"{count}{letter}" if count and letter else ""
