"""The next change of a plan: what closes the most paths, looked for lazily.

A change closes at most the paths that it lies on (a bound), at most those that the graph has no other way for (the
model), and exactly those that are gone in the cluster as it would be. Each is dearer to know than the one before, so
only what may be the best is asked for the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final, NamedTuple

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, forget_graph, graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import count_paths, escalations
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.findings.audit import count_findings
from simkit.analysis.findings.survey import Survey, survey_of
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.recorded_access import Use
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.plan.candidates import NONE, SURELY, Candidates
from simkit.analysis.plan.open_paths import LeftOver, OpenPaths
from simkit.analysis.rbac.subject import Members
from simkit.logic.rbac.binding import Subject
from simkit.seams.snapshot import Snapshot


@dataclass(frozen=True)
class Question:
    """The question that a plan answers."""

    goals: tuple[Goal, ...]
    sources: tuple[Subject | str, ...] | None
    keep: frozenset[Subject]
    used: Mapping[Use, int] = field(repr=False)
    log: bool
    members: Members = field(repr=False)


class _Tried(NamedTuple):
    """Changes that were tried, with the number of paths that they close, and the cluster after them."""

    changes: tuple[Change, ...]
    closed: int
    then: Round


class Round:
    """One snapshot on the way, asked when it is needed."""

    def __init__(self, snapshot: Snapshot, question: Question) -> None:
        self.snapshot, self.question = snapshot, question
        self._closed: list[tuple[tuple[Change, ...], int]] = []
        self._best: _Tried | None = None

    @cached_property
    def survey(self) -> Survey:
        """The survey of the snapshot."""
        return survey_of(self.snapshot, self.question.members)

    @cached_property
    def candidates(self) -> Candidates:
        """The changes that can follow."""
        asked = self.question
        return Candidates(self.survey, asked.keep, asked.used, log=asked.log)

    @property
    def graph(self) -> EscalationGraph:
        """The escalation graph."""
        return graph_of(self.snapshot, self.question.members)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The paths that are open."""
        asked = self.question
        return escalations(self.snapshot, asked.sources, asked.goals, members=asked.members).paths

    @cached_property
    def path_count(self) -> int:
        """The number of paths that are open."""
        if "paths" in vars(self) or self.question.sources is not None:
            return len(self.paths)
        return count_paths(self.snapshot, self.question.goals, self.question.members)

    @cached_property
    def findings(self) -> int:
        """The number of findings of an audit."""
        return count_findings(self.survey)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Those who have a path."""
        return frozenset(path.subject for path in self.paths)

    @cached_property
    def open_paths(self) -> OpenPaths:
        """The steps of the graph, to be tried without some."""
        return OpenPaths(self.graph, self.candidates.ways, self.question.goals)

    @cached_property
    def starts(self) -> Sequence[Collection[AttackState]]:
        """The starts of paths to each goal."""
        found: dict[str, list[AttackState]] = {goal.name: [] for goal in self.question.goals}
        for path in self.paths:
            found[path.goal.name].append(path.start)
        return list(found.values())

    @cached_property
    def _left(self) -> LeftOver:
        """The ways as they are."""
        return self.without(())

    def modelled(self, chosen: Iterable[Candidate]) -> int:
        """The number of paths that changes close on the graph as it is: an upper bound, but for subjects that then no
        binding names.
        """
        return self._left.closes(chosen)

    def without(self, chosen: Collection[Candidate]) -> LeftOver:
        """The ways that changes leave on the graph as it is."""
        return self.open_paths.without(chosen, self.starts)

    def after(self, one: Candidate) -> Round:
        """The cluster after one more change."""
        remedy = self.candidates.remedy(one)
        if self._best is not None and self._best.changes == remedy.changes:
            return self._best.then
        return self._tried(remedy).then

    def closed_by(self, remedy: Remedy) -> int:
        """The number of paths that a remedy closes, in the cluster as it would be; what was tried before is known."""
        for changes, closed in self._closed:
            if changes == remedy.changes:
                return closed
        return self._tried(remedy).closed

    def _tried(self, remedy: Remedy) -> _Tried:
        """The cluster after a remedy. The one that closes most is kept, since a plan goes on with it."""
        then = Round(remedy.after(), self.question)
        made = _Tried(remedy.changes, self.path_count - then.path_count, then)
        self._closed.append((made.changes, made.closed))
        let_go: _Tried | None = made
        if self._best is None or made.closed > self._best.closed:
            let_go, self._best = self._best, made
        if let_go is not None:
            forget_graph(let_go.then.snapshot)
        return made


def first_round(snapshot: Snapshot, question: Question) -> Round:
    """The cluster before the first step: one for all greedy plans and causes that ask for everybody's paths to goals,
    whose order does not matter to them.
    """
    if question.members or question.keep or question.log or question.sources is not None:
        return Round(snapshot, question)
    known = _first_rounds.of(snapshot, lambda _: {})
    goals = frozenset(question.goals)
    if goals not in known:
        known[goals] = Round(snapshot, question)
    return known[goals]


_first_rounds: SnapshotMemo[dict[frozenset[Goal], Round]] = SnapshotMemo()


TRIED: Final = 4
"""The number of changes that are tried on the changed cluster in one step, if the model rates them equal."""
PATIENCE: Final = 30
"""The number of changes that are tried if none closes a path."""
BOUND: Final = 1
MODELLED: Final = 0
"""The certainty of a change's effect; of two equal changes the more certain one comes first."""
LONGEST: Final = 40
"""The number of changes that are looked at together where fewer close no path."""
PAIRED: Final = 8
"""Of how many changes the ways around them are looked at where none alone closes a path."""


