"""Behaviour that differs between releases: the table of changes, and the predicate that stands where a rule differs.

Each change is one row of ``datasets/api/releases/behaviour/AREA.json``. The code asks
``behaviour.applies("id-of-the-row")`` at the place of the rule. The behaviour is a value: the catalogue of a server or
snapshot carries it, and it is passed like everything else, to functions as their first argument. What is kept between
requests of several servers, such as a cached result, must not depend on the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Final, NamedTuple

from simkit.meta import datasets

BASE_MINOR: Final = 30
"""The number of the release that the tables describe, from which others differ."""
FOLDER: Final = "api/releases/behaviour"


class BehaviourChange(NamedTuple):
    """One change of behaviour: the releases in which it holds, a sentence that describes it, and its source.

    ``since`` is the first release with it by default and ``last`` the last one, empty for no limit. Where ``gate`` is
    a feature gate the state of the gate decides; without ``since`` and ``last`` it is off by default in all releases.
    ``assumed`` says what about it is a guess, and ``doubtful`` names the first and the last release in which it may be
    otherwise.
    """

    id: str
    area: str
    text: str
    source: str
    since: str = ""
    last: str = ""
    gate: str = ""
    assumed: str = ""
    doubtful: tuple[str, str] = ("", "")

    def within(self, minor: int) -> bool:
        """True if it holds in a release by default."""
        if self.gate and not self.since and not self.last:
            return False
        return (not self.since or _minor(self.since) <= minor) and (not self.last or minor <= _minor(self.last))

    def guessed(self, minor: int) -> bool:
        """True if it is not known whether it holds in a release."""
        first, last = self.doubtful
        return bool(first) and _minor(first) <= minor <= _minor(last)


def _minor(release: str) -> int:
    return int(release.partition(".")[2])


@cache
def changes() -> Mapping[str, BehaviourChange]:
    """All changes by their id, area by area. Raises ValueError for an id that two rows have."""
    found: dict[str, BehaviourChange] = {}
    for file in sorted(datasets.path(FOLDER).glob("*.json")):
        for row in datasets.load(f"{FOLDER}/{file.name}"):
            if row["id"] in found:
                raise ValueError(f"two changes of behaviour have the id {row['id']!r}")
            first, last = row.get("doubtful", ("", ""))
            found[row["id"]] = BehaviourChange(**{"area": file.stem, **row, "doubtful": (first, last)})
    return found


class ServedBehaviour:
    """The changes that hold on one server, computed on demand.

    Parameters
    ----------
    minor
        The number of the release, such as 30.
    gate_open
        Whether a feature gate is open; None: what holds by default.
    """

    def __init__(self, minor: int, gate_open: Callable[[str], bool] | None = None) -> None:
        self.minor, self._gate_open = minor, gate_open

    def applies(self, change: str) -> bool:
        """True if a change holds.

        Examples
        --------
        >>> ServedBehaviour(34).applies("values-in-json")
        True
        """
        return change in self.ids

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the changes that hold."""
        return frozenset(each.id for each in changes().values() if self._holds(each))

    def _holds(self, change: BehaviourChange) -> bool:
        if change.gate and self._gate_open is not None:
            return self._gate_open(change.gate)
        return change.within(self.minor)
