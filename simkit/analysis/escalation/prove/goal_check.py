"""The end of a proof: a request to the authorizer that shows whether the goal is granted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import role_of
from simkit.analysis.least_privilege.recorded_access import Action, may
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import Identity
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

READING: Final = ("get", "list", "watch", "patch", "deletecollection")
Question = tuple[Action, Identity | None]
"""The attributes of a review, and its subject: the attacker itself if None."""


def goal_question(path: Path, attacker: Attacker, before: Sandbox) -> Question | None:
    """The review that shows that the end of a path was reached; None if that is no access, as with a node's disk."""
    if path.steps and path.steps[-1].variant.check is not None and path.end.kind == states.IMPACT:
        return _others(path, attacker, before)
    if path.end.kind == states.SECRETS:
        return _of_secrets(path)
    if path.goal.question is not None:
        return Action.of(path.goal.question(graph_of(before.snapshot()))), None
    if path.goal.access is not None:
        return path.goal.access, None
    return _at(path, attacker)


def _others(path: Path, attacker: Attacker, before: Sandbox) -> Question | None:
    """The review of access that others gained by the last step."""
    step = path.steps[-1]
    check = step.variant.check
    assert check is not None
    who = identity_of(step.variables["beneficiary"]) if check.by == "beneficiary" else attacker.session.credential.seen
    if not check.gained:
        return Action(check.verb, check.group, check.resource, namespace=step.variables.get("scope", "")), who
    role = before.snapshot().get(CLUSTER_ROLES, step.variables["role"]) or {}
    for access in _accesses(rules_of(role), step.variables.get("scope", "")):
        if not may(before, who, access):
            return access, who
    return None


def _accesses(rules: tuple[Rule, ...], namespace: str) -> Iterator[Action]:
    """Single actions about resources that some rules allow."""
    pieces = (piece for rule in rules for piece in breakdown(rule) if piece.resources)
    return (Action.of_piece(piece, namespace) for piece in pieces)


def _of_secrets(path: Path) -> Question | None:
    """The verb by which secrets were read; None if a pod of the attacker mounted them, as the answer showed."""
    for permission in path.steps[-1].edge.permissions if path.steps else ():
        if permission.resource == "secrets" and permission.verb in READING:
            where = SYSTEM_NAMESPACE if path.end.namespace == states.ALL else path.end.namespace
            return Action(permission.verb, "", "secrets", "", where, path.end.name), None
    return None


def _at(path: Path, attacker: Attacker) -> Question | None:
    """The review of the access at the end of the path, if that is access."""
    end = path.end
    where = "" if end.namespace == states.ALL else end.namespace
    if end.kind == states.EVERYTHING:
        return Action("*", "*", "*"), None
    if end.kind == states.NAMESPACE and where:
        return Action("*", "*", "*", namespace=where), None
    if end.kind == states.RULES:
        rules = attacker.rules_of_role(role_of(end))
        return next(((access, None) for access in _accesses(rules, where)), None)
    return None
