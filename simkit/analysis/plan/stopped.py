"""Steps, or places that have a goal, that changes stop: one alone, or several where several grants allow one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from simkit.analysis.escalation.cut.cutter import Candidate, Policy
from simkit.analysis.escalation.cut.removal import Needed, PossibleRemovals
from simkit.analysis.escalation.cut.removal_kinds import Removal

Needs = tuple[Needed, ...]


class Stopped:
    """Numbered things, each with the changes that stop it."""

    def __init__(self, removals: PossibleRemovals) -> None:
        self._removals = removals
        self._alone: dict[Candidate, set[int]] = defaultdict(set)
        """The things that each change stops by itself."""
        self._shared: dict[int, tuple[Needs, list[int]]] = {}
        self._parts: dict[Candidate, list[int]] = defaultdict(list)
        self._changes: dict[int, tuple[tuple[Candidate, ...], Needs]] = {}

    def add(self, number: int, alone: tuple[Candidate, ...], needs: Needs) -> None:
        """Add a thing: the changes that stop it by themselves, and the grants that it rests on.

        Things with the same grants have the same object as ``needs``, which is looked at once.
        """
        self._changes[number] = alone, needs
        for one in alone:
            self._alone[one].add(number)
        if any(len(sources) > 1 for _, sources in needs):
            if id(needs) not in self._shared:
                self._shared[id(needs)] = needs, []
                every = {one for need, sources in needs for each in sources for one in self._removals.of(each, need)}
                for part in every:
                    self._parts[part].append(id(needs))
            self._shared[id(needs)][1].append(number)

    def candidates(self) -> set[Candidate]:
        """All changes that stop something, alone or with others."""
        return {*self._alone, *self._parts}

    def by(self, chosen: Collection[Candidate]) -> set[int]:
        """The things that changes stop together."""
        found = set[int]().union(*(self._alone.get(one, ()) for one in chosen))
        if len(chosen) > 1:
            found.update(
                self._together(frozenset(chosen), {each for one in chosen for each in self._parts.get(one, ())})
            )
        return found

    def next(self, number: int, chosen: frozenset[Candidate]) -> Iterable[Candidate]:
        """The changes that stop a thing, or a part of it that others have left open."""
        alone, needs = self._changes[number]
        return alone or self._removals.of_needs(needs, _removals(chosen))

    def _together(self, chosen: frozenset[Candidate], groups: Iterable[int]) -> Iterator[int]:
        removals = _removals(chosen)
        for group in groups:
            needs, numbers = self._shared[group]
            if self._removals.stops(needs, removals):
                yield from numbers


def _removals(chosen: Iterable[Candidate]) -> frozenset[Removal]:
    return frozenset(one for one in chosen if not isinstance(one, Policy))
