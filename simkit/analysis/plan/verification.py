"""A plan made on a fork, change by change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from simkit.analysis.escalation.cut.policies import RefuseAccounts
from simkit.analysis.escalation.cut.verification import Retried, Use, retry
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.findings.audit import audit
from simkit.analysis.least_privilege.change import apply
from simkit.analysis.least_privilege.recorded_access import may
from simkit.analysis.plan.recorded_writes import makes_pods, passes, written
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Evidence, InLines
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.plan.result import PlanStep, RemediationPlan

REPROVED: Final = 3
"""So many of the paths that a step closes are executed again after it."""
COLUMNS: Final = ("step", "change", "remaining", "findings", "still_proven", "lost", "holds")


@dataclass(frozen=True)
class StepVerified(Retried):
    """The effect of one change on the fork, beside the plan's prediction: ``remaining`` and ``findings`` were counted
    there.
    """

    step: PlanStep
    remaining: int
    findings: int

    @property
    def holds(self) -> bool:
        """True if no more paths are open than the plan said, none that it closed goes through, and nothing more is
        lost than it said.
        """
        closes = self.remaining <= self.step.remaining and not self.still_proven
        return closes and len(self.lost) <= len(self.step.breaks)

    def row(self) -> tuple[Any, ...]:
        """The row of the step in the table."""
        counts = (self.remaining, self.findings, len(self.still_proven), len(self.lost))
        return (self.step.number, str(self.step.change), *counts, self.holds)


@dataclass(frozen=True, repr=False)
class PlanVerified(InLines, Evidence):
    """The effect of a plan. True in a condition if each step closes what it promises and takes no more than it says."""

    steps: tuple[StepVerified, ...]

    def __bool__(self) -> bool:
        return all(one.holds for one in self.steps)

    def to_frame(self) -> pd.DataFrame:
        """One row per step: step, change, remaining (paths, counted on the fork), findings, still_proven, lost,
        holds.
        """
        return table([one.row() for one in self.steps], COLUMNS)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield "the plan holds" if self else "the plan does not hold"
        for one in self.steps:
            left = f"{counted(one.remaining, 'path')}, {counted(one.findings, 'finding')}"
            yield f"{one.step.number}. {left}; closed paths, executed again: {one.executed_again}" + (
                "" if one.holds else f"; planned: {counted(one.step.remaining, 'path')}"
            )


def verify(plan: RemediationPlan, sandbox: Sandbox) -> PlanVerified:
    """Make the changes of a plan on a fork, as an administrator; after each count paths and findings, execute some of
    the closed paths again, and ask for all that a log shows in use.
    """
    fork = sandbox.fork()
    in_use = [use for use in plan.used if may(sandbox, *use)]
    made = []
    for step in plan.steps:
        apply(fork, step.changes)
        snapshot = fork.snapshot()
        left = escalations(snapshot, plan.chosen_subjects, goal=plan.goals, members=plan.members)
        is_lost = partial(_is_refused, step, sandbox, fork)
        again = retry(fork, step.closed[:REPROVED], in_use, plan.members, is_lost)
        in_use = [use for use in in_use if use not in again.lost]
        findings = len(audit(snapshot, members=plan.members))
        made.append(StepVerified(**vars(again), step=step, remaining=len(left), findings=findings))
    return PlanVerified(tuple(made))


def _is_refused(step: PlanStep, before: Sandbox, fork: Sandbox, use: Use) -> bool:
    """True if an admission policy refuses a write that the log shows, and that the cluster took before."""
    if not isinstance(step.change, RefuseAccounts) or not makes_pods(use[1]):
        return False
    obj = written(use[1], before.snapshot())
    return obj is not None and passes(before.fork(), use, obj) and not passes(fork, use, obj)
