"""Clocks and the source of uids and generated names. No other module reads the time or a random number."""

from __future__ import annotations

import math
import random
import threading
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Protocol

_RANDOM_BITS: Final = ~(0xF000 << 64 | 0xC000 << 48)
"""The digits of a UUID that are random: all but those of its version and its variant."""
_VERSION_4: Final = 4 << 76 | 0x8000 << 48
LATEST: Final = 253_402_300_799.0
"""Seconds from the epoch to the end of the year 9999, after which there are no dates."""
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: no vowels, to avoid words."""


class Clock(Protocol):
    """Tells the time. An implementation must never go backwards."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class SystemClock:
    """The machine's clock. Where that is turned back, time goes on at half of its speed until the two meet again.

    So whoever waits for some seconds waits for twice as many, and not for as long as the clock was turned back.
    """

    def __init__(self) -> None:
        self._last, self._steady = 0.0, 0.0

    def now(self) -> float:
        now, steady = time.time(), time.monotonic()
        if now < self._last:
            now = max(now, self._last + (steady - self._steady) / 2)
        self._last, self._steady = now, steady
        return now


class SimulatedClock:
    """A clock that moves only when it is advanced, for notebooks and tests with repeatable results.

    Examples
    --------
    >>> clock = SimulatedClock(start=0)
    >>> clock.advance(minutes=5)
    >>> clock.now()
    300.0
    """

    def __init__(self, start: float | datetime = datetime(2024, 4, 17, tzinfo=UTC)) -> None:
        self._now = _told(start.timestamp() if isinstance(start, datetime) else float(start))

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Advance the clock. Raises ValueError for a time that ``after`` refuses."""
        self._now = self.after(seconds, minutes=minutes, hours=hours, days=days)

    def after(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> float:
        """The time so much later. Raises ValueError for an earlier one, and for one that is no date."""
        step = seconds + 60 * minutes + 3600 * hours + 86400 * days
        if step < 0:
            raise ValueError(f"a clock cannot be turned back (by {-step} seconds); start another cluster instead")
        return _told(self._now + step)


def _told(seconds: float) -> float:
    """The same seconds, if they are a time that objects can tell. Raises ValueError for others."""
    if not 0 <= seconds <= LATEST:
        raise ValueError(f"{seconds:g} seconds since the epoch is no time from 1970 to 9999")
    return seconds


def fork_clock(clock: Clock) -> Clock:
    """The clock of a fork: a simulated clock is copied, so that advancing one does not advance the other.

    Other clocks cannot be turned, and are shared.

    Examples
    --------
    >>> clock = SimulatedClock(start=0)
    >>> fork = fork_clock(clock)
    >>> fork.advance(minutes=5)
    >>> clock.now()
    0.0
    """
    return SimulatedClock(clock.now()) if isinstance(clock, SimulatedClock) else clock


class NameSource:
    """Uids and name suffixes; with a seed the same sequence every time."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def uid(self) -> str:
        """A random (version 4) UUID as text."""
        with self._lock:
            bits = self._random.getrandbits(128)
        digits = f"{bits & _RANDOM_BITS | _VERSION_4:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def suffix(self, length: int = 5) -> str:
        """A random suffix for ``generateName``."""
        with self._lock:
            return "".join(self._random.choices(SUFFIX_LETTERS, k=length))

    def below(self, limit: int) -> int:
        """A number from 0 up to, not including, the limit."""
        with self._lock:
            return self._random.randrange(limit)

    def child(self) -> NameSource:
        """An independent source for a fork, repeatable if this one is."""
        with self._lock:
            return NameSource(self._random.getrandbits(64))


def timestamp(seconds: float) -> str:
    """A time in the format of API objects: RFC 3339 in UTC, whole seconds.

    Examples
    --------
    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    """
    return _timestamp(math.floor(seconds))


@lru_cache(maxsize=256)
def _timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(seconds: float) -> str:
    """A moment as MicroTime fields write it.

    Examples
    --------
    >>> micro_time(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def moment(text: str) -> float:
    """Seconds since the epoch of a time in the format of API objects. Raises ValueError for any other text.

    Examples
    --------
    >>> moment("1970-01-01T00:01:00Z")
    60.0
    """
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()
