"""The authorizer says what kube-apiserver said, question by question."""

from __future__ import annotations

from typing import Any

from simkit.engine.authz.rbac import RBACAuthorizer
from simkit.logic.authorizers.union import PrivilegedGroups, UnionAuthorizer
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.identity import MASTERS, Identity
from simkit.seams import RuleList
from tests.conformance.recordings import access_worlds
from tests.logic.rbac.naive import complaint, reasons, unordered
from tests.logic.rbac.worlds import World, empty_cluster, impersonated, recorded_lines, recorded_objects
from tests.shared import needs_shared


def authorizer(world: World) -> UnionAuthorizer:
    """The authorizers of a server in RBAC mode."""
    return UnionAuthorizer([PrivilegedGroups(), RBACAuthorizer(AccessIndex.of(world))])


def asked(spec: dict[str, Any]) -> Attributes:
    """The question of a SubjectAccessReview's spec."""
    identity = Identity(spec.get("user", ""), tuple(spec.get("groups", ())), spec.get("uid", ""))
    if "nonResourceAttributes" in spec:
        part = spec["nonResourceAttributes"]
        return Attributes(identity, part.get("verb", ""), path=part.get("path", ""), is_resource=False)
    part = spec["resourceAttributes"]
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(identity, *(part.get(name, "") for name in names))


def disagreement(decision: Decision, question: dict[str, Any], world: World) -> str:
    """The fault of a decision; empty if there is none.

    Where several bindings grant, kube-apiserver names any of them: then both reasons must be possible ones.
    """
    status, ask = question["status"], asked(question["spec"])
    if decision.allowed != status["allowed"]:
        return f"{question['spec']}: {decision}"
    if MASTERS in ask.identity.groups:
        possible = {""}
    else:
        allowing, missing = reasons(world, ask)
        possible = set(allowing) if decision.allowed else {complaint(missing)}
    for reason in (decision.reason, status.get("reason", ""), *question.get("reasonsSeen", ())):
        if unordered(reason) not in possible:
            return f"{question['spec']}: {reason!r} is none of {possible}"
    return ""


def same_rules(answer: RuleList, status: dict[str, Any]) -> bool:
    """True if two rules reviews are equal; kube-apiserver lists bindings in no order."""

    def unordered(rules: Any) -> list[str]:
        return sorted(map(repr, rules))

    return (
        unordered(answer.resource_rules) == unordered(status["resourceRules"])
        and unordered(answer.path_rules) == unordered(status["nonResourceRules"])
        and answer.incomplete == status["incomplete"]
        and answer.error == status.get("evaluationError", "")
    )


def test_recorded_worlds() -> None:
    """Every question about 36 small worlds is answered as kube-apiserver did, with a reason it could have given."""
    wrong, count = [], 0
    for line in access_worlds():
        world = World([*empty_cluster(), *line["world"]["objects"]])
        union = authorizer(world)
        for question in line["questions"]:
            if "error" not in question:
                count += 1
                wrong.append(disagreement(union.authorize(asked(question["spec"])), question, world))
    assert [text for text in wrong if text] == []
    assert count == 3938


def test_recorded_rules_reviews() -> None:
    """Rules reviews list the same rules, and name the same missing roles."""
    wrong = []
    for line in access_worlds():
        world = World([*empty_cluster(), *line["world"]["objects"]])
        union = authorizer(world)
        for review in line["rulesReviews"]:
            identity = impersonated(review["user"], review["impersonatedGroups"])
            answer = union.rules_for(identity, review["spec"]["namespace"])
            if not same_rules(answer, review["status"]):
                wrong.append((review["user"], review["spec"], answer, review["status"]))
    assert wrong == []


@needs_shared
def test_recorded_big_cluster() -> None:
    """Every question about the cluster with 25 installed products is answered as kube-apiserver did."""
    world = World(recorded_objects("operators-and-teams.json.gz"))
    union = authorizer(world)
    lines = list(recorded_lines("operators-and-teams-answers.jsonl.gz"))
    wrong = [disagreement(union.authorize(asked(line["spec"])), line, world) for line in lines]
    assert [text for text in wrong if text] == []
    assert len(lines) == 1500
