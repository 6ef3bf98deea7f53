"""The question for a plan: the best few changes, all that are needed, or those that cost nothing which is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.cut.cutter import Candidate, Cutter
from simkit.analysis.escalation.cut.removal import RemovePermissions
from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.least_privilege.usage import usage
from simkit.analysis.plan.candidates import SURELY
from simkit.analysis.plan.greedy import Question, Round, first_round, next_change
from simkit.analysis.plan.result import HARMS, PlanStep, RemediationPlan
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.subject import Members, parse_subject, several
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError
from simkit.meta.python_gc import collection_paused
from simkit.seams.snapshot import Sandbox, Snapshot

BEST: Final = 5


@about_access()
def remediation_plan(
    snapshot: Snapshot,
    *,
    goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
    best: int | None = 5,
    free: bool = False,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    audit_log: AuditLog | None = None,
    keep: Iterable[Subject | str] = (),
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> RemediationPlan:
    """The changes that close the most escalation paths, in the order in which to make them.

    Changes are subjects taken out of bindings, permissions taken out of rules, subjects reduced to what they use, and
    levels of pod security. Those that break nothing which is used come first.

    Parameters
    ----------
    goal
        What the paths are for: see ``parse_goal``.
    best
        How many changes at most; None: all that are needed until no path is left that changes can close.
    free
        Whether to propose only changes that take away nothing which is used: according to the audit log, or without one
        the access of accounts that pods run as and of installed products.
    subject
        Whose paths are to be closed: one subject or several; None for everybody's.
    audit_log
        An audit log: what it shows in use.
    keep
        Subjects whose access is not touched.
    members
        Groups that the cluster does not keep, as for ``who_can``.
    sandbox
        Where the plan shall be verified: ``cluster.remediation_plan`` gives the cluster itself.

    Returns
    -------
    RemediationPlan
        ``.to_frame()`` has one row per change, in order: step, change, kind, object, namespace, closes (paths),
        remaining (paths), subjects and findings (that remain), cumulative_share (of all paths), breaks (texts: what is
        used and lost), harm, loses (permissions, by what-if), cost, risk, command. More changes than
        ``.diminishing_after`` bring little; ``.verify()`` makes them on a fork.

    Raises
    ------
    SimkitError
        For a text that is no subject or no goal, for ``best`` below 1, and for an audit log that is not there.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    Greedy, with lazy evaluation: each step takes the change after which the fewest paths are left in the cluster as it
    would be. With ``best=None`` the steps are those of the cheapest cut of all goals together, and the order is greedy.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.remediation_plan())
    0
    """
    if best is not None and best < 1:
        raise SimkitError(f"best is {best}; write 1 or more, or None for all changes")
    members = members_in(snapshot, members)
    goals = tuple(parse_goal(one) for one in ([goal] if isinstance(goal, Goal | str) else goal))
    used = dict(usage(snapshot, audit_log).allowed) if audit_log is not None else {}
    kept = frozenset(map(parse_subject, keep))
    listed = None if subject is None else several(subject)
    asked = Question(goals, listed, kept, used, audit_log is not None, members)
    first = Round(snapshot, asked) if best is None else first_round(snapshot, asked)
    with collection_paused():
        chosen = _needed(first, audit_log) if best is None else None
        steps, last = _steps(first, best, free, chosen)
    return RemediationPlan(
        *(tuple(one.name for one in goals), tuple(steps), len(first.paths), len(first.subjects), first.findings),
        last.paths,
        with_log=audit_log is not None,
        used=tuple(used),
        members=members,
        snapshot=snapshot,
        sandbox=sandbox,
        chosen_subjects=listed,
    )


def _steps(first: Round, best: int | None, free: bool, chosen: set[Candidate] | None) -> tuple[list[PlanStep], Round]:
    now, steps = first, list[PlanStep]()
    while now.paths and (best is None or len(steps) < best):
        left = None if best is None else best - len(steps)
        found = next_change(now, free=free, left=left) if chosen is None else _next_of(now, chosen, free)
        if found is None:
            break
        one, then = found
        steps.append(_step(len(steps) + 1, now, one, then))
        now = then
        if chosen is not None and isinstance(one, RemovePermissions):
            of_role = {each for each in chosen if each.key == one.role}  # as they are to be made after this one
            chosen = (chosen - of_role).union(*map(now.candidates.moved, of_role))
    return steps, now


def _step(number: int, now: Round, one: Candidate, then: Round) -> PlanStep:
    open_still = {(path.start, path.goal.name) for path in then.paths}
    closed = tuple(path for path in now.paths if (path.start, path.goal.name) not in open_still)
    return PlanStep(
        *(number, one, now.candidates.remedy(one), len(now.paths) - len(then.paths), closed, len(then.paths)),
        *(len(then.subjects), then.findings, now.candidates.breaks(one)),
        HARMS[now.candidates.harm(one)],
        now.candidates.cost(one),
    )


def _needed(first: Round, audit_log: AuditLog | None) -> set[Candidate]:
    """The cheapest changes that close all paths to all goals."""
    asked = first.question
    cutter = Cutter(first.snapshot, asked.goals, audit_log, asked.keep, asked.members, first.candidates.of)
    return set(cutter.run(asked.sources, direct=False).changes)


def _next_of(now: Round, chosen: set[Candidate], free: bool) -> tuple[Candidate, Round] | None:
    """Of changes that are all needed the one that closes the most, those that break something last."""
    harmless = (one for one in chosen if now.candidates.harm(one) < (1 if free else SURELY))
    options = sorted(harmless, key=str) or sorted(() if free else chosen, key=str)
    if not options:
        return None
    one = closing_most(now, options)
    chosen.discard(one)
    return one, now.after(one)


def closing_most(now: Round, options: Sequence[Candidate]) -> Candidate:
    """The first of the options that close the most; those that lie on fewer paths than that are not looked at."""
    bounds = now.open_paths.candidates_of(now.paths)
    best, closes = 0, 0
    for number in sorted(range(len(options)), key=lambda number: (-bounds[options[number]], number)):
        bound = bounds[options[number]]
        if bound < closes or (bound == closes and number > best):
            continue
        found = now.modelled([options[number]]) if bound else 0
        if found > closes or (found == closes and number < best):
            best, closes = number, found
    return options[best]
