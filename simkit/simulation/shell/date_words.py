"""Times as people write them for ``date -d`` and ``touch -d``.

References
----------
GNU coreutils 9.1, Date input formats. The time zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SECONDS: Final[Mapping[str, int]] = {
    "sec": 1, "second": 1, "min": 60, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800,
    "fortnight": 1_209_600,
}  # fmt: skip
_ORDINALS: Final = {"next": 1, "last": -1, "this": 0, "a": 1}
_SHIFTS: Final = {"yesterday": -1, "tomorrow": 1, "today": 0, "now": 0}
_LONGEST: Final = 200
_MOST: Final = 10**9
"""Units of a shift."""


class _NoTime(Exception):
    """A text that is no time."""


@dataclass(slots=True)
class _Reading:
    """A time as far as it is read: the parts that were named, and what is added to them."""

    date: tuple[int, int, int] | None = None
    time: tuple[int, int, float] | None = None
    month_and_day: tuple[int, int] | None = None
    moment: float | None = None
    weekday: int | None = None
    offset: int = 0
    """Seconds by which the zone is before UTC."""
    months: int = 0
    shift: float = 0.0
    last: list[tuple[int, float]] = field(default_factory=list)
    """The shifts so far, months and seconds, which ``ago`` turns round."""

    def add(self, number: int, unit: str) -> None:
        """Shift the time by a number of units. Raises _NoTime for what is no unit."""
        name = unit.removesuffix("s") if unit != "s" else "sec"
        months = {"month": number, "year": number * 12}.get(name, 0)
        if not months and name not in _SECONDS and name not in ("month", "year"):
            raise _NoTime
        if abs(number) > _MOST:
            raise _NoTime
        self.months += months
        self.shift += number * _SECONDS.get(name, 0)
        self.last.append((months, number * _SECONDS.get(name, 0)))

    def turn_round(self) -> None:
        """Have the last shift be one into the past. Raises _NoTime where there is none."""
        if not self.last:
            raise _NoTime
        months, seconds = self.last.pop()
        self.months -= 2 * months
        self.shift -= 2 * seconds

    def at(self, now: float) -> float:
        """The time that was meant. Raises _NoTime for a date that there is not."""
        begun = datetime.fromtimestamp(now if self.moment is None else self.moment, UTC)
        year, month, day = self.date or (begun.year, begun.month, begun.day)
        if self.month_and_day is not None:
            month, day = self.month_and_day
        named = self.date is not None or self.month_and_day is not None or self.weekday is not None
        if self.time is not None or named:
            hour, minute, second = self.time or (0, 0, 0.0)
        else:
            hour, minute, second = begun.hour, begun.minute, begun.second + begun.microsecond / 1e6
        try:
            datetime(year, month, day, hour, minute, tzinfo=UTC)
            total = year * 12 + month - 1 + self.months
            made = datetime(total // 12, total % 12 + 1, 1, hour, minute, tzinfo=UTC)
            made += timedelta(days=day - 1, seconds=second + self.shift - self.offset)
            if self.weekday is not None:
                made += timedelta(days=(self.weekday - made.weekday()) % 7)
            return made.timestamp()
        except (ValueError, OverflowError):
            raise _NoTime from None


def _of_zone(reading: _Reading, found: re.Match[str]) -> None:
    sign = -1 if found["sign"] == "-" else 1
    reading.offset = sign * (int(found["zone_hours"]) * 3600 + int(found["zone_minutes"] or 0) * 60)


def _of_time(reading: _Reading, found: re.Match[str]) -> None:
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower().startswith("p") else 0)
    reading.time = hour, int(found["minute"] or 0), float(found["second"] or 0)


def _of_epoch(reading: _Reading, found: re.Match[str]) -> None:
    reading.moment = float(found["epoch"])


def _of_date(reading: _Reading, found: re.Match[str]) -> None:
    reading.date = int(found["year"]), int(found["month"]), int(found["day"])


def _of_american(reading: _Reading, found: re.Match[str]) -> None:
    reading.date = int(found["year"]), int(found["month"]), int(found["day"])


def _of_name(reading: _Reading, found: re.Match[str]) -> None:
    month = _MONTHS.index(found["name"][:3].lower()) + 1
    reading.month_and_day = month, int(found["day"] or found["before"])
    if found["year"]:
        reading.date = int(found["year"]), *reading.month_and_day


def _of_year(reading: _Reading, found: re.Match[str]) -> None:
    if reading.month_and_day is None or reading.date is not None:
        raise _NoTime
    reading.date = int(found["year"]), *reading.month_and_day


def _of_shift(reading: _Reading, found: re.Match[str]) -> None:
    number = int(found["number"].replace(" ", "")) if found["number"] else 1
    reading.add(number, found["unit"].lower())


def _of_word(reading: _Reading, found: re.Match[str]) -> None:
    word = found["word"].lower()
    if word in _SHIFTS:
        reading.add(_SHIFTS[word], "day")
    elif word == "ago":
        reading.turn_round()
    elif word[:3] in _DAYS and (len(word) == 3 or word.endswith("day")):
        reading.weekday = _DAYS.index(word[:3])
    elif word == "noon":
        reading.time = 12, 0, 0.0
    elif word not in ("utc", "gmt", "z", "t", "midnight", "at", "and"):
        raise _NoTime


def _of_ordinal(reading: _Reading, found: re.Match[str]) -> None:
    unit = found["unit"].lower()
    if unit[:3] in _DAYS and (len(unit) == 3 or unit.endswith("day")) and unit != "day":
        reading.weekday = _DAYS.index(unit[:3])
        reading.shift += 604_800 * min(0, _ORDINALS[found["ordinal"].lower()])
    else:
        reading.add(_ORDINALS[found["ordinal"].lower()], unit)


_NAMES: Final = "|".join(_MONTHS)
_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[_Reading, re.Match[str]], None]], ...]] = tuple(
    (re.compile(text, re.IGNORECASE), reader)
    for text, reader in (
        (r"@(?P<epoch>-?\d{1,11}(?:\.\d{1,9})?)", _of_epoch),
        (r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?=T|\b)T?", _of_date),
        (r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})\b", _of_date),
        (r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})\b", _of_american),
        (r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?!\d)T?", _of_date),
        (
            r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d{1,9})?))?(?:\s*(?P<half>[ap]m)\b)?",
            _of_time,
        ),
        (r"(?P<hour>\d{1,2})(?P<minute>)(?P<second>)\s*(?P<half>[ap]m)\b", _of_time),
        (r"(?:utc|gmt)?(?P<sign>[-+])(?P<zone_hours>\d{2}):?(?P<zone_minutes>\d{2})?(?!\d|\s*[a-z])", _of_zone),
        (
            rf"(?:(?P<before>\d{{1,2}})[ -])?(?P<name>{_NAMES})[a-z]{{0,6}}\.?[ -]?(?P<day>\d{{1,2}}(?![\d:]))?"
            r"(?:,?[ -](?P<year>\d{4})(?!:))?",
            _of_name,
        ),
        (r"(?P<number>[-+]? ?\d{1,9})\s*(?P<unit>[a-z]+)", _of_shift),
        (rf"(?P<ordinal>{'|'.join(_ORDINALS)})\s+(?P<unit>[a-z]+)", _of_ordinal),
        (r"(?P<year>\d{4})\b", _of_year),
        (r"(?P<word>[a-z]+)", _of_word),
    )
)


def moment_of(text: str, now: float) -> float | None:
    """The seconds since the epoch that a text means; None for what is no time.

    Examples
    --------
    >>> moment_of("1970-01-02", 0.0), moment_of("@5", 0.0), moment_of("x", 0.0)
    (86400.0, 5.0, None)
    >>> moment_of("2 days ago", 259200.0), moment_of("Thu, 01 Jan 1970 00:00:10 +0000", 0.0)
    (86400.0, 10.0)
    """
    reading, at = _Reading(), 0
    if len(text) > _LONGEST:
        return None
    try:
        while at < len(text):
            if text[at] in " \t,":
                at += 1
                continue
            at = _read(reading, text, at)
        return reading.at(now)
    except (_NoTime, ValueError, TypeError):
        return None


def _read(reading: _Reading, text: str, at: int) -> int:
    """Read the next part of a text; gives back the place behind it. Raises _NoTime."""
    for form, reader in _READERS:
        found = form.match(text, at)
        if found is not None:
            reader(reading, found)
            return found.end()
    raise _NoTime
