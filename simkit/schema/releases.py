"""Releases that simkit knows: their order and dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.meta.integers import saturating_int

FIRST: Final = 16
LAST: Final = 37
RELEASES: Final = tuple(f"1.{minor}" for minor in range(FIRST, LAST + 1))
"""The releases that can be served, oldest first."""
BASE: Final = "1.30"
"""The release with complete tables; other releases have differences from it."""

_RELEASE: Final = re.compile(r"v?1\.(\d+)(?:[.+-].*)?")


@dataclass(frozen=True, slots=True)
class Release:
    """A minor release with its dates; ``end_of_life`` of a maintained one is the planned day."""

    name: str
    released: date
    end_of_life: date
    last_patch: str | None

    @property
    def minor(self) -> int:
        return minor_of(self.name)


def minor_of(release: str) -> int:
    """The minor version. Raises SimkitError for a text that does not look like ``1.30``.

    Examples
    --------
    >>> minor_of("1.30"), minor_of("v1.29.4")
    (30, 29)
    """
    match = _RELEASE.fullmatch(release.strip()) if isinstance(release, str) else None
    if match is None:
        raise SimkitError(f'{release!r} is no release; write it as text: "1.30"')
    return int(match.group(1))


def is_release(text: str) -> bool:
    """True for a text that looks like a release: ``1.30``, ``v1.30.14``."""
    return _RELEASE.fullmatch(text.strip()) is not None


def release_name(text: str) -> str:
    """The release in a text, such as ``1.30`` for ``v1.30.14``. Raises SimkitError for an unknown one.

    Examples
    --------
    >>> release_name("v1.21.2")
    '1.21'
    """
    name = f"1.{minor_of(text)}"
    if name not in RELEASES:
        raise SimkitError(
            f"there is no catalogue of release {name!r}; the known releases are {RELEASES[0]} to {RELEASES[-1]}"
        )
    return name


_dates: Final[Callable[[], Mapping[str, Mapping[str, Any]]]] = datasets.lazy("api/releases/releases.json")


@cache
def release(name: str) -> Release:
    """A release with its dates, from 1.8 on. Raises SimkitError if no date is known."""
    key = f"1.{minor_of(name)}"
    row = _dates().get(key)
    if row is None:
        known = list(_dates())
        raise SimkitError(f"no date is known of release {key!r}; known: {known[0]} to {known[-1]}")
    end, start = date.fromisoformat(row["endOfLife"]), date.fromisoformat(row["released"])
    return Release(key, start, end, row["lastPatch"])


def nearest_release(text: str) -> str:
    """The release in a text, or the nearest one that can be served; empty where the text names none.

    Examples
    --------
    >>> nearest_release("v1.31.2"), nearest_release("1.99"), nearest_release("1.9"), nearest_release("?")
    ('1.31', '1.37', '1.16', '')
    """
    match = _RELEASE.fullmatch(text.strip())
    if match is None:
        return ""
    minor = saturating_int(match.group(1))
    return f"1.{LAST if minor is None else min(max(minor, FIRST), LAST)}"


def git_version(name: str) -> str:
    """The version that servers of a release report: its last patch.

    Examples
    --------
    >>> git_version("1.30")
    'v1.30.14'
    """
    return f"v{release(name).last_patch or f'{name}.0'}"


def dated() -> tuple[Release, ...]:
    """All releases with known dates, oldest first."""
    return tuple(release(name) for name in _dates())
