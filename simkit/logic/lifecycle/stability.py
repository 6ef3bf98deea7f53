"""Stability levels and the order of versions."""

from __future__ import annotations

from enum import IntEnum

from simkit.meta.integers import is_digits, saturating_int
from simkit.schema.versions import VersionRank, version_rank


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
