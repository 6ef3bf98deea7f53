"""The result of a rehearsed operation: what became of each pod, of each workload, and how it went in time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import Result, ResultDict, Row, records
from simkit.meta.visible_text import html_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

OUTCOMES: Final = ("moved", "started", "removed", "kept", "lost", "blocked", "stuck", "pending")
"""The outcomes of pods, the worst last."""


class PodOutcome(NamedTuple):
    """One pod, and what became of it.

    Attributes
    ----------
    outcome
        ``moved``: its replacement runs; ``started``: it is new and runs; ``removed``: it is gone, as was asked for;
        ``kept``: it stays; ``lost``: it is gone and nothing replaces it; ``blocked``: a disruption budget keeps it;
        ``stuck``: it waits for a kubelet that is gone; ``pending``: it, or its replacement, does not run, or the server
        refuses to create it (then it has no name).
    to
        The node on which it, or its replacement, is now.
    why
        The reason, in the words of the server, the scheduler or the kubelet.
    """

    namespace: str
    pod: str
    workload: str
    node: str
    outcome: str
    to: str = ""
    why: str = ""


class Moment(NamedTuple):
    """The pods at one moment, in seconds since the start of the operation."""

    second: float
    ready: int
    pending: int
    terminating: int


class WorkloadAvailability(NamedTuple):
    """The ready pods of one workload before, at least, and after an operation."""

    namespace: str
    workload: str
    ready_before: int
    ready_least: int
    ready_after: int
    wanted: int


class OperationDict(ResultDict):
    """An operation for JSON, with its name, whether all was replaced, and the tables of workloads and moments."""

    operation: str
    complete: bool
    workloads: list[Row]
    timeline: list[Row]


@dataclass(frozen=True)
class Operation(Result):
    """A rehearsed operation. It is true if it came to its end and no pod is left behind.

    Attributes
    ----------
    name
        What was done, such as ``drain of node-1``.
    complete
        Whether it came to its end in time.
    seconds
        The simulated time that it took.
    pods, moments
        What became of pods, and how it went.
    availability
        The workloads that had fewer ready pods meanwhile, or have another number now.
    """

    name: str
    complete: bool
    seconds: float
    pods: tuple[PodOutcome, ...]
    moments: tuple[Moment, ...]
    availability: tuple[WorkloadAvailability, ...]

    def __repr__(self) -> str:
        told = ", ".join(f"{what}: {count}" for what, count in self.summary().itertuples(index=False))
        return f"<{self.name}; {told}>"

    def _repr_html_(self) -> str:
        end = "came to its end" if self.complete else "did not come to its end"
        head = html_text(f"{self.name}: {end} in {self.seconds:,.0f} simulated seconds")
        return f"<p><b>{head}</b></p>{super()._repr_html_()}"

    def __bool__(self) -> bool:
        return self.complete and not any(each.outcome in ("lost", "blocked", "stuck", "pending") for each in self.pods)

    def to_frame(self) -> pd.DataFrame:
        """One row per pod: namespace, pod, workload, node, outcome, to, why; the worst outcomes first."""
        worst = sorted(self.pods, key=lambda each: (-OUTCOMES.index(each.outcome), each))
        return ReadableFrame(worst, columns=PodOutcome._fields)

    def workloads(self) -> pd.DataFrame:
        """One row per touched workload: namespace, workload, ready_before, ready_least, ready_after, wanted."""
        return ReadableFrame(self.availability, columns=WorkloadAvailability._fields)

    def timeline(self) -> pd.DataFrame:
        """One row per moment: second, ready, pending, terminating."""
        return ReadableFrame(self.moments, columns=Moment._fields)

    def summary(self) -> pd.DataFrame:
        """The number of pods by outcome, and whether the operation came to its end: what, count."""
        counts = Counter(each.outcome for each in self.pods)
        rows = [(f"pods {outcome}", counts[outcome]) for outcome in reversed(OUTCOMES) if counts[outcome]]
        rows += [
            ("workloads without a ready pod meanwhile", sum(1 for each in self.availability if not each.ready_least))
        ]
        rows += [("simulated seconds", round(self.seconds)), ("complete", int(self.complete))]
        return ReadableFrame(rows, columns=["what", "count"])

    def to_dict(self) -> OperationDict:
        """The answer for JSON, with the name and the tables of workloads and moments."""
        return {
            **super().to_dict(),
            "operation": self.name,
            "complete": self.complete,
            "workloads": records(self.workloads()),
            "timeline": records(self.timeline()),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """The pods of each touched workload that stay ready, come back and are lost, as bars."""
        from simkit.analysis.plots.charts import operation_bars

        return operation_bars(self.workloads(), name=self.name, ax=ax)
