"""Grants that match a primitive and are harmless: no object to use them on exists, or they give nothing new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE, MetRequirement
from simkit.analysis.escalation.find.matching import Edge, Holder, VariantMatch, enables_escalation, without_rbac_rules
from simkit.analysis.escalation.find.outcomes import masks
from simkit.analysis.escalation.find.states import ALL, AttackState, role_of
from simkit.analysis.escalation.table.primitive import Primitive
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import SERVICE_ACCOUNTS
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import MASTERS
from simkit.meta.names import GroupResource

THINGS: Final = ("operator", "operator-workload", "policy-parameters", "webhook-namespace", "released-volume")
"""Conditions on objects without which the grants have no effect."""
NOT_HELD: Final = "it holds no rules that an aggregated role could pass on to others"
NOTHING_THERE: Final = "the cluster has nothing to use it on"
NO_GAIN: Final = "the identities that it leads to have no permission that leads further"
NO_USERS: Final = "impersonating a service account needs impersonate on serviceaccounts, not on users"
HARM: Final = (states.IMPACT, states.PODS)
"""Outcomes that exist without any object: harm, and sets of pods."""
NOT_MISSED: Final = "no binding refers to a missing role or service account of these names"
NOT_FREE: Final = "objects of all the allowed names exist already"


def why_harmless(graph: EscalationGraph, holder: Holder, primitive: Primitive, found: Iterable[VariantMatch]) -> str:
    """The reason why a primitive whose requirements are met is harmless; empty if it is not."""
    matches, edges = list(found), list(graph.uses.edges(holder, primitive))
    if primitive.harmless_where == "nothing-is-missing":
        return NOT_MISSED if not edges and all(_limited(one, "role", "account") for one in matches) else ""
    if not edges and all(_limited(one, "made") for one in matches):
        return NOT_FREE
    if primitive.harmless_where == "nothing-to-share":
        return "" if edges or enables_escalation(without_rbac_rules(holder.wide_rules), graph.release) else NOT_HELD
    if primitive.harmless_where == "roles-lead-nowhere" and edges and not any(_opens(graph, edge) for edge in edges):
        return "the roles that may be bound have no permission that leads further"
    if not edges and _depends(primitive, matches):
        return NOTHING_THERE
    if not edges and matches and all(masks(one) == () for one in matches):
        return NO_USERS
    if edges and all(_limited(one, "user", "group", "account") for one in matches):
        targets = [target for edge in edges for target in _members(graph.facts, edge.target)]
        if not any(_gains(graph, holder, target) for target in targets):
            return NO_GAIN
    if any(edge.target.kind not in HARM for edge in edges):
        return ""
    reasons = [_missing(graph.facts, one) or _empty(graph.facts, one) for one in matches]
    return reasons[0] if reasons and all(reasons) else ""


def _depends(primitive: Primitive, matches: Iterable[VariantMatch]) -> bool:
    """True if the grants are dangerous only together with certain objects."""
    return primitive.kind in ("impact", "composite") and all(one.variant.condition in THINGS for one in matches)


def _members(facts: ClusterFacts, place: AttackState) -> Iterable[AttackState]:
    return [target for target, _ in facts.members(place)] if place.kind == states.SET else (place,)


def _gains(graph: EscalationGraph, holder: Holder, place: AttackState) -> bool:
    """True if the new identity has rules that lead further than the present ones."""
    if place.subject is None:
        return True
    other = graph.holder(place)
    assert other is not None
    grants = (one for who in other.principals - holder.principals for one in graph.facts.index.grants_of_subject(who))
    return place.subject.name == MASTERS or enables_escalation(
        tuple(rule for one in grants for rule in one.rules), graph.release
    )


def _limited(match: VariantMatch, *labels: str) -> bool:
    """True if the requirements with one of some labels are met for single names only."""
    return any(match.names(label) is not None for label in labels)


def _opens(graph: EscalationGraph, edge: Edge) -> bool:
    """True if a step leads to more than the rules of a role, or to rules that lead further."""
    place = edge.target
    if place.kind != states.RULES or place.namespace == ALL:
        return True
    return enables_escalation(graph.facts.index.rules(role_of(place)) or (), graph.release)


def _missing(facts: ClusterFacts, match: VariantMatch) -> str:
    """The object names that the rules limit a requirement to, if none of those objects exists."""
    for met in match.met:
        made = met.requirement.any_of[0].permission.nameless  # by an apply, under a name that is free
        names = None if met.requirement.names or made else met.names(match.namespace)
        if names is not None and not any(_is_there(facts, met, match.namespace, name) for name in names):
            what = met.requirement.any_of[0].permission.resource.partition("/")[0]
            return f"the rule is limited to {what} that do not exist: {', '.join(names)}"
    return ""


def _empty(facts: ClusterFacts, match: VariantMatch) -> str:
    """The namespace, if the grants concern existing objects and the namespace has none."""
    namespace = match.namespace
    makes = (one.permission.nameless for met in match.met for one in met.requirement.any_of)
    if namespace == EVERYWHERE or any(makes) or not facts.is_empty(namespace):
        return ""
    return f"namespace {namespace} is empty"


def _is_there(facts: ClusterFacts, met: MetRequirement, namespace: str, name: str) -> bool:
    """True if an object of the name exists, or may exist because its resource was not captured."""
    return any(
        _has(facts, permission, namespace, name)
        for permission, hold in met.holds(namespace)
        if hold.names is not None and name in hold.names
    )


def _has(facts: ClusterFacts, permission: Permission, namespace: str, name: str) -> bool:
    plural = permission.resource.partition("/")[0]
    resource = GroupResource(permission.group, plural)
    if plural in AUTHORIZATION_RESOURCES or resource not in facts.snapshot.captured():
        return True
    if namespace == SYSTEM_NAMESPACE and not facts.pods_in(namespace):
        return True  # no cluster is without pods there: what is missing was not made by whoever would
    places = ("", *facts.enforced) if namespace in ("", EVERYWHERE) else ("", namespace)
    if resource == SERVICE_ACCOUNTS and any(one.name == name for place in places for one in facts.named(place)):
        return True  # somebody has bound it already, and will make it
    return any(facts.get(resource, name, place) is not None for place in places)
