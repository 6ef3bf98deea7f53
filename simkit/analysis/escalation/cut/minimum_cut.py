"""The cheapest changes that close all paths to a goal and keep the access in use, and their verification on a fork."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.caveats import about_access, with_caveats
from simkit.analysis.escalation.cut.cutter import Chosen, Cutter
from simkit.analysis.escalation.cut.policies import EnforceLevel
from simkit.analysis.escalation.cut.remedy import ObjectChanges
from simkit.analysis.escalation.cut.removal import Removal
from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations, granted_by_defaults
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.prove.proof import Proof, by_outcome
from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.least_privilege.recorded_access import Use, may
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.subject import Members, parse_subject
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Evidence, InLines
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

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
        outcomes = {"still work": self.still_proven, "refused": self.refused, "not executed": self.not_executed}
        told = [f"{len(proofs):,} {words}" for words, proofs in outcomes.items() if proofs]
        return f"closed paths tried again: {', '.join(told) or 'none'}"


def retry(fork: Sandbox, closed: Iterable[Path], in_use: Iterable[Use], members: Members) -> Retried:
    """Execute closed paths again on a fork with changes, and ask for what is in use."""
    proofs = [path.prove(fork, members=members) for path in tracked(closed, "executing closed paths")]
    asked = tracked(in_use, "asking for what is in use")
    return Retried(*by_outcome(proofs), tuple(use for use in asked if not may(fork, *use)))


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
        yield f"open paths: {len(self.open_paths) or 'none'}"
        yield self.executed_again
        if self.asked:
            yield f"requests in use that are refused now: {len(self.lost):,} of {self.asked:,}"


def verify(made: Cut, sandbox: Sandbox) -> Verified:
    """Make the changes of a cut on a fork as an administrator, search for paths, and execute closed paths again."""
    fork = sandbox.fork()
    apply(fork, made.changes)
    left = {path.start for path in made.left}
    starts = [place.subject for place in made.starts if place not in left and place.subject is not None]
    snapshot = fork.snapshot()
    hidden = granted_by_defaults(graph_of(snapshot, made.members))
    listed = escalations(snapshot, starts, goal=made.goal, members=made.members) if starts else ()
    found = [path for path in listed if not hidden(path.start, path.edges)]
    before = [use for use in tracked(made.used, "asking for what is in use") if may(sandbox, *use)]
    again = retry(fork, made.closed[:REPROVED], before, made.members)
    return Verified(**vars(again), open_paths=tuple(found), asked=len(before))


COLUMNS: Final = ("change", "kind", "object", "namespace", "cost", "closes", "subjects")


@dataclass(frozen=True, repr=False)
class Cut(ObjectChanges, InLines):
    """Changes that close paths to a goal.

    ``left`` are paths that nothing which may be taken away would close; ``exact`` says that no cheaper cut exists.
    """

    goal: Goal
    removals: tuple[Removal, ...]
    costs: Mapping[Removal, float]
    closed: tuple[Path, ...]
    left: tuple[Path, ...]
    exact: bool
    snapshot: Snapshot = field(compare=False)
    changes: tuple[Change, ...]
    used: Mapping[Use, int] = field(default_factory=dict)
    starts: tuple[AttackState, ...] = ()
    members: Members = field(compare=False, default_factory=dict)
    closed_by: Mapping[Path, frozenset[Removal]] = field(compare=False, default_factory=dict)
    """The removals that would close each of the paths."""
    sandbox: Sandbox | None = field(compare=False, default=None)
    """The sandbox that verifies it by default."""

    def __len__(self) -> int:
        return len(self.removals)

    @property
    def cost(self) -> float:
        """The access that the cut takes: single permissions times subjects, plus one for each change."""
        return sum(self.costs[one] for one in self.removals)

    def to_frame(self) -> pd.DataFrame:
        """One row per change: change (in words), kind, object, namespace, cost, closes (paths), subjects (of them)."""
        rows = []
        for one in self.removals:
            paths = [path for path in self.closed if one in self.closed_by[path]]
            subjects = {path.subject for path in paths}
            place = one.key.name, one.key.namespace
            rows.append((str(one), one.kind, *place, self.costs[one], len(paths), len(subjects)))
        return table(rows, COLUMNS)

    def verify(self, sandbox: Sandbox | None = None) -> Verified:
        """Make the changes on a fork and check that no path is left and nothing in use is lost."""
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a cut is verified on a cluster: cut.verify(simkit.load(...))")
        return verify(self, where)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        how = "the cheapest cut" if self.exact else "a cut"
        yield f"{how} of all paths to {self.goal}: {counted(len(self.removals), 'change')}, cost {self.cost:g}"
        for one in self.removals:
            yield f"{one} (cost {self.costs[one]:g})"
        for path in self.left:
            yield f"left open: {path.subject}: {path.words}"


@about_access()
def cut(
    snapshot: Snapshot,
    goal: Goal | str = "cluster-admin",
    *,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    audit_log: AuditLog | None = None,
    keep: Iterable[Subject | str] = (),
    direct: bool = False,
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> Cut:
    """The cheapest set of changes after which no untrusted subject reaches a goal.

    Parameters
    ----------
    goal
        See ``parse_goal``.
    subject
        Whose paths are to be closed: one subject or several; None for everybody but the control plane and those who
        have the goal already.
    audit_log
        An audit log: access that it shows in use is not taken away. Where a path can only be closed by a binding in
        use, its subject is left with just what it uses.
    keep
        Subjects whose access is not touched.
    direct
        Whether those who have the goal without a step are to lose it too.
    sandbox
        Where the cut shall be verified: ``cluster.cut`` gives the cluster itself.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    Cut
        Subjects taken out of bindings and permissions taken out of rules, weighed by the access that others lose with
        them. Bindings and roles that the server makes itself are not touched.

    Raises
    ------
    SimkitError
        For a text that is no subject or no goal, and for an audit log that is not there.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    A minimum cut with weights: paths are found, a cheapest set that meets all of them is chosen, and paths are looked
    for again, until none is left. Each step of a path may be closed at any of its needs, and a need that several
    grants meet is closed when all of them are.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.cut("cluster-admin"))
    0
    """
    members = members_in(snapshot, members)
    wanted = parse_goal(goal)
    cutter = Cutter(snapshot, (wanted,), audit_log, frozenset(map(parse_subject, keep)), members)
    found = replace(_cut(cutter, cutter.run(subject, direct=direct)), sandbox=sandbox)
    return with_caveats(found, cutter.graph.facts.caveats)


def _cut(cutter: Cutter, found: Chosen) -> Cut:
    ways = {
        path: frozenset(one for one in some if not isinstance(one, EnforceLevel))
        for path, some in cutter.closed().items()
    }
    closing = Counter(one for some in ways.values() for one in some)
    chosen = (one for one in found.changes if not isinstance(one, EnforceLevel))
    removals = tuple(sorted(chosen, key=lambda one: (-closing[one], str(one))))
    return Cut(
        *(cutter.goals[0], removals, {one: cutter.cost(one) for one in removals}, tuple(ways)),
        *(tuple(cutter.left.values()), found.exact, cutter.snapshot, cutter.changes(removals)),
        used=cutter.used,
        starts=tuple(state for _, state in found.starts),
        members=cutter.members,
        closed_by=ways,
    )
