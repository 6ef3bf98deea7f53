"""Proofs of what must never, and of what must always be possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from simkit.analysis.access.undecided import unknown_holders
from simkit.analysis.caveats import with_caveats
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, ProofAnswer, scope_caveats, undecided
from simkit.analysis.prove.permission import (
    AccessCounterexample,
    AskedPermission,
    ReviewedSide,
    claim_of,
    holders,
    is_excepted,
    reproduced,
)
from simkit.analysis.prove.reachable import never_reached
from simkit.analysis.rbac.index import NO_MEMBERS, chain_of, index_of
from simkit.analysis.rbac.subject import Members, identity_of, parse_subject, text_of
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import first_of
from simkit.meta.errors import SimkitError
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("case", "subject", "request", "reason", "executed")
MOST_EXECUTED: Final = 1_000
"""The counterexamples that are executed and listed."""


def never(
    snapshot: Snapshot,
    goal: Goal | str,
    *,
    except_: Iterable[str] | str = (),
    within_hops: int = 0,
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that nobody has a permission or reaches a goal, except those who may.

    Parameters
    ----------
    goal
        A permission (``get secrets in payments``, ``exec pods``, ``get /metrics``), or a goal of ``escalations`` such
        as ``cluster-admin``. A permission is meant on any object, even if it is granted for a single one.
    except_
        Who may: texts as ``parse_subject`` reads them, with ``*`` for any part (``group:platform-*``,
        ``sa:kube-system/*``). Who is in such a group may, too.
    within_hops
        Also follow so many escalation steps.
    members
        The members of groups that the cluster does not keep, for escalation steps.
    sandbox
        The cluster on forks of which counterexamples are executed; without one the authorizers are asked.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with everybody who has it (at most 1,000), or UNKNOWN with the reason. ``to_frame()`` has one row per
        case: case, subject, request, reason, executed.

    Raises
    ------
    UnknownResource, SimkitError
        For words that name no permission and no goal.
    IncompleteSnapshot
        Where roles or bindings were not captured.
    NotReproduced
        Where the server does not confirm a counterexample, which is a fault of simkit.

    Notes
    -----
    Decided for everybody, also for users, groups and nodes that do not exist yet. Members of ``system:masters`` are
    left out: they need no grant, and nothing can stop them.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.never("escalate roles").verdict
    'PASS'
    """
    patterns = (except_,) if isinstance(except_, str) else tuple(except_)
    claim = claim_of(snapshot, goal)
    answer = never_holds(snapshot, claim, except_=patterns, within_hops=within_hops, members=members, sandbox=sandbox)
    return with_caveats(answer, scope_caveats((snapshot,)))


