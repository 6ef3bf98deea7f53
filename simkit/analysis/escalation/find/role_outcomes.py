"""Outcomes that are roles: bound, taken over, or written anew."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import Holder, VariantMatch
from simkit.analysis.escalation.find.outcome import Outcome, Reached, Variables, any_of, named, namespaces_of_match
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, AttackState, rules_state
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES, Binding
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.rule import Rule
from simkit.meta.names import Key


def is_everything(rules: tuple[Rule, ...]) -> bool:
    """True if rules allow every verb on every resource."""
    return covers(rules, EVERYTHING[:1])


def _role_names(match: VariantMatch, facts: ClusterFacts, every: str) -> tuple[str, ...]:
    names = match.names("role")
    if names is None:
        return (every,)
    return tuple(name for name in names if facts.rules(Key(CLUSTER_ROLES, "", name)) is not None)


def cluster_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    for name in _role_names(match, facts, "cluster-admin"):
        yield _with_role(facts, Key(CLUSTER_ROLES, "", name), ""), {"role": name, "role_kind": "ClusterRole"}


def cluster_role_in_namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    for name in _role_names(match, facts, "cluster-admin"):
        target = _with_role(facts, Key(CLUSTER_ROLES, "", name), match.namespace)
        yield target, {"role": name, "role_kind": "ClusterRole"}


def _with_role(facts: ClusterFacts, role: Key, scope: str) -> AttackState:
    """The state of having a role in a namespace; full control of it, if the role allows everything."""
    rules = facts.rules(role) or ()
    if not is_everything(rules):
        return rules_state(role, scope)
    return AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN


def role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("role")
    if names is None:
        yield AttackState(states.ROLES_OF, namespace=match.namespace), {"role_kind": "Role"}
        return

    def members() -> Reached:
        for namespace in namespaces_of_match(facts, match):
            for name in names:
                role = Key(ROLES, namespace, name)
                if facts.rules(role) is not None:
                    variables = {"role": name, "role_kind": "Role", "namespace": namespace}
                    yield _with_role(facts, role, namespace), variables

    yield from any_of(facts, match, f"the rules of a role{named(match, 'role')}", members, "role")


def _bindings(facts: ClusterFacts, match: VariantMatch, *, cluster: bool) -> Iterator[Binding]:
    """Existing bindings that may be changed, and whose role may be bound."""
    plural = match.met[1].requirement.any_of[0].permission.resource
    where = [""] if cluster else [place for place in facts.places_with_bindings if place]
    if not cluster and match.namespace != EVERYWHERE:
        where = [match.namespace]
    for binding in (one for place in where for one in facts.bindings_in(place)):
        if binding.role.resource.resource != plural:
            continue
        if match.allows("binding", binding.key.name) and match.allows("role", binding.role.name):
            yield binding


def bound(*, cluster: bool) -> Outcome:
    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
        def members() -> Reached:
            yield from _bound_roles(facts, match, cluster=cluster)

        plural = match.met[1].requirement.any_of[0].permission.resource
        where = "of the cluster" if cluster else "of any namespace"
        bindings, roles = named(match, "binding"), named(match, "role")
        title = f"what a binding{bindings} {where} grants through {plural}{roles}"
        yield from any_of(facts, match, title, members, "binding", "role")

    return found


def _bound_roles(facts: ClusterFacts, match: VariantMatch, *, cluster: bool) -> Reached:
    """The outcomes of the bindings that may be changed, each once; only full control if that is among them."""
    best: dict[AttackState, Binding] = {}
    for binding in _bindings(facts, match, cluster=cluster):
        if facts.rules(binding.role):
            best.setdefault(_with_role(facts, binding.role, binding.namespace), binding)
    chosen = {CLUSTER_ADMIN: best[CLUSTER_ADMIN]} if CLUSTER_ADMIN in best else best
    for target, binding in chosen.items():
        kind = "ClusterRole" if binding.role.resource == CLUSTER_ROLES else "Role"
        where = {} if cluster else {"namespace": binding.namespace}
        yield target, {"binding": binding.key.name, "role": binding.role.name, "role_kind": kind, **where}


def own_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    scope = known.get("scope", "")
    yield (AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN), {}


def orphan_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if known.get("beneficiary"):
        yield AttackState(states.IMPACT, match.primitive.id), {}
    else:
        yield from own_role(facts, holder, match, known)
