"""The answer of a fleet: one table with a column for the cluster, and the clusters that gave none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import Result
from simkit.meta.visible_text import html_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Failure:
    """A cluster that could not be asked, with the reason."""

    cluster: str
    reason: str


class FleetAnswer(Result):
    """The rows of all clusters together.

    Attributes
    ----------
    clusters
        The clusters that answered, in the order of the fleet.
    failures
        The others. One that fails does not keep the rest from answering.
    """

    def __init__(self, frame: pd.DataFrame, clusters: Sequence[str], failures: Sequence[Failure]) -> None:
        self._frame, self.clusters, self.failures = frame, tuple(clusters), tuple(failures)

    def __len__(self) -> int:
        return len(self._frame)

    def to_frame(self) -> pd.DataFrame:
        """One row for each row of each cluster: cluster, and the columns of the question."""
        return self._frame

    def failed(self) -> pd.DataFrame:
        """One row for each cluster that gave no answer: cluster, reason."""
        return ReadableFrame([(each.cluster, each.reason) for each in self.failures], columns=["cluster", "reason"])

    def summary(self) -> pd.DataFrame:
        """One row for each cluster: cluster, rows (none where it failed), reason (empty where it answered)."""
        counts: Mapping[Any, int] = self._frame["cluster"].value_counts().to_dict() if len(self._frame) else {}
        rows: list[tuple[str, int | None, str]] = [(name, int(counts.get(name, 0)), "") for name in self.clusters]
        rows += [(each.cluster, None, each.reason) for each in self.failures]
        return ReadableFrame(rows, columns=["cluster", "rows", "reason"])

    def __repr__(self) -> str:
        failed = f"; {len(self.failures)} failed" if self.failures else ""
        return f"<{len(self)} rows of {len(self.clusters)} clusters{failed}>"

    def _repr_html_(self) -> str:
        return f"<p>{html_text(repr(self))}</p>{ReadableFrame(self.summary())._repr_html_()}"
