"""The releases that an upgrade goes over."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.meta.errors import SimkitError
from simkit.schema.releases import RELEASES, minor_of, release_name


@dataclass(frozen=True, slots=True)
class ReleaseSpan:
    """The way from one release (not included) to another (included); ``start`` is empty where it is not known."""

    start: str
    end: str

    @classmethod
    def of(cls, start: str, end: str) -> ReleaseSpan:
        """The way between two releases as people write them.

        Raises
        ------
        SimkitError
            For an unknown release, and for a way that goes back.

        Examples
        --------
        >>> ReleaseSpan.of("v1.23.4", "1.24").hops
        ('1.24',)
        """
        try:
            first, last = release_name(start) if start else "", release_name(end)
        except SimkitError as wrong:
            raise SimkitError(f"{wrong}; the newest known release is {RELEASES[-1]}") from None
        if first and minor_of(first) > minor_of(last):
            raise SimkitError(f"an upgrade goes to a later release; {last} comes before {first}")
        return cls(first, last)

    @property
    def hops(self) -> tuple[str, ...]:
        """The releases on the way, the last included. From an unknown start: all known ones."""
        first = minor_of(self.start) + 1 if self.start else minor_of(RELEASES[0])
        return tuple(each for each in RELEASES if first <= minor_of(each) <= minor_of(self.end))

    def meets(self, release: str) -> bool:
        """True if a change of some release lies on the way. Without a start, all that led to the end does."""
        at = minor_of(release)
        return at <= minor_of(self.end) and (not self.start or at > minor_of(self.start))
