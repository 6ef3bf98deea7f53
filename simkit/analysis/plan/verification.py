"""A plan made on a fork, change by change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from simkit.analysis.escalation.cut.refused_accounts import RefuseAccounts
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.prove.proof import Proof, by_outcome
from simkit.analysis.escalation.prove.verdicts import tally_text
from simkit.analysis.findings.audit import audit
from simkit.analysis.least_privilege.replay import apply, may
from simkit.analysis.plan.candidates import Use
from simkit.analysis.plan.recorded_writes import makes_pods, passes, written
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted, html_lines, text_lines
from simkit.analysis.result import Evidence
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.plan.result import Plan, PlanStep

REPROVED: Final = 3
"""So many of the paths that a step closes are executed again after it."""
COLUMNS: Final = ("step", "change", "remaining", "findings", "still_proven", "lost", "holds")


@dataclass(frozen=True)
class StepVerified:
    """The effect of one change on the fork, beside the plan's prediction.

    ``remaining`` and ``findings`` were counted there, ``lost`` is what the log shows in use and is refused now.
    """

    step: PlanStep
    remaining: int
    findings: int
    still_proven: tuple[Proof, ...]
    refused: tuple[Proof, ...]
    not_executed: tuple[Proof, ...]
    """Closed paths of which executing them again shows nothing."""
    lost: tuple[Use, ...]

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


@dataclass(frozen=True)
class PlanVerified(Evidence):
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
            tried = tally_text((*one.still_proven, *one.refused, *one.not_executed))
            left = f"{counted(one.remaining, 'path')}, {counted(one.findings, 'finding')}"
            yield f"{one.step.number}. {left}; closed paths, executed again: {tried}" + (
                "" if one.holds else f"; planned: {counted(one.step.remaining, 'path')}"
            )

    def __str__(self) -> str:
        return text_lines(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_lines(self.lines())


def verify(plan: Plan, sandbox: Sandbox) -> PlanVerified:
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
        proofs = [path.prove(fork, members=plan.members) for path in step.closed[:REPROVED]]
        lost = tuple(use for use in in_use if not may(fork, *use) or _is_refused(use, step, sandbox, fork))
        in_use = [use for use in in_use if use not in lost]
        made.append(
            StepVerified(
                *(step, len(left), len(audit(snapshot, members=plan.members))),
                *by_outcome(proofs),
                lost,
            )
        )
    return PlanVerified(tuple(made))


def _is_refused(use: Use, step: PlanStep, before: Sandbox, fork: Sandbox) -> bool:
    """True if an admission policy refuses a write that the log shows, and that the cluster took before."""
    if not isinstance(step.change, RefuseAccounts) or not makes_pods(use[1]):
        return False
    obj = written(use[1], before.snapshot())
    return obj is not None and passes(before.fork(), use, obj) and not passes(fork, use, obj)
