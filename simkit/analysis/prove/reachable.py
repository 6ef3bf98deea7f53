"""Claims about what can be reached by escalation, within some steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import WELL_KNOWN, Escalations, escalations
from simkit.analysis.prove.answer import FAIL, UNKNOWN, ProofAnswer
from simkit.analysis.prove.permission import is_excepted
from simkit.analysis.rbac.index import MASTERS_GROUP
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.rbac.subject import Members, identity_of, text_of
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted, first_of
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("case", "subject", "goal", "hops", "path", "executed")
MOST_EXECUTED: Final = 10
"""The paths that are executed; one for each subject and goal."""


@dataclass(frozen=True)
class PathCounterexample:
    """An escalation path to something that should be out of reach; its requests were executed on a fork."""

    path: Path
    executed: bool = True

    @property
    def subject(self) -> str:
        """Who starts."""
        return self.path.subject

    @property
    def request(self) -> str:
        """What is reached."""
        return f"reach {self.path.goal}"

    @property
    def reason(self) -> str:
        """The steps in words."""
        return self.path.words

    def __str__(self) -> str:
        return f"{self.path.subject} reaches {self.path.goal}: {self.path.words} ({counted(self.path.hops, 'hop')})"


def nothing_new_reachable(
    answer: ProofAnswer, before: Snapshot | Sandbox, after: Snapshot | Sandbox, hops: int, members: Members
) -> ProofAnswer:
    """The answer that nothing new is allowed, extended to what is reachable within some escalation steps.

    Parameters
    ----------
    answer
        The answer about requests.
    before, after
        The two sides. Paths are executed on a fork of the later one.
    hops
        The number of steps.
    members
        The members of groups that the cluster does not keep.
    """

    def reached(side: Snapshot | Sandbox) -> Escalations:
        snapshot = snapshot_of(side)
        return escalations(
            snapshot, goal=WELL_KNOWN, max_hops=hops, direct=True, include_defaults=True, members=members
        )

    was, now = reached(before), reached(after)
    known = {(path.subject, path.goal.name) for path in was}
    new = [path for path in now if (path.subject, path.goal.name) not in known]
    claim = f"{answer.claim}, and nothing new can be reached within {counted(hops, 'escalation step')}"
    told = f"{answer.why} Within {counted(hops, 'step')}, nobody reaches {', '.join(WELL_KNOWN)} who did not before."
    sandbox = after if isinstance(after, Sandbox) else None
    return _of_paths(replace(answer, claim=claim), new, now.unknown, told, sandbox)


def never_reached(
    answer: ProofAnswer,
    snapshot: Snapshot,
    goals: Iterable[Goal],
    excepted: Sequence[str],
    hops: int,
    members: Members,
    sandbox: Sandbox | None,
) -> ProofAnswer:
    """The answer that nobody has a permission, extended to those who reach a goal within some escalation steps.

    Parameters
    ----------
    answer
        The answer about permissions.
    snapshot
        The cluster.
    goals
        The goals, any of which counts.
    excepted
        Patterns of subjects that may.
    hops
        The number of steps; 0: only who is there at once.
    members
        The members of groups that the cluster does not keep.
    sandbox
        The cluster on forks of which paths are executed.
    """
    found = escalations(snapshot, goal=goals, max_hops=hops, direct=True, include_defaults=True, members=members)
    paths = [path for path in found if not _may(path, excepted)]
    unknown = found.unknown
    steps = f"Within {counted(hops, 'escalation step')}" if hops else "Without any escalation step"
    told = f"{answer.why} {steps}, no known primitive leads anybody else there.".strip()
    return _of_paths(answer, paths, unknown, told, sandbox)


def _may(path: Path, excepted: Sequence[str]) -> bool:
    subject = path.start.subject
    if subject is None:
        return False
    return subject == MASTERS_GROUP or is_excepted(identity_of(subject), text_of(subject), excepted)


def _of_paths(
    answer: ProofAnswer, paths: Sequence[Path], unknown: Sequence[str], told: str, sandbox: Sandbox | None
) -> ProofAnswer:
    """FAIL with the paths that were executed, UNKNOWN where none could be, and else the answer as it was."""
    if not paths:
        if unknown:
            missing = f"Paths through {first_of(list(unknown), 5)} were not searched, which the snapshot does not hold."
            return replace(answer, verdict=UNKNOWN, why=f"{missing} {told}")
        return replace(answer, why=told)
    proven = [path for path in paths[:MOST_EXECUTED] if sandbox is not None and path.prove(sandbox).proven]
    rows = [_row(path, executed=path in proven) for path in (*proven, *(each for each in paths if each not in proven))]
    cases = table(rows, COLUMNS)
    first = PathCounterexample((proven or list(paths))[0])
    if not proven:
        how = "could not be executed to its end" if sandbox is not None else "can be executed on a cluster only"
        more = f" {len(paths) - 1:,} more paths are listed." if len(paths) > 1 else ""
        why = f"{first}. The path was found, and {how}.{more}"
        return replace(answer, verdict=UNKNOWN, why=why, cases=cases)
    more = f" {len(paths) - 1:,} more paths are listed." if len(paths) > 1 else ""
    why = f"{first}. Its requests were executed on a fork.{more}"
    return replace(answer, verdict=FAIL, why=why, counterexamples=tuple(map(PathCounterexample, proven)), cases=cases)


def _row(path: Path, *, executed: bool) -> tuple[str, str, str, int, str, bool]:
    return ("path", path.subject, path.goal.name, path.hops, path.words, executed)
