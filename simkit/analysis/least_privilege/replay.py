"""Replay of a log on a fork with a proposal applied: used access remains, unused access is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from simkit.analysis.least_privilege.change import apply
from simkit.analysis.least_privilege.recorded_access import Action, Use, may
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import identity_of, text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Evidence, InLines
from simkit.logic.rbac.cover import uncovered
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.least_privilege.proposal import Proposal

COLUMNS: Final = ("outcome", "subject", "action", "before", "after")
SAMPLED: Final = 40
"""The number of lost permissions of a subject that are checked."""


@dataclass(frozen=True, repr=False)
class Replay(InLines, Evidence):
    """The decisions on a log after a change. True in a condition if no used access is lost and no refusal is lifted.

    ``broken`` was allowed and is not any more; ``opened`` was denied and is allowed now; ``left`` should have been
    taken away and is allowed still, by other ways.
    """

    asked: int
    broken: tuple[Use, ...]
    opened: tuple[Use, ...]
    taken: int
    left: tuple[Use, ...]

    def __bool__(self) -> bool:
        return not (self.broken or self.opened)

    def to_frame(self) -> pd.DataFrame:
        """One row per unexpected decision: outcome, subject, action, before, after."""
        rows = [("broken", text_of_identity(identity), str(action), True, False) for identity, action in self.broken]
        rows += [("opened", text_of_identity(identity), str(action), False, True) for identity, action in self.opened]
        rows += [("left", text_of_identity(identity), str(action), True, True) for identity, action in self.left]
        return table(rows, COLUMNS)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        verdict = (
            "all of them are still allowed"
            if not self.broken
            else f"{len(self.broken):,} allowed requests are now denied"
        )
        yield f"{self.asked:,} different allowed requests of the log checked again: {verdict}"
        yield f"denied requests that are now allowed: {len(self.opened):,}"
        yield f"{self.taken} of {self.taken + len(self.left)} sampled unused permissions were removed"
        yield from (f"lost: {text_of_identity(identity)} {action}" for identity, action in self.broken[:10])


def replay(proposal: Proposal, sandbox: Sandbox) -> Replay:
    """Apply a proposal on a fork through the handler chain, and check every access request of the log again.

    Raises
    ------
    SimkitError
        Where the fork refuses an object of the proposal.
    """
    fork = sandbox.fork()
    apply(fork, proposal.changes)
    allowed, denied = proposal.usage.allowed, proposal.usage.denied
    was = [key for key in allowed if key not in proposal.usage.ungranted]
    broken = tuple(key for key in tracked(was, "asking for what is in use") if not may(fork, *key))
    opened = tuple(key for key in denied if key not in allowed and may(fork, *key) and not may(sandbox, *key))
    left, taken = [], 0
    for identity, action in _taken_away(proposal):
        if may(fork, identity, action):
            left.append((identity, action))
        else:
            taken += 1
    return Replay(len(was) + len(denied), broken, opened, taken, tuple(left))


def _taken_away(proposal: Proposal) -> Iterator[Use]:
    """Some of the permissions that the subjects have and should lose."""
    index = index_of(proposal.snapshot)
    for subject in proposal.subjects:
        found = 0
        for grant in index.grants_of_subject(subject):
            stays = [*proposal.rules[subject].get("", ()), *proposal.rules[subject].get(grant.namespace, ())]
            for piece in uncovered(stays, grant.rules):
                if found >= SAMPLED:
                    break
                found += 1
                yield identity_of(subject), Action.of_piece(piece, grant.namespace)
