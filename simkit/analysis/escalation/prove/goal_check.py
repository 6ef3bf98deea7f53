"""The end of a proof: a request to the authorizer that shows whether the goal is granted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.goal import AccessQuestion, access_of
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import role_of
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.domain import AUTHORIZATION_GROUP, SYSTEM_NAMESPACE
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

READING: Final = ("get", "list", "watch", "patch", "deletecollection")
Question = tuple[AccessQuestion, Identity | None]
"""The attributes of a review, and its subject: the attacker itself if None."""


def goal_question(path: Path, attacker: Attacker, before: Sandbox) -> Question | None:
    """The review that shows that the end of a path was reached; None if that is no access, as with a node's disk."""
    if path.steps and path.steps[-1].variant.check is not None and path.end.kind == states.IMPACT:
        return _others(path, attacker, before)
    if path.end.kind == states.SECRETS:
        return _of_secrets(path)
    if path.goal.question is not None:
        return access_of(path.goal.question(graph_of(before.snapshot()))), None
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
        return AccessQuestion(check.verb, check.resource, check.group, step.variables.get("scope", "")), who
    role = before.snapshot().get(CLUSTER_ROLES, step.variables["role"]) or {}
    for access in _accesses(rules_of(role), step.variables.get("scope", "")):
        if not allowed(before, access, who):
            return access, who
    return None


def _accesses(rules: tuple[Rule, ...], namespace: str) -> Iterator[AccessQuestion]:
    for rule in rules:
        for piece in breakdown(rule):
            if piece.resources:
                plural, _, subresource = piece.resources[0].partition("/")
                name = piece.resource_names[0] if piece.resource_names else ""
                yield AccessQuestion(piece.verbs[0], plural, piece.api_groups[0], namespace, name, subresource)


def _of_secrets(path: Path) -> Question | None:
    """The verb by which secrets were read; None if a pod of the attacker mounted them, as the answer showed."""
    for permission in path.steps[-1].edge.permissions if path.steps else ():
        if permission.resource == "secrets" and permission.verb in READING:
            where = SYSTEM_NAMESPACE if path.end.namespace == states.ALL else path.end.namespace
            return AccessQuestion(permission.verb, "secrets", "", where, path.end.name), None
    return None


def _at(path: Path, attacker: Attacker) -> Question | None:
    """The review of the access at the end of the path, if that is access."""
    end = path.end
    where = "" if end.namespace == states.ALL else end.namespace
    if end.kind == states.EVERYTHING:
        return AccessQuestion("*", "*", "*"), None
    if end.kind == states.NAMESPACE and where:
        return AccessQuestion("*", "*", "*", where), None
    if end.kind == states.RULES:
        rules = attacker.rules_of_role(role_of(end))
        return next(((access, None) for access in _accesses(rules, where)), None)
    return None


def review(access: AccessQuestion, identity: Identity | None = None) -> tuple[str, dict[str, Any]]:
    """The path and body of a review: by oneself, or about a subject."""
    if access.url:
        spec: dict[str, Any] = {"nonResourceAttributes": {"verb": access.verb, "path": access.url}}
    else:
        spec = {"resourceAttributes": _attributes(access)}
    kind = "SelfSubjectAccessReview"
    if identity is not None:
        kind = "SubjectAccessReview"
        spec |= {"user": identity.user, "groups": list(identity.groups)}
    body = {"apiVersion": f"{AUTHORIZATION_GROUP}/v1", "kind": kind, "spec": spec}
    return f"/apis/{AUTHORIZATION_GROUP}/v1/{kind.lower()}s", body


def _attributes(access: AccessQuestion) -> dict[str, str]:
    attributes = {
        "verb": access.verb,
        "resource": access.resource,
        "group": access.group,
        "namespace": access.namespace,
        "name": access.name,
        "subresource": access.subresource,
    }
    return {key: value for key, value in attributes.items() if value}


def allowed(sandbox: Sandbox, access: AccessQuestion, identity: Identity) -> bool:
    """True if the authorizer of a cluster allows it for an identity."""
    path, body = review(access, identity)
    answer = sandbox.perform(Request.of("POST", path, body), identity=administrator())
    status: Mapping[str, Any] = (answer.object or {}).get("status") or {} if answer.succeeded else {}
    return bool(status.get("allowed"))
