"""A cluster between two steps of a plan: the paths and findings that are left, and the changes that can follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.findings.kept import CountedFindings
from simkit.analysis.findings.survey import Survey
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.plan.candidates import Candidates, Use
from simkit.analysis.plan.open_paths import LeftOver, OpenPaths
from simkit.analysis.rbac.subject import Members
from simkit.logic.rbac.binding import Subject
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.overlay import OverlaySnapshot


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

    def __init__(self, snapshot: Snapshot, question: Question, earlier: Round | None = None) -> None:
        self.snapshot, self.question, self._earlier = snapshot, question, earlier
        self._candidates_before = earlier.candidates if earlier is not None else None
        self._closed: list[tuple[tuple[Change, ...], int]] = []
        self._best: _Tried | None = None

    @cached_property
    def survey(self) -> Survey:
        """The survey of the snapshot."""
        return Survey(self.snapshot, members=self.question.members)

    @cached_property
    def candidates(self) -> Candidates:
        """The changes that can follow."""
        asked, self._candidates_before, known = self.question, None, self._candidates_before
        return Candidates(self.survey, asked.keep, asked.used, log=asked.log, earlier=known)

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
    def findings(self) -> CountedFindings:
        """The number of findings of an audit."""
        earlier, self._earlier = self._earlier, None
        if earlier is None or not isinstance(self.snapshot, OverlaySnapshot):
            return CountedFindings(self.survey)
        return CountedFindings(self.survey, earlier.findings, self.snapshot.covered)

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
        """The number of paths that changes close on the graph as it is: an upper bound."""
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
        then = Round(remedy.after(), self.question, self)
        made = _Tried(remedy.changes, len(self.paths) - len(then.paths), then)
        self._closed.append((made.changes, made.closed))
        if self._best is None or made.closed > self._best.closed:
            self._best = made
        return made

    def remedy(self, one: Candidate) -> Remedy:
        """The change as it is made here."""
        return self.candidates.remedy(one)


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