def never_holds(
    snapshot: Snapshot,
    claim: AskedPermission | Goal,
    *,
    except_: Sequence[str],
    within_hops: int = 0,
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> ProofAnswer:
    """The proof that nobody has a permission or reaches a goal: see ``never``."""
    if isinstance(claim, Goal):
        reason = undecided(snapshot)
        answer = ProofAnswer(_never_claim(claim.name, except_), UNKNOWN if reason else PASS, reason)
        goals: tuple[Goal, ...] = (claim,)
    else:
        answer = never_permitted(snapshot, claim, except_=except_, sandbox=sandbox)
        goals = claim.goals if within_hops else ()
    if answer.passed and goals:
        return never_reached(answer, snapshot, goals, except_, within_hops, members or NO_MEMBERS, sandbox)
    return answer


def never_permitted(
    snapshot: Snapshot, permission: AskedPermission, *, except_: Sequence[str], sandbox: Sandbox | None
) -> ProofAnswer:
    """The proof that nobody has a permission without any escalation, except those who may."""
    claim = _never_claim(permission.text, except_)
    reason = undecided(snapshot)
    if reason:
        return ProofAnswer(claim, UNKNOWN, reason)
    found = {(each.subject, each.access): each for each in holders(snapshot, permission, except_)}
    if not found:
        open_ = [one.text for each in permission.questions for one in unknown_holders(index_of(snapshot), each)]
        if open_:
            return ProofAnswer(claim, UNKNOWN, " ".join(dict.fromkeys(open_)))
        allowed = dict.fromkeys(each.subject for each in holders(snapshot, permission))
        may = f" Those who may are {first_of(list(allowed), 5)}." if allowed else ""
        return ProofAnswer(claim, PASS, f"No rule that is bound to anybody else allows it.{may}")
    shown = reproduced(tuple(islice(found.values(), MOST_EXECUTED)), ReviewedSide(sandbox or snapshot, snapshot))
    more = f" {len(found) - 1:,} more cases are listed." if len(found) > 1 else ""
    return ProofAnswer(claim, FAIL, f"{shown[0]}.{more}", shown, table(map(_row, shown), COLUMNS))


def always(
    snapshot: Snapshot, goal: Goal | str, *, by: Iterable[str] | str = (), sandbox: Sandbox | None = None
) -> ProofAnswer:
    """The proof that somebody has a permission, besides the members of ``system:masters``.

    Parameters
    ----------
    goal
        A permission, as for ``never``. Without a namespace it is meant in all of them at once.
    by
        Subjects, or patterns of them, one of which must have it; empty: anybody.
    sandbox
        The cluster on a fork of which the answer is executed.

    Returns
    -------
    ProofAnswer
        PASS with a request that shows it, FAIL with the refused requests of the subjects in ``by``, or UNKNOWN.

    Raises
    ------
    UnknownResource, SimkitError
        For words that name no permission.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.always("get /healthz", by="group:system:authenticated").verdict
    'PASS'
    """
    permission = claim_of(snapshot, goal)
    if isinstance(permission, Goal):
        raise SimkitError(f"always is about a permission, such as 'get pods in shop', and not about {goal!s}")
    return with_caveats(
        always_permitted(snapshot, permission, by=(by,) if isinstance(by, str) else tuple(by), sandbox=sandbox),
        scope_caveats((snapshot,)),
    )


def always_permitted(
    snapshot: Snapshot, permission: AskedPermission, *, by: Sequence[str], sandbox: Sandbox | None
) -> ProofAnswer:
    """The proof that somebody, or one of some subjects, has a permission."""
    claim = f"{' or '.join(by) or 'Somebody'} can always {permission.text}"
    reason = undecided(snapshot)
    if reason:
        return ProofAnswer(claim, UNKNOWN, reason)
    side = ReviewedSide(sandbox or snapshot, snapshot)
    chain = chain_of(snapshot)
    asked = list(_requests(snapshot, permission, by))
    decisions = ((each, chain.authorize(each.access.ask(each.identity))) for each in asked)
    kept = next(((each, decision) for each, decision in decisions if decision.allowed), None)
    if kept is not None:
        (shown,) = reproduced((replace(kept[0], reason=kept[1].reason or kept[0].reason),), side)
        return ProofAnswer(claim, PASS, f"{shown}.", (), table([_row(shown)], COLUMNS))
    refused = reproduced(tuple(_refused(each) for each in asked[:MOST_EXECUTED]), side)
    why = f"{refused[0]}." if refused else "No binding grants it to such a subject."
    return ProofAnswer(claim, FAIL, why, refused, table(map(_row, refused), COLUMNS))


def _requests(snapshot: Snapshot, permission: AskedPermission, by: Sequence[str]) -> Iterator[AccessCounterexample]:
    """The requests one of which must be allowed: those of named subjects, and those of holders that fit a pattern."""
    for text in by:
        if "*" not in text:
            subject = parse_subject(text)
            for question in permission.questions:
                access = Action.of(question)
                yield AccessCounterexample(identity_of(subject), text_of(subject), access, "an authorizer allows it")
    patterns = [text for text in by if "*" in text]
    if patterns or not by:
        for held in holders(snapshot, permission):
            if (not by or is_excepted(held.identity, held.subject, patterns)) and _is_whole(held.access, permission):
                yield held


def _is_whole(access: Action, permission: AskedPermission) -> bool:
    """True if a request is about as much as the permission: all objects, in all namespaces unless it names one."""
    return any(
        access.name == (question.name or "") and access.namespace == (question.namespace or "")
        for question in permission.questions
    )


def _refused(asked: AccessCounterexample) -> AccessCounterexample:
    identity, holder, access = asked.identity, asked.subject, asked.access
    return AccessCounterexample(identity, holder, access, "no binding grants it", allowed=False)


def _never_claim(what: str, excepted: Sequence[str]) -> str:
    but = f" but {', '.join(excepted)}" if excepted else ""
    return f"Nobody{but} can ever {what}" if " " in what else f"Nobody{but} ever reaches {what}"


def _row(each: AccessCounterexample) -> tuple[Any, ...]:
    case = "allowed" if each.allowed else "refused"
    return (case, each.sender, str(each.access), each.reason, each.executed)