class RatedChange(NamedTuple):
    """A change with what it closes; of two alike the one that harms and costs less is better."""

    closes: int
    harm: int
    cost: float
    text: str
    change: Candidate

    @property
    def order(self) -> tuple[int, int, float, str]:
        return (-self.closes, self.harm, self.cost, self.text)


def next_change(now: Round, *, free: bool, left: int | None) -> tuple[Candidate, Round] | None:
    """The best next change, with the cluster after it; None where no change closes anything.

    Changes that break something which is used come only when no other closes a path.

    Parameters
    ----------
    free
        Whether only changes count that cost nothing which is known to be used.
    left
        The number of changes that may still be made, this one among them; None for any number. The first of several
        that close paths only together is of use where as many may follow as it needs.
    """
    rated = sorted(_rated(now), key=lambda one: one.order)
    for allowed in ((NONE,),) if free else (range(SURELY), (SURELY,)):
        found = _lazily(now, [one for one in rated if one.harm in allowed])
        if found is None and left != 1:
            some = [one for one in rated if one.harm <= allowed[-1]]
            found = _first_of_two(now, some, allowed[-1], alone=left == 2)
            if found is None:
                found = _first_of_many(now, allowed[-1], left or LONGEST)
        if found is not None:
            return found
    return None


def _rated(now: Round) -> Iterator[RatedChange]:
    """The changes that lie on open paths."""
    for one, bound in now.open_paths.candidates_of(now.paths).items():
        yield RatedChange(bound, now.candidates.harm(one), now.candidates.cost(one), str(one), one)


def _lazily(now: Round, ordered: Iterable[RatedChange]) -> tuple[Candidate, Round] | None:
    """The change that closes the most, asked only for what may still be more than the best; None where none closes any.

    After ``TRIED`` changes were tried in full the best of them is taken, so that it may miss a slightly better one.
    """
    waiting = [(one.order, BOUND, one) for one in ordered]
    heapify(waiting)
    best: tuple[int, Candidate] | None = None
    tried = 0
    while waiting:
        _, known, one = heappop(waiting)
        if (best is not None and (best[0] >= one.closes or tried >= TRIED)) or tried >= PATIENCE:
            break
        if known == BOUND:
            closes = now.modelled([one.change])
            if closes:
                better = one._replace(closes=closes)
                heappush(waiting, (better.order, MODELLED, better))
            continue
        closes, tried = now.closed_by(now.candidates.remedy(one.change)), tried + 1
        if closes > (best[0] if best is not None else 0):
            best = (closes, one.change)
    return None if best is None else (best[1], now.after(best[1]))


def _first_of_two(
    now: Round, ordered: Iterable[RatedChange], most_harm: int, *, alone: bool
) -> tuple[Candidate, Round] | None:
    """The first of the two changes that together close most paths; the second stops the ways around the first.

    Of pairs that close as many one is taken whose first change opens no path, as it does for whoever had the goal.
    ``alone`` says that no third change follows, so that the pair is tried.
    """
    best, found = (0, 0), None
    for bound, first in _firsts(now, ordered, most_harm):
        if (bound, 0) <= best:
            break
        then = now.after(first.change)
        closed = len(now.paths) - len(then.paths)
        seconds = (one for one in _rated(then) if one.harm <= most_harm and closed + one.closes >= best[0])
        for second in sorted(seconds, key=lambda one: one.order):
            closes = closed + then.modelled([second.change]) if closed + second.closes >= best[0] else 0
            if closes <= 0 or (closes, min(closed, 0)) <= best:
                continue
            if not alone or len(then.after(second.change).paths) < len(now.paths):
                best, found = (closes, min(closed, 0)), (first.change, then)
    return found


def _firsts(now: Round, ordered: Iterable[RatedChange], most_harm: int) -> Sequence[tuple[int, RatedChange]]:
    """Changes that close paths with a second one, and how many at most: on the graph as it is, the most first."""
    found = []
    for first in islice(ordered, PAIRED):
        left, more = now.without([first.change]), 0
        for second, ways in left.on_ways().most_common():
            if ways <= more:
                break
            if now.candidates.harm(second) <= most_harm:
                more = max(more, left.closes([second]))
        most = now.modelled([first.change]) + more
        if most:
            found.append((most, first))
    return sorted(found, key=lambda pair: -pair[0])


def _first_of_many(now: Round, most_harm: int, most: int) -> tuple[Candidate, Round] | None:
    """The first of the changes that only together close a path, on the graph as it is; None if ``most`` are too few.

    Each is the one on the most of the ways that those before it leave.
    """
    chosen: list[Candidate] = []
    while len(chosen) <= most:
        left = now.without(chosen)
        if left.starts < len(now.paths):
            return (chosen[0], now.after(chosen[0])) if chosen else None
        more = [
            (-ways, now.candidates.harm(one), now.candidates.cost(one), str(one), one)
            for one, ways in left.on_ways().items()
            if one not in chosen and now.candidates.harm(one) <= most_harm
        ]
        if not more:
            return None
        chosen.append(min(more)[-1])
    return None
