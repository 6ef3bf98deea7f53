"""The cheapest changes that close all paths to a goal and keep the access that a log shows in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.cut.cutter import Chosen, Cutter, Policy
from simkit.analysis.escalation.cut.result import Cut
from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.subject import Members, parse_subject
from simkit.logic.rbac.binding import Subject
from simkit.seams.snapshot import Sandbox, Snapshot


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
    members = members or NO_MEMBERS
    wanted = parse_goal(goal)
    cutter = Cutter(snapshot, (wanted,), audit_log, frozenset(map(parse_subject, keep)), members)
    return replace(_cut(cutter, cutter.run(subject, direct=direct)), sandbox=sandbox)


def _cut(cutter: Cutter, found: Chosen) -> Cut:
    ways = {
        path: frozenset(one for one in some if not isinstance(one, Policy)) for path, some in cutter.closed().items()
    }
    closing = Counter(one for some in ways.values() for one in some)
    chosen = (one for one in found.changes if not isinstance(one, Policy))
    removals = tuple(sorted(chosen, key=lambda one: (-closing[one], str(one))))
    return Cut(
        *(cutter.goals[0], removals, {one: cutter.cost(one) for one in removals}, tuple(ways)),
        *(tuple(cutter.left.values()), found.exact, cutter.snapshot, cutter.changes(removals)),
        used=cutter.used,
        starts=tuple(state for _, state in found.starts),
        members=cutter.members,
        closed_by=ways,
    )
