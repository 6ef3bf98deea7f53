"""Releases in order with their days, those of future ones extrapolated; stability levels and the order of versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.meta.integers import is_digits, saturating_int
from simkit.schema.releases import dated
from simkit.schema.versions import VersionRank, version_rank

_MAJOR: Final = re.compile(r"v?(\d{1,3})\.\d+")
"""Names whose first number is a major version; years are not."""
_NUMBERED: Final = re.compile(r"(|.*\D)(\d+)")
CADENCE: Final = 4
"""Months between releases if a history does not say: three releases a year."""


class Release(NamedTuple):
    """A release with its day; ``expected`` if it is in the future."""

    name: str
    day: date
    expected: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({'about ' if self.expected else ''}{self.day:%Y-%m-%d})"


class Span(NamedTuple):
    """A period in releases and in months: both must have passed."""

    releases: int
    months: int

    def __str__(self) -> str:
        counted = f"{self.releases} release{'' if self.releases == 1 else 's'} and " if self.releases else ""
        return f"{counted}{self.months} months"


class Calendar:
    """The releases of a project.

    Examples
    --------
    >>> calendar = Calendar([Release("1.0", date(2024, 1, 1)), Release("1.1", date(2024, 5, 1))])
    >>> str(calendar.after("1.0", Span(3, 9)))
    '1.3 (about 2025-01-01)'
    """

    def __init__(self, releases: Iterable[Release], *, cadence: int = CADENCE) -> None:
        self.releases = tuple(releases)
        self.cadence = cadence
        self._places = {release.name: place for place, release in enumerate(self.releases)}
        if not self.releases:
            raise SimkitError("a calendar needs at least one release with its date")
        for before, after in pairwise(self.releases):
            if after.day <= before.day:
                raise SimkitError(f"releases must come in order: {after} is not after {before}")

    @classmethod
    def of_kubernetes(cls) -> Calendar:
        """The calendar of the releases that simkit knows."""
        return cls(Release(each.name, each.released) for each in dated())

    @property
    def last(self) -> Release:
        return self.releases[-1]

    def position(self, name: str) -> int:
        """The position of a release, also of a future one. Raises SimkitError for anything else."""
        known = self._places.get(name)
        if known is not None:
            return known
        for place in range(len(self.releases), len(self.releases) + 100):
            if self.at(place).name == name:
                return place
        shown = ", ".join(release.name for release in self.releases)
        raise SimkitError(f"there is no release {name!r}; known: {shown}")

    def at(self, place: int) -> Release:
        """The release at a position; those after the last known one get the next names and days."""
        if place < len(self.releases):
            return self.releases[max(place, 0)]
        ahead = place - len(self.releases) + 1
        return Release(_later_name(self.last.name, ahead), add_months(self.last.day, self.cadence * ahead), True)

    def release(self, name: str) -> Release:
        return self.at(self.position(name))

    def major(self, name: str) -> int | None:
        """The major version of a release; None if names do not say.

        Examples
        --------
        >>> calendar = Calendar([Release("1.9", date(2024, 1, 1)), Release("2.0", date(2024, 5, 1))])
        >>> calendar.major("1.9"), calendar.major("2.1")
        (1, 2)
        """
        match = _MAJOR.match(self.release(name).name)
        return int(match.group(1)) if match else None

    def after(self, name: str, span: Span) -> Release:
        """The earliest release by which both parts of a period have passed since a release."""
        start = self.position(name)
        place, day = start + span.releases, add_months(self.at(start).day, span.months)
        while self.at(place).day < day:
            place += 1
        return self.at(place)

    def passed(self, start: str, end: str, span: Span) -> bool:
        """True if both parts of a period lie between two releases."""
        return self.position(end) >= self.position(self.after(start, span).name)

    def within(self, start: str, end: str, span: Span) -> bool:
        """True if at most the longer part of a period lies between two releases."""
        by_releases = self.position(end) - self.position(start) <= span.releases
        return by_releases or self.release(end).day <= add_months(self.release(start).day, span.months)

    def describe(self, start: str, end: str) -> str:
        """The time between two releases, in words."""
        count = self.position(end) - self.position(start)
        days = (self.release(end).day - self.release(start).day).days
        return f"{count} release{'' if count == 1 else 's'}, {days / 30.44:.1f} months"


def _later_name(name: str, ahead: int) -> str:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return f"{name}+{ahead}"
    return f"{match.group(1)}{int(match.group(2)) + ahead}"


def add_months(day: date, months: int) -> date:
    """The same day some months later, or the last day of a shorter month.

    Examples
    --------
    >>> add_months(date(2024, 1, 31), 1)
    datetime.date(2024, 2, 29)
    """
    count = day.month - 1 + months
    year, month = day.year + count // 12, count % 12 + 1
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month, last)
        except ValueError:
            continue
    raise AssertionError("every month has 28 days")


class Track(IntEnum):
    """Levels of stability, the more stable the greater."""

    ALPHA = 0
    BETA = 1
    GA = 2

    @classmethod
    def named(cls, text: str) -> Track:
        """The level of a word; ``stable`` is GA.

        Examples
        --------
        >>> Track.named("Stable") is Track.GA
        True
        """
        return cls.GA if text.lower() == "stable" else cls[text.upper()]


def track_of(version: str) -> Track:
    """The level of a version's name.

    Examples
    --------
    >>> [track_of(version).name for version in ("v1", "v2beta3", "v1alpha1")]
    ['GA', 'BETA', 'ALPHA']
    """
    return Track.ALPHA if "alpha" in version else Track.BETA if "beta" in version else Track.GA


def major_of(version: str) -> int:
    """The leading number: 2 for ``v2beta1``; 0 for a name of another form."""
    digits = version[1:].partition("alpha")[0].partition("beta")[0]
    return saturating_int(digits) or 0 if version.startswith("v") and is_digits(digits) else 0


def age_order(version: str) -> tuple[int, Track, VersionRank]:
    """A sort key that puts older versions first: ``v1alpha1``, ``v1beta1``, ``v1``, ``v2alpha1``.

    Examples
    --------
    >>> sorted(["v2alpha1", "v1", "v1beta2", "v1beta1", "v1alpha1"], key=age_order)
    ['v1alpha1', 'v1beta1', 'v1beta2', 'v1', 'v2alpha1']
    """
    track, numbers, first, name = version_rank(version)
    return major_of(version), track_of(version), (track, -numbers, -first, name)
