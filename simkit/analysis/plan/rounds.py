"""A cluster between two steps of a plan: the paths and findings that are left, and the changes that can follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from simkit.analysis.causes.remedy import Remedy
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.plan.candidates import Candidates, Use
from simkit.analysis.plan.open_paths import Candidate, OpenPaths
from simkit.analysis.rbac.subject import Members
from simkit.logic.rbac.binding import Subject
from simkit.snapshot.protocol import Snapshot


@dataclass(frozen=True)
class Question:
    """The question that a plan answers."""

    goals: tuple[Goal, ...]
    sources: tuple[Subject | str, ...] | None
    keep: frozenset[Subject]
    used: Mapping[Use, int] = field(repr=False)
    log: bool
    members: Members = field(repr=False)


class Round:
    """One snapshot on the way, asked when it is needed."""

    def __init__(self, snapshot: Snapshot, question: Question) -> None:
        self.snapshot, self.question = snapshot, question
        self.candidates = Candidates(snapshot, question.keep, question.used, log=question.log)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The paths that are open."""
        asked = self.question
        return tuple(escalations(self.snapshot, asked.sources, goal=asked.goals, members=asked.members))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of an audit."""
        return audit(self.snapshot, members=self.question.members).findings

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Those who have a path."""
        return frozenset(path.subject for path in self.paths)

    @cached_property
    def open_paths(self) -> OpenPaths:
        """The steps of the graph, to be tried without some."""
        graph = graph_of(self.snapshot, self.question.members)
        return OpenPaths(graph, self.candidates.ways, self.question.goals)

    @cached_property
    def starts(self) -> Sequence[Collection[AttackState]]:
        """The starts of paths to each goal."""
        found: dict[str, list[AttackState]] = {goal.name: [] for goal in self.question.goals}
        for path in self.paths:
            found[path.goal.name].append(path.start)
        return list(found.values())

    def modelled(self, chosen: Iterable[Candidate]) -> int:
        """The number of paths that changes close on the graph as it is: an upper bound."""
        return len(self.paths) - self.open_paths.count(list(chosen), self.starts)

    def after(self, one: Candidate) -> Round:
        """The cluster after one more change."""
        return Round(self.candidates.remedy(one).after(), self.question)

    def remedy(self, one: Candidate) -> Remedy:
        """The change as it is made here."""
        return self.candidates.remedy(one)
