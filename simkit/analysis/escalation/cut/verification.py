"""Verification of a cut on a fork: every path is closed, and everything in use is still allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations, granted_by_defaults
from simkit.analysis.escalation.prove.proof import Proof, by_outcome
from simkit.analysis.escalation.prove.verdicts import tally_text
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.least_privilege.replay import apply, may
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import html_lines, text_lines
from simkit.analysis.result import Evidence
from simkit.meta.identity import Identity
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.escalation.cut.result import Cut

REPROVED = 25
"""The number of closed paths that are executed again after the cut."""


@dataclass(frozen=True)
class Verified(Evidence):
    """The effect of a cut. True in a condition if it closes every path that it promises to and takes nothing in use."""

    open_paths: tuple[Path, ...]
    still_proven: tuple[Proof, ...]
    refused: tuple[Proof, ...]
    not_executed: tuple[Proof, ...]
    """Closed paths of which executing them again shows nothing."""
    lost: tuple[tuple[Identity, Action], ...]
    asked: int

    def __bool__(self) -> bool:
        return not (self.open_paths or self.still_proven or self.lost)

    def to_frame(self) -> pd.DataFrame:
        """One row per check: what, count, holds."""
        rows = [
            ("paths that are open", len(self.open_paths), not self.open_paths),
            ("closed paths that still work", len(self.still_proven), not self.still_proven),
            ("closed paths that were refused", len(self.refused), True),
            ("closed paths that were not executed", len(self.not_executed), True),
            ("requests in use that are lost", len(self.lost), not self.lost),
        ]
        return table(rows, ("what", "count", "holds"))

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield "the cut holds" if self else "the cut does not hold"
        yield f"paths that are open: {len(self.open_paths):,}"
        yield f"closed paths, executed again: {tally_text((*self.still_proven, *self.refused, *self.not_executed))}"
        yield f"requests in use that are lost: {len(self.lost):,} of {self.asked:,}"

    def __str__(self) -> str:
        return text_lines(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_lines(self.lines())


def verify(made: Cut, sandbox: Sandbox) -> Verified:
    """Make the changes of a cut on a fork as an administrator, search for paths, and execute closed paths again."""
    fork = sandbox.fork()
    apply(fork, made.changes)
    left = {path.start for path in made.left}
    starts = [place.subject for place in made.starts if place not in left and place.subject is not None]
    snapshot = fork.snapshot()
    hidden = granted_by_defaults(graph_of(snapshot, made.members))
    listed = escalations(snapshot, starts, goal=made.goal, members=made.members) if starts else ()
    found = [path for path in listed if not hidden(path)]
    proofs = [
        path.prove(fork, members=made.members) for path in tracked(made.closed[:REPROVED], "executing closed paths")
    ]
    before = [use for use in tracked(made.used, "asking for what is in use") if may(sandbox, *use)]
    lost = tuple(use for use in tracked(before, "asking again") if not may(fork, *use))
    return Verified(
        tuple(found),
        *by_outcome(proofs),
        lost,
        len(before),
    )
