"""A plan: changes in the order in which to make them, with what each closes, costs and leaves, and their trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.minimum_cut import Retried, retry
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.findings.audit import audit
from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.least_privilege.recorded_access import Use, may
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Evidence, InLines
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REPROVED: Final = 3
"""So many of the paths that a step closes are executed again after it."""
VERIFIED_COLUMNS: Final = ("step", "change", "remaining", "findings", "still_proven", "lost", "holds")


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
        return table([one.row() for one in self.steps], VERIFIED_COLUMNS)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield "the plan holds" if self else "the plan does not hold"
        for one in self.steps:
            left = f"{counted(one.remaining, 'path')}, {counted(one.findings, 'finding')}"
            yield f"{one.step.number}. {left}; {one.executed_again}" + (
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
        again = retry(fork, step.closed[:REPROVED], in_use, plan.members)
        in_use = [use for use in in_use if use not in again.lost]
        findings = len(audit(snapshot, members=plan.members))
        made.append(StepVerified(**vars(again), step=step, remaining=len(left), findings=findings))
    return PlanVerified(tuple(made))


COLUMNS: Final = (
    *("step", "change", "kind", "object", "namespace", "closes", "remaining", "subjects", "findings"),
    *("cumulative_share", "breaks", "harm", "loses", "cost", "risk", "command"),
)
HARMS: Final = ("nothing known", "perhaps something in use", "something in use")


@dataclass(frozen=True)
class PlanStep:
    """One change of a plan, and what is left after it. ``harm`` says whether something used breaks (``HARMS``)."""

    number: int
    change: Candidate
    remedy: Remedy = field(repr=False)
    closes: int
    closed: tuple[Path, ...] = field(repr=False)
    remaining: int
    subjects: int
    findings: int
    breaks: tuple[str, ...]
    harm: str
    cost: float

    @property
    def changes(self) -> tuple[Change, ...]:
        """The objects to write or delete, once the steps before were made."""
        return self.remedy.changes


@dataclass(frozen=True, repr=False)
class RemediationPlan(InLines, Sequence[PlanStep]):
    """Changes in the order in which to make them. ``paths``, ``subjects`` and ``findings`` are those before the first.

    ``left`` are the paths that are open after the last step.
    """

    goals: tuple[str, ...]
    steps: tuple[PlanStep, ...]
    paths: int
    subjects: int
    findings: int
    left: tuple[Path, ...]
    with_log: bool = False
    used: tuple[Use, ...] = ()
    members: Members = field(compare=False, default_factory=dict)
    chosen_subjects: tuple[Subject | str, ...] | None = field(compare=False, default=None)
    snapshot: Snapshot | None = field(compare=False, default=None)
    sandbox: Sandbox | None = field(compare=False, default=None)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, number: Any) -> Any:
        return self.steps[number]

    def __iter__(self) -> Iterator[PlanStep]:
        return iter(self.steps)

    def share(self, step: PlanStep) -> float:
        """The share of all paths that are closed after a step."""
        return (self.paths - step.remaining) / self.paths if self.paths else 1.0

    @cached_property
    def diminishing_after(self) -> int:
        """The number of the step after which further changes close few paths: where the curve of closed paths is
        furthest above the straight line from its start to its end.
        """
        heights = [0.0, *(self.share(step) for step in self.steps)]
        last = len(heights) - 1
        if last < 1:
            return 0
        gains = [height - heights[-1] * place / last for place, height in enumerate(heights)]
        return max(range(len(gains)), key=lambda place: (gains[place], -place)) or last

    def to_frame(self) -> pd.DataFrame:
        """One row per change, in order: step, change, kind, object, namespace, closes (paths), remaining (paths),
        subjects and findings (that remain), cumulative_share (of all paths), breaks (texts: what is used and lost),
        harm, loses (permissions, by what-if), cost, risk, command.
        """
        return table(map(self._row, self.steps), COLUMNS)

    def _row(self, step: PlanStep) -> tuple[Any, ...]:
        key = step.change.key
        return (
            *(step.number, str(step.change), step.change.kind, key.name, key.namespace, step.closes, step.remaining),
            *(step.subjects, step.findings, round(self.share(step), 4), step.breaks, step.harm),
            *(len(step.remedy.permissions), step.cost, step.remedy.risk, "; ".join(step.remedy.commands())),
        )

    def summary(self) -> pd.DataFrame:
        """The numbers before the first change, where gains level off (``diminishing_after``) and after the last: what,
        count (of changes), paths, subjects, findings.
        """
        rows: list[tuple[Any, ...]] = [("before", 0, self.paths, self.subjects, self.findings)]
        for what, number in (("where gains level off", self.diminishing_after), ("after all", len(self.steps))):
            if number:
                step = self.steps[number - 1]
                rows.append((what, number, step.remaining, step.subjects, step.findings))
        return table(rows, ("what", "count", "paths", "subjects", "findings"))

    def commands(self) -> list[str]:
        """The kubectl commands of all steps, in order."""
        return [command for step in self.steps for command in step.remedy.commands()]

    def way_back(self) -> list[str]:
        """The kubectl commands that take all steps back, the last step first."""
        return [command for step in reversed(self.steps) for command in step.remedy.way_back()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """The remaining paths after each change as bars, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.charts import plan_bars

        before = (self.paths, self.subjects, self.findings)
        return plan_bars(self.to_frame(), before=before, diminishing_after=self.diminishing_after, ax=ax)

    def verify(self, sandbox: Sandbox | None = None) -> PlanVerified:
        """Make the changes on a fork, one by one, and look after each at what is left and what in use is lost."""
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a plan is verified on a cluster: plan.verify(simkit.load(...))")
        return verify(self, where)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        verb, closed = "closes" if len(self) == 1 else "close", self.paths - len(self.left)
        yield f"{counted(len(self), 'change')} {verb} {closed:,} of {self.paths:,} paths to {' or '.join(self.goals)}"
        for step in self.steps:
            fewer = "; later steps close less" if step.number == self.diminishing_after and len(self) > 2 else ""
            yield (
                f"{step.number}. {step.change}: closes {step.closes:,}, {step.remaining:,} remain "
                f"({self.share(step):.0%} closed); breaks {step.harm}{fewer}"
            )
