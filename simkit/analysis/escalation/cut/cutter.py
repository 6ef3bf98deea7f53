"""The search for the cheapest changes that close all paths to some goals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.escalation.cut.hitting_set import Solved, cheapest_hitting_set
from simkit.analysis.escalation.cut.policies import EnforceLevel
from simkit.analysis.escalation.cut.remedy import after
from simkit.analysis.escalation.cut.removal import GoalHolders, PossibleRemovals, Removal, changes_of
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import granted_by_defaults, listed_sources
from simkit.analysis.escalation.find.search import path_towards, towards, ways_to
from simkit.analysis.escalation.find.states import AttackState, subject_state
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.usage import usage
from simkit.analysis.rbac.subject import Members, parse_subject, several
from simkit.logic.rbac.binding import Subject
from simkit.present.progress import tracked
from simkit.seams.snapshot import Snapshot

ROUNDS: Final = 200
"""The limit of rounds; each round finds only the paths that the cut before left open."""
Candidate = Removal | EnforceLevel
"""One change: what is taken out of a binding or a role, or a level of pod security."""
Start = tuple[int, AttackState]
"""The number of a goal, and a state in which a path to it starts."""


class Levels(Protocol):
    """The changes besides removals that may be chosen."""

    def of(self, edge: Edge) -> tuple[EnforceLevel, ...]:
        """Those by which a step is not possible any more."""

    def cost(self, one: EnforceLevel) -> float:
        """The cost of one, to be compared with that of removals."""


@dataclass(frozen=True)
class Chosen:
    """The changes that a search chose; ``exact`` if they are proven to be the cheapest for the paths that it saw."""

    starts: tuple[Start, ...]
    changes: frozenset[Candidate]
    exact: bool


class Cutter:
    """One search for a cut."""

    def __init__(
        self,
        snapshot: Snapshot,
        goals: Sequence[Goal],
        log: AuditLog | None,
        keep: frozenset[Subject],
        members: Members,
        levels: Levels | None = None,
    ) -> None:
        self.snapshot, self.goals, self.members = snapshot, tuple(goals), members
        self.graph = graph_of(snapshot, members)
        self.used = dict(usage(snapshot, log).allowed) if log is not None else {}
        self.ways = PossibleRemovals(snapshot, keep, self.used)
        self._in_use = self.ways.in_use
        self._levels = levels
        self._ends = [GoalHolders(goal, self.graph) for goal in self.goals]
        self._sets: dict[frozenset[Candidate], dict[Start, Path]] = {}
        """The sets of changes that close paths, each with one path of each start that it closes."""
        self.left: dict[Start, Path] = {}
        """The paths that no change closes."""
        self._solved: Solved[Candidate] = {}
        self._everybody = False
        self._hidden = granted_by_defaults(self.graph)

    def run(self, subject: Subject | str | Iterable[Subject | str] | None, *, direct: bool) -> Chosen:
        """Find and close paths until none is left."""
        starts = tuple(self._starts(subject, direct=direct))
        self._everybody = subject is None
        chosen: frozenset[Candidate] = frozenset()
        exact = True
        for _ in tracked(iter(range(ROUNDS)), "closing paths, round"):
            waiting = [start for start in starts if start not in self.left]
            paths = self._open(self.graph, waiting, chosen, direct=direct)
            paths = paths or self._still_open(waiting, chosen, direct=direct)
            if not paths:
                break
            for start, path in paths.items():
                self._learn(start, path, chosen)
            chosen, exact = self._chosen()
        return Chosen(starts, chosen, exact)

    def closed(self) -> dict[Path, frozenset[Candidate]]:
        """The paths that are closed, each with the changes that would have closed it."""
        found = ((start, path, some) for some, paths in self._sets.items() for start, path in paths.items())
        return {path: some for start, path, some in found if start not in self.left}

    def changes(self, chosen: Iterable[Candidate]) -> tuple[Change, ...]:
        """The objects after changes."""
        removals, levels = _parted(chosen)
        made = changes_of(removals, self.snapshot, self.graph.facts.index, self._in_use)
        return (*made, *(change for one in sorted(levels, key=str) for change in one.remedy(self.snapshot).changes))

    def cost(self, one: Candidate) -> float:
        """The cost of a change."""
        if isinstance(one, EnforceLevel):
            assert self._levels is not None
            return self._levels.cost(one)
        return self.ways.cost(one)

    def _of(self, edge: Edge) -> tuple[EnforceLevel, ...]:
        """The levels that stop a step, where they may be chosen."""
        return () if self._levels is None else self._levels.of(edge)

    def _starts(self, subject: Subject | str | Iterable[Subject | str] | None, *, direct: bool) -> Iterator[Start]:
        if subject is not None:
            listed = [subject_state(parse_subject(one)) for one in several(subject)]
            yield from ((number, state) for number in range(len(self.goals)) for state in listed)
            return
        for number, goal in enumerate(self.goals):
            found = ways_to(self.graph, goal)
            for state in listed_sources(self.graph.sources(), found, every=True):
                path = path_towards(found, state, goal)
                if (direct or path.hops) and not self._hidden(path.start, path.edges):
                    yield number, state

    def _open(
        self, graph: EscalationGraph, starts: Iterable[Start], chosen: frozenset[Candidate], *, direct: bool
    ) -> dict[Start, Path]:
        """The best path of each start that still reaches its goal."""
        by_goal: dict[int, list[AttackState]] = {}
        for number, state in starts:
            by_goal.setdefault(number, []).append(state)
        removals, levels = _parted(chosen)
        usable = self._usable(removals, levels) if chosen else None
        opened: dict[Start, Path] = {}
        for number, listed in by_goal.items():
            goal = self.goals[number]
            holds = self._holding(number, removals) if chosen and goal.question else None
            found = towards(graph, goal, sources=None if self._everybody else listed, usable=usable, holds=holds)
            paths = ((state, path_towards(found, state, goal)) for state in listed if state in found)
            opened.update(((number, state), path) for state, path in paths if direct or path.hops)
        if self._everybody:
            return {start: path for start, path in opened.items() if not self._hidden(path.start, path.edges)}
        return opened

    def _usable(self, removals: frozenset[Removal], levels: frozenset[EnforceLevel]) -> Callable[[Edge], bool]:
        """The predicate of the steps that are possible after changes."""

        def usable(edge: Edge) -> bool:
            if levels and not levels.isdisjoint(self._of(edge)):
                return False
            return self.ways.usable(edge, removals)

        return usable

    def _holding(self, number: int, removals: frozenset[Removal]) -> Callable[[AttackState], bool]:
        """The predicate of the states that have a goal after removals."""
        ends = self._ends[number]
        return lambda state: ends.test(state) and not self.ways.stops(ends.requirements(state), removals)

    def _still_open(self, starts: Iterable[Start], chosen: frozenset[Candidate], *, direct: bool) -> dict[Start, Path]:
        """The paths in the changed snapshot, where more may be possible than the remaining steps say."""
        if not chosen:
            return {}
        graph = graph_of(after(self.snapshot, self.changes(chosen)), self.members)
        return self._open(graph, starts, frozenset(), direct=direct)

    def _learn(self, start: Start, path: Path, chosen: frozenset[Candidate]) -> None:
        """Record the changes that would close a path: for each requirement those of its first open source."""
        removals, _ = _parted(chosen)
        ways: set[Candidate] = {*self.ways.of_path(path, removals)}
        ways.update(self.ways.of_needs(self._ends[start[0]].requirements(path.end), removals))
        ways.update(one for edge in path.edges for one in self._of(edge))
        options = frozenset(one for one in ways if one not in self._in_use.barred)
        if options - chosen:
            self._sets.setdefault(options - chosen, {})[start] = path
        else:
            self.left[start] = path

    def _chosen(self) -> tuple[frozenset[Candidate], bool]:
        """The cheapest changes that close all known paths, and True if they are proven to be the cheapest."""
        barred: set[Removal] = self._in_use.barred
        while True:
            for some, paths in self._sets.items():
                if not some - barred:
                    self.left.update(paths)
            wanted = {
                some - barred for some, paths in self._sets.items() if any(start not in self.left for start in paths)
            }
            weights = {one: self.cost(one) for some in wanted for one in some}
            chosen, exact = cheapest_hitting_set(wanted, weights, self._solved)
            if not self._in_use.bar(_parted(chosen)[0]):
                return chosen, exact


def _parted(chosen: Iterable[Candidate]) -> tuple[frozenset[Removal], frozenset[EnforceLevel]]:
    """Removals, and the others."""
    removals, levels = set[Removal](), set[EnforceLevel]()
    for one in chosen:
        if isinstance(one, EnforceLevel):
            levels.add(one)
        else:
            removals.add(one)
    return frozenset(removals), frozenset(levels)
