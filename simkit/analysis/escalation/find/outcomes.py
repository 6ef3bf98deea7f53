"""Outcomes of primitives: each by the word that the table uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.conditions import workloads
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import Holder, VariantMatch
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, AttackState, rules_state, subject_state
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, USER, Binding
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.rule import Rule
from simkit.meta.identity import split_service_account
from simkit.meta.names import GroupResource, Key

Variables = dict[str, str]
Reached = Iterator[tuple[AttackState, Variables]]
Outcome = Callable[[ClusterFacts, Holder, VariantMatch, Variables], Reached]
NODE_PREFIX: Final = "system:node:"
BOOTSTRAPPERS: Final = "system:bootstrappers"
WITHOUT_MASTERS: Final = "without-masters"
FRESH_NAMESPACE: Final = "proof-namespace"


def is_everything(rules: tuple[Rule, ...]) -> bool:
    """True if rules allow every verb on every resource."""
    return covers(rules, EVERYTHING[:1])


def _everything(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield CLUSTER_ADMIN, {}


def _namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if match.namespace != EVERYWHERE:
        yield AttackState(states.NAMESPACE, namespace=match.namespace), {}


def _role_names(match: VariantMatch, facts: ClusterFacts, every: str) -> tuple[str, ...]:
    names = match.names("role")
    if names is None:
        return (every,)
    return tuple(name for name in names if facts.index.rules(Key(CLUSTER_ROLES, "", name)) is not None)


def _cluster_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    for name in _role_names(match, facts, "cluster-admin"):
        yield _with_role(facts, Key(CLUSTER_ROLES, "", name), ""), {"role": name, "role_kind": "ClusterRole"}


def _cluster_role_in_namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    for name in _role_names(match, facts, "cluster-admin"):
        target = _with_role(facts, Key(CLUSTER_ROLES, "", name), match.namespace)
        yield target, {"role": name, "role_kind": "ClusterRole"}


def _with_role(facts: ClusterFacts, role: Key, scope: str) -> AttackState:
    """The state of having a role in a namespace; full control of it, if the role allows everything."""
    rules = facts.index.rules(role) or ()
    if not is_everything(rules):
        return rules_state(role, scope)
    return AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN


def _role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("role")
    if names is None:
        yield AttackState(states.ROLES_OF, namespace=match.namespace), {"role_kind": "Role"}
        return

    def members() -> Reached:
        for namespace in _places(facts, match):
            for name in names:
                role = Key(ROLES, namespace, name)
                if facts.index.rules(role) is not None:
                    variables = {"role": name, "role_kind": "Role", "namespace": namespace}
                    yield _with_role(facts, role, namespace), variables

    yield from _any_of(facts, match, f"the rules of a role{_named(match, 'role')}", members, "role")


def _bindings(facts: ClusterFacts, match: VariantMatch, *, cluster: bool) -> Iterator[Binding]:
    """Existing bindings that may be changed, and whose role may be bound."""
    plural = match.met[1].requirement.any_of[0].permission.resource
    where = [""] if cluster else [place for place in facts.bindings if place]
    if not cluster and match.namespace != EVERYWHERE:
        where = [match.namespace]
    for binding in (one for place in where for one in facts.bindings.get(place, ())):
        if binding.role.resource.resource != plural:
            continue
        if match.allows("binding", binding.key.name) and match.allows("role", binding.role.name):
            yield binding


def _bound(*, cluster: bool) -> Outcome:
    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
        def members() -> Reached:
            yield from _bound_roles(facts, match, cluster=cluster)

        plural = match.met[1].requirement.any_of[0].permission.resource
        where = "of the cluster" if cluster else "of any namespace"
        bindings, roles = _named(match, "binding"), _named(match, "role")
        title = f"what a binding{bindings} {where} gives by {plural}{roles}"
        yield from _any_of(facts, match, title, members, "binding", "role")

    return found


def _bound_roles(facts: ClusterFacts, match: VariantMatch, *, cluster: bool) -> Reached:
    """The outcomes of the bindings that may be changed, each once; only full control if that is among them."""
    best: dict[AttackState, Binding] = {}
    for binding in _bindings(facts, match, cluster=cluster):
        if facts.index.rules(binding.role):
            best.setdefault(_with_role(facts, binding.role, binding.namespace), binding)
    chosen = {CLUSTER_ADMIN: best[CLUSTER_ADMIN]} if CLUSTER_ADMIN in best else best
    for target, binding in chosen.items():
        kind = "ClusterRole" if binding.role.resource == CLUSTER_ROLES else "Role"
        where = {} if cluster else {"namespace": binding.namespace}
        yield target, {"binding": binding.key.name, "role": binding.role.name, "role_kind": kind, **where}


def _any_of(
    facts: ClusterFacts, match: VariantMatch, title: str, members: Callable[[], Reached], *labels: str
) -> Reached:
    """One set if the choice is the same in all namespaces; else each member by itself.

    So the graph stays linear in grants: a holder has one edge, however many things there are.
    """
    if match.namespace != EVERYWHERE or not match.alike(*labels):
        yield from members()
        return
    place = facts.gathered(title, members)
    if place is not None:
        yield place, {}


def _named(match: VariantMatch, label: str) -> str:
    """The names for which requirements are met, as a part of a title."""
    names = match.names(label)
    return "" if names is None else f" named {', '.join(names)}"


def _own_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    scope = known.get("scope", "")
    yield (AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN), {}


def _orphan_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if known.get("beneficiary"):
        yield AttackState(states.IMPACT, match.primitive.id), {}
    else:
        yield from _own_role(facts, holder, match, known)


def _places(facts: ClusterFacts, match: VariantMatch) -> tuple[str, ...]:
    return tuple(facts.enforced) if match.namespace == EVERYWHERE else (match.namespace,)


def _accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield from _service_accounts(facts, match, known, impersonated=False)


def _impersonated_accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield from _service_accounts(facts, match, known, impersonated=True)


def _service_accounts(facts: ClusterFacts, match: VariantMatch, known: Variables, *, impersonated: bool) -> Reached:
    names, where = match.names("account"), known.get("namespace", match.namespace)
    if "workloads" in known:
        yield from _accounts_of_workloads(facts, match)
        return
    if names is None:
        yield AttackState(states.ACCOUNTS, namespace=where, impersonated=impersonated), {}
        return

    def members() -> Reached:
        for namespace in tuple(facts.accounts) if where == EVERYWHERE else (where,):
            for account in facts.accounts.get(namespace, ()):
                if account.name in names:
                    yield (
                        subject_state(account, impersonated=impersonated),
                        {"namespace": namespace, "account": account.name},
                    )

    title = f"a service account{_named(match, 'account')}" + (" (impersonated)" if impersonated else "")
    yield from _any_of(facts, match, title, members, "account")


def _accounts_of_workloads(facts: ClusterFacts, match: VariantMatch) -> Reached:
    """The accounts of all namespaces that have a workload which may be changed."""

    def members() -> Reached:
        for found in workloads(facts, match):
            yield AttackState(states.ACCOUNTS, namespace=found["namespace"]), found

    holds = match.met[0].holds(EVERYWHERE)
    by = sorted({f"{permission}" + (f" [{', '.join(hold.names)}]" if hold.names else "") for permission, hold in holds})
    place = facts.gathered(f"the service accounts where there is a workload, by {', '.join(by)}", members)
    if place is not None:
        yield place, {}


def _missing_accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for namespace, accounts in facts.missing_accounts.items():
            if match.namespace in (EVERYWHERE, namespace) and namespace not in facts.missing_namespaces:
                for account in accounts:
                    if match.allows("account", account.name):
                        yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{_named(match, 'account')} that bindings name and that is not there"
    yield from _any_of(facts, match, title, members, "account")


def _missing_namespaces(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for namespace in facts.missing_namespaces:
            for account in facts.missing_accounts[namespace]:
                if match.allows("account", account.name):
                    yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{_named(match, 'account')} that bindings name in a missing namespace"
    yield from _any_of(facts, match, title, members, "account")


def _users(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if match.names("user") is None:
        yield AttackState(states.USERS, impersonated=True), {}
    for name in masks(match) or ():
        yield AttackState(USER, name, impersonated=True), {"user": name}


def masks(match: VariantMatch) -> tuple[str, ...] | None:
    """The users that can be impersonated; None for all. Whether service accounts can be is checked for these users."""
    names = match.names("user")
    return None if names is None else tuple(one for one in names if split_service_account(one) is None)


def _groups(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("group")
    users = masks(match)
    if users == () and not any(met.requirement.label == "account" for met in match.met):
        return
    mask = {"user": (users or ("somebody",))[0]}
    if any(met.requirement.label == "account" for met in match.met):
        accounts = match.names("account") or ("default",)
        where = "default" if match.namespace == EVERYWHERE else match.namespace
        mask = {"user": f"system:serviceaccount:{where}:{accounts[0]}", "account": accounts[0], "namespace": where}
    if names is None:
        yield AttackState(states.GROUPS, impersonated=True), mask
    for name in names or ():
        yield AttackState(GROUP, name, impersonated=True), {**mask, "group": name}


def _node_identities(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("user")

    def members() -> Reached:
        for node in facts.nodes:
            if names is None or NODE_PREFIX + node in names:
                place = AttackState(states.NODE_IDENTITY, node, impersonated=True)
                yield place, {"user": NODE_PREFIX + node, "group": "system:nodes", "node": node}

    title = f"the identity of a node{_named(match, 'user')} (impersonated)"
    yield from _any_of(facts, match, title, members, "user")


def _secrets(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("secret")
    if names is None:
        if match.namespace == EVERYWHERE or facts.may_have_secret(match.namespace):
            yield AttackState(states.SECRETS, namespace=match.namespace), {}
        return

    def members() -> Reached:
        for namespace in _places(facts, match):
            for name in names:
                if facts.may_have_secret(namespace, name):
                    yield AttackState(states.SECRETS, name, namespace), {"namespace": namespace, "secret": name}

    yield from _any_of(facts, match, f"a secret{_named(match, 'secret')}", members, "secret")


def _bootstrappers(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    for subject in facts.groups:
        if subject.name.startswith(BOOTSTRAPPERS):
            yield subject_state(subject), {"group": subject.name}


def _running_pods(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("pod")
    if names is None:
        yield AttackState(states.PODS, namespace=match.namespace), {}
        return

    def members() -> Reached:
        for namespace in _places(facts, match):
            for name in names:
                if facts.pod(namespace, name) is not None:
                    yield AttackState(states.POD, name, namespace), {"namespace": namespace, "pod": name}

    yield from _any_of(facts, match, f"a running pod{_named(match, 'pod')}", members, "pod")


def _nodes(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if facts.nodes:
        yield AttackState(states.NODES), {}


def _nodes_from_fresh_namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if facts.nodes:
        yield AttackState(states.NODES), {"namespace": FRESH_NAMESPACE}


def _nodes_in_namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if facts.nodes:
        namespace = next(iter(facts.enforced), "default") if match.namespace == EVERYWHERE else match.namespace
        yield AttackState(states.NODES), {"namespace": namespace}


def _pods_of_nodes(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("node")
    if names is None:
        yield AttackState(states.PODS, namespace=EVERYWHERE), {}
        return

    def members() -> Reached:
        for node in names:
            for pod in facts.pods_on.get(node, ()):
                namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
                yield AttackState(states.POD, name, namespace), {"node": node, "namespace": namespace, "pod": name}

    yield from _any_of(facts, match, f"a pod of a node{_named(match, 'node')}", members, "node")


def _anybody(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield AttackState(states.USERS), {}
    yield AttackState(states.GROUPS, WITHOUT_MASTERS), {}
    yield AttackState(states.ACCOUNTS, namespace=EVERYWHERE), {}


def _node_certificates(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for node in facts.nodes:
            yield AttackState(states.NODE_IDENTITY, node), {"node": node}

    yield from _any_of(facts, match, "the identity of a node", members)


def _deputy(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if any(_can_write(facts, permission) for permission, _ in match.met[0].holds(match.namespace)):
        for account in facts.deputies(match.variant.deputy):
            yield (
                subject_state(account, impersonated=True),
                {"deputy": account.name, "deputy_namespace": account.namespace},
            )


def _can_write(facts: ClusterFacts, permission: Permission) -> bool:
    """True if there is an object to write: a new one or an existing one."""
    if not facts.served(permission.group, permission.resource):
        return False
    resource = GroupResource(permission.group, permission.resource)
    return permission.verb == "create" or next(iter(facts.scan(resource)), None) is not None


def _impact(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield AttackState(states.IMPACT, match.primitive.id), {}


def _nothing(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield from ()


OUTCOMES: Final[Mapping[str, Outcome]] = {
    "everything": _everything,
    "namespace": _namespace,
    "cluster-role": _cluster_role,
    "cluster-role-in-namespace": _cluster_role_in_namespace,
    "role": _role,
    "bound-cluster-role": _bound(cluster=True),
    "bound-role": _bound(cluster=False),
    "own-cluster-role": _own_role,
    "own-role": _own_role,
    "orphan-role": _orphan_role,
    "accounts": _accounts,
    "impersonated-accounts": _impersonated_accounts,
    "missing-accounts": _missing_accounts,
    "missing-namespaces": _missing_namespaces,
    "users": _users,
    "groups": _groups,
    "node-identities": _node_identities,
    "secrets": _secrets,
    "bootstrappers": _bootstrappers,
    "running-pods": _running_pods,
    "nodes": _nodes,
    "nodes-from-fresh-namespace": _nodes_from_fresh_namespace,
    "nodes-in-namespace": _nodes_in_namespace,
    "pods-of-nodes": _pods_of_nodes,
    "anybody": _anybody,
    "node-certificates": _node_certificates,
    "deputy": _deputy,
    "impact": _impact,
    "nothing": _nothing,
}
"""The outcomes of primitives that an identity uses. Those of pods and nodes are in ``inherent``."""
