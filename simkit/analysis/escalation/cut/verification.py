"""Verification of a cut on a fork: every path is closed, and everything in use is still allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations, granted_by_defaults
from simkit.analysis.escalation.prove.proof import Proof, by_outcome
from simkit.analysis.escalation.prove.verdicts import tally_text
from simkit.analysis.least_privilege.change import apply
from simkit.analysis.least_privilege.recorded_access import Action, may
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Evidence, InLines
from simkit.meta.identity import Identity
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.escalation.cut.minimum_cut import Cut

Use = tuple[Identity, Action]
REPROVED = 25
"""The number of closed paths that are executed again after the cut."""


@dataclass(frozen=True)
class Retried:
    """Closed paths, executed again after changes, by outcome; and the requests in use that are refused by then."""

    still_proven: tuple[Proof, ...]
    refused: tuple[Proof, ...]
    not_executed: tuple[Proof, ...]
    """Closed paths of which executing them again shows nothing."""
    lost: tuple[Use, ...]

    @property
    def executed_again(self) -> str:
        """The numbers of closed paths by outcome, in words."""
        return tally_text((*self.still_proven, *self.refused, *self.not_executed))


def retry(
    fork: Sandbox,
    closed: Iterable[Path],
    in_use: Iterable[Use],
    members: Members,
    is_lost: Callable[[Use], bool] | None = None,
) -> Retried:
    """Execute closed paths again on a fork with changes, and ask for what is in use; ``is_lost`` is a further test."""
    proofs = [path.prove(fork, members=members) for path in tracked(closed, "executing closed paths")]
    asked = tracked(in_use, "asking for what is in use")
    return Retried(
        *by_outcome(proofs),
        tuple(use for use in asked if not may(fork, *use) or (is_lost is not None and is_lost(use))),
    )


@dataclass(frozen=True, repr=False)
class Verified(Retried, InLines, Evidence):
    """The effect of a cut. True in a condition if it closes every path that it promises to and takes nothing in use."""

    open_paths: tuple[Path, ...]
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
        yield f"closed paths, executed again: {self.executed_again}"
        yield f"requests in use that are lost: {len(self.lost):,} of {self.asked:,}"


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
    before = [use for use in tracked(made.used, "asking for what is in use") if may(sandbox, *use)]
    again = retry(fork, made.closed[:REPROVED], before, made.members)
    return Verified(**vars(again), open_paths=tuple(found), asked=len(before))
