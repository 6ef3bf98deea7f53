"""The search for the cheapest changes that close all paths to some goals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

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
        levels: Callable[[Edge], Collection[EnforceLevel]] = lambda _: (),
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
        ordered = sorted(chosen, key=str)
        removals = [one for one in ordered if not isinstance(one, EnforceLevel)]
        made = changes_of(removals, self.snapshot, self.graph.facts.index, self._in_use)
        levels = (one.remedy(self.snapshot).changes for one in ordered if isinstance(one, EnforceLevel))
        return (*made, *chain.from_iterable(levels))

    def cost(self, one: Candidate) -> float:
        """The cost of a change."""
        return one.cost(self.snapshot) if isinstance(one, EnforceLevel) else self.ways.cost(one)

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
        usable = partial(self._usable, chosen) if chosen else None
        opened: dict[Start, Path] = {}
        for number, listed in by_goal.items():
            goal = self.goals[number]
            holds = partial(self._holds, number, chosen) if chosen and goal.question else None
            found = towards(graph, goal, sources=None if self._everybody else listed, usable=usable, holds=holds)
            paths = ((state, path_towards(found, state, goal)) for state in listed if state in found)
            opened.update(((number, state), path) for state, path in paths if direct or path.hops)
        if self._everybody:
            return {start: path for start, path in opened.items() if not self._hidden(path.start, path.edges)}
        return opened

    def _usable(self, chosen: frozenset[Candidate], edge: Edge) -> bool:
        """True if a step is possible after changes."""
        return chosen.isdisjoint(self._levels(edge)) and self.ways.usable(edge, chosen)

    def _holds(self, number: int, chosen: frozenset[Candidate], state: AttackState) -> bool:
        """True if a state has a goal after changes."""
        ends = self._ends[number]
        return ends.test(state) and not self.ways.stops(ends.requirements(state), chosen)

    def _still_open(self, starts: Iterable[Start], chosen: frozenset[Candidate], *, direct: bool) -> dict[Start, Path]:
        """The paths in the changed snapshot, where more may be possible than the remaining steps say."""
        if not chosen:
            return {}
        graph = graph_of(after(self.snapshot, self.changes(chosen)), self.members)
        return self._open(graph, starts, frozenset(), direct=direct)

    def _learn(self, start: Start, path: Path, chosen: frozenset[Candidate]) -> None:
        """Record the changes that would close a path: for each requirement those of its first open source."""
        ways: set[Candidate] = {*self.ways.of_path(path, chosen)}
        ways.update(self.ways.of_needs(self._ends[start[0]].requirements(path.end), chosen))
        ways.update(one for edge in path.edges for one in self._levels(edge))
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
            if not self._in_use.bar(chosen):
                return chosen, exact
