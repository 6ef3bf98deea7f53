"""The times at which a cron schedule fires.

pkg/controller/cronjob/utils.go, release 1.30, and github.com/robfig/cron v3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from simkit.kinds.parts.job.cron import BadSchedule, Schedule, parse
from simkit.meta.duration import seconds

_EARLIEST: Final = -62_135_596_800.0 + 3 * 86_400
_LATEST: Final = 253_402_300_799.0 - 3 * 86_400
_LAST_DAY: Final = date(9999, 12, 30)
"""Times and days of which each zone of the world has a neighbour: Go's calendar goes on, Python's ends here."""
_YEARS: Final = 5 * 366
"""Days after which a schedule counts as one that never fires."""
_PREFIX: Final = re.compile(r"(?:CRON_)?TZ=(\S+)\s+")


def is_zone(name: str) -> bool:
    """True if a time zone exists. ``Local`` is that of the controller, which is UTC."""
    return name == "Local" or _zone(name) is not None


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


class Firing:
    """A schedule in a time zone.

    Raises
    ------
    BadSchedule
        For a text that is none, or names a time zone that is not known.

    Examples
    --------
    >>> firing = Firing("*/30 6 * * *")
    >>> firing.next_after(0.0), firing.last_until(86400.0)
    (21600.0, 23400.0)
    """

    def __init__(self, text: str, zone: str = "") -> None:
        given = _PREFIX.match(text)
        name = given[1] if given else zone
        known = UTC if name in ("", "Local") else _zone(name)
        if known is None:
            raise BadSchedule(f"provided bad location {name}: unknown time zone {name}")
        self.zone: tzinfo = known
        self._schedule: Schedule = parse(text)

    def next_after(self, moment: float) -> float | None:
        """The first time after another one, in seconds since the epoch; None if it never fires."""
        if self._schedule.every:
            return float(int(moment) + self._period())
        start = self._day(moment)
        for offset in range(min(_YEARS, (_LAST_DAY - start).days + 1)):
            for found in self._on(start + timedelta(days=offset)):
                if found > moment:
                    return found
        return None

    def last_until(self, moment: float, since: float = 0.0) -> float | None:
        """The last time up to another one and after ``since``; None if it did not fire in between."""
        if self._schedule.every:
            times = int((moment - since) // self._period())
            return since + times * self._period() if times > 0 else None
        end, first = self._day(moment), self._day(since)
        for offset in range(min((end - first).days + 1, _YEARS)):
            found = [each for each in self._on(end - timedelta(days=offset)) if since < each <= moment]
            if found:
                return found[-1]
        return None

    def missed(self, moment: float, since: float) -> int:
        """The approximate number of firings after ``since`` up to a time, by the interval of the first two."""
        first = self.next_after(since)
        second = self.next_after(first) if first is not None else None
        if first is None or second is None or first > moment:
            return 0
        return int(moment - first) // max(1, round(second - first)) + 1

    def _day(self, moment: float) -> date:
        """The day of a time; the nearest day of the calendar whose neighbours exist too."""
        return datetime.fromtimestamp(min(max(moment, _EARLIEST), _LATEST), self.zone).date()

    def _on(self, day: date) -> Iterator[float]:
        """The times of one day, in order."""
        schedule = self._schedule
        if day.month not in schedule.months or not self._is_day(day):
            return
        for hour in sorted(schedule.hours):
            for minute in sorted(schedule.minutes):
                local = datetime.combine(day, time(hour, minute), self.zone)
                moment = local.timestamp()
                if datetime.fromtimestamp(moment, self.zone).hour == hour:  # a clock put forward skips an hour
                    yield moment

    def _is_day(self, day: date) -> bool:
        schedule = self._schedule
        of_month = day.day in schedule.days
        of_week = day.isoweekday() % 7 in schedule.weekdays
        if schedule.any_day or schedule.any_weekday:
            return of_month and of_week
        return of_month or of_week

    def _period(self) -> float:
        return max(1.0, float(int(seconds(self._schedule.every))))
