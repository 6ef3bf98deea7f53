"""Where a primitive leads: each kind of result by the word that the table uses."""

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
    """Whether rules allow every verb on every resource."""
    return covers(rules, EVERYTHING[:1])


def _everything(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    yield CLUSTER_ADMIN, {}


def _namespace(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if solution.namespace != EVERYWHERE:
        yield AttackState(states.NAMESPACE, namespace=solution.namespace), {}


def _role_names(solution: VariantMatch, world: ClusterFacts, every: str) -> tuple[str, ...]:
    names = solution.names("role")
    if names is None:
        return (every,)
    return tuple(name for name in names if world.index.rules(Key(CLUSTER_ROLES, "", name)) is not None)


def _cluster_role(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    for name in _role_names(solution, world, "cluster-admin"):
        yield _with_role(world, Key(CLUSTER_ROLES, "", name), ""), {"role": name, "role_kind": "ClusterRole"}


def _cluster_role_in_namespace(
    world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables
) -> Reached:
    for name in _role_names(solution, world, "cluster-admin"):
        target = _with_role(world, Key(CLUSTER_ROLES, "", name), solution.namespace)
        yield target, {"role": name, "role_kind": "ClusterRole"}


def _with_role(world: ClusterFacts, role: Key, scope: str) -> AttackState:
    """The place of having a role somewhere: everything there, if the role is that wide."""
    rules = world.index.rules(role) or ()
    if not is_everything(rules):
        return rules_state(role, scope)
    return AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN


def _role(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("role")
    if names is None:
        yield AttackState(states.ROLES_OF, namespace=solution.namespace), {"role_kind": "Role"}
        return

    def members() -> Reached:
        for namespace in _places(world, solution):
            for name in names:
                role = Key(ROLES, namespace, name)
                if world.index.rules(role) is not None:
                    variables = {"role": name, "role_kind": "Role", "namespace": namespace}
                    yield _with_role(world, role, namespace), variables

    yield from _any_of(world, solution, f"the rules of a role{_named(solution, 'role')}", members, "role")


def _bindings(world: ClusterFacts, solution: VariantMatch, *, cluster: bool) -> Iterator[Binding]:
    """Existing bindings that may be rewritten, and whose role may be bound."""
    plural = solution.mets[1].need.any_of[0].permission.resource
    where = [""] if cluster else [place for place in world.bindings if place]
    if not cluster and solution.namespace != EVERYWHERE:
        where = [solution.namespace]
    for binding in (one for place in where for one in world.bindings.get(place, ())):
        if binding.role.resource.resource != plural:
            continue
        if solution.allows("binding", binding.key.name) and solution.allows("role", binding.role.name):
            yield binding


def _bound(*, cluster: bool) -> Outcome:
    def found(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
        def members() -> Reached:
            yield from _bound_roles(world, solution, cluster=cluster)

        plural = solution.mets[1].need.any_of[0].permission.resource
        where = "of the cluster" if cluster else "of any namespace"
        bindings, roles = _named(solution, "binding"), _named(solution, "role")
        title = f"what a binding{bindings} {where} gives by {plural}{roles}"
        yield from _any_of(world, solution, title, members, "binding", "role")

    return found


def _bound_roles(world: ClusterFacts, solution: VariantMatch, *, cluster: bool) -> Reached:
    """What the bindings give that may be rewritten, each once; everything alone where it is among that."""
    best: dict[AttackState, Binding] = {}
    for binding in _bindings(world, solution, cluster=cluster):
        if world.index.rules(binding.role):
            best.setdefault(_with_role(world, binding.role, binding.namespace), binding)
    chosen = {CLUSTER_ADMIN: best[CLUSTER_ADMIN]} if CLUSTER_ADMIN in best else best
    for target, binding in chosen.items():
        kind = "ClusterRole" if binding.role.resource == CLUSTER_ROLES else "Role"
        where = {} if cluster else {"namespace": binding.namespace}
        yield target, {"binding": binding.key.name, "role": binding.role.name, "role_kind": kind, **where}


def _any_of(
    world: ClusterFacts, solution: VariantMatch, title: str, members: Callable[[], Reached], *labels: str
) -> Reached:
    """One set for all who may choose among the same things in all namespaces; else each thing by itself.

    So the graph stays linear in grants: a holder has one edge, however many things there are.
    """
    if solution.namespace != EVERYWHERE or not solution.alike(*labels):
        yield from members()
        return
    place = world.gathered(title, members)
    if place is not None:
        yield place, {}


def _named(solution: VariantMatch, label: str) -> str:
    """The names that needs are met for, as a part of a title."""
    names = solution.names(label)
    return "" if names is None else f" named {', '.join(names)}"


def _own_role(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    scope = known.get("scope", "")
    yield (AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN), {}


def _orphan_role(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if known.get("beneficiary"):
        yield AttackState(states.IMPACT, solution.primitive.id), {}
    else:
        yield from _own_role(world, holder, solution, known)


def _places(world: ClusterFacts, solution: VariantMatch) -> tuple[str, ...]:
    return tuple(world.enforced) if solution.namespace == EVERYWHERE else (solution.namespace,)


def _accounts(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    yield from _service_accounts(world, solution, known, worn=False)


def _impersonated_accounts(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    yield from _service_accounts(world, solution, known, worn=True)


def _service_accounts(world: ClusterFacts, solution: VariantMatch, known: Variables, *, worn: bool) -> Reached:
    names, where = solution.names("account"), known.get("namespace", solution.namespace)
    if "workloads" in known:
        yield from _accounts_of_workloads(world, solution)
        return
    if names is None:
        yield AttackState(states.ACCOUNTS, namespace=where, worn=worn), {}
        return

    def members() -> Reached:
        for namespace in tuple(world.accounts) if where == EVERYWHERE else (where,):
            for account in world.accounts.get(namespace, ()):
                if account.name in names:
                    yield subject_state(account, worn=worn), {"namespace": namespace, "account": account.name}

    title = f"a service account{_named(solution, 'account')}" + (" (impersonated)" if worn else "")
    yield from _any_of(world, solution, title, members, "account")


def _accounts_of_workloads(world: ClusterFacts, solution: VariantMatch) -> Reached:
    """The accounts of all namespaces where there is a workload that may be rewritten."""

    def members() -> Reached:
        for found in workloads(world, solution):
            yield AttackState(states.ACCOUNTS, namespace=found["namespace"]), found

    holds = solution.mets[0].holds(EVERYWHERE)
    by = sorted({f"{permission}" + (f" [{', '.join(hold.names)}]" if hold.names else "") for permission, hold in holds})
    place = world.gathered(f"the service accounts where there is a workload, by {', '.join(by)}", members)
    if place is not None:
        yield place, {}


def _missing_accounts(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for namespace, accounts in world.missing_accounts.items():
            if solution.namespace in (EVERYWHERE, namespace) and namespace not in world.missing_namespaces:
                for account in accounts:
                    if solution.allows("account", account.name):
                        yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{_named(solution, 'account')} that bindings name and that is not there"
    yield from _any_of(world, solution, title, members, "account")


def _missing_namespaces(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for namespace in world.missing_namespaces:
            for account in world.missing_accounts[namespace]:
                if solution.allows("account", account.name):
                    yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{_named(solution, 'account')} that bindings name in a missing namespace"
    yield from _any_of(world, solution, title, members, "account")


def _users(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if solution.names("user") is None:
        yield AttackState(states.USERS, worn=True), {}
    for name in masks(solution) or ():
        yield AttackState(USER, name, worn=True), {"user": name}


def masks(solution: VariantMatch) -> tuple[str, ...] | None:
    """The users whom one may act as, None for all; whether one may act as a service account is asked of those."""
    names = solution.names("user")
    return None if names is None else tuple(one for one in names if split_service_account(one) is None)


def _groups(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("group")
    users = masks(solution)
    if users == () and not any(met.need.label == "account" for met in solution.mets):
        return
    mask = {"user": (users or ("somebody",))[0]}
    if any(met.need.label == "account" for met in solution.mets):
        accounts = solution.names("account") or ("default",)
        where = "default" if solution.namespace == EVERYWHERE else solution.namespace
        mask = {"user": f"system:serviceaccount:{where}:{accounts[0]}", "account": accounts[0], "namespace": where}
    if names is None:
        yield AttackState(states.GROUPS, worn=True), mask
    for name in names or ():
        yield AttackState(GROUP, name, worn=True), {**mask, "group": name}


def _node_identities(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("user")

    def members() -> Reached:
        for node in world.nodes:
            if names is None or NODE_PREFIX + node in names:
                place = AttackState(states.NODE_IDENTITY, node, worn=True)
                yield place, {"user": NODE_PREFIX + node, "group": "system:nodes", "node": node}

    title = f"the identity of a node{_named(solution, 'user')} (impersonated)"
    yield from _any_of(world, solution, title, members, "user")


def _secrets(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("secret")
    if names is None:
        if solution.namespace == EVERYWHERE or world.may_have_secret(solution.namespace):
            yield AttackState(states.SECRETS, namespace=solution.namespace), {}
        return

    def members() -> Reached:
        for namespace in _places(world, solution):
            for name in names:
                if world.may_have_secret(namespace, name):
                    yield AttackState(states.SECRETS, name, namespace), {"namespace": namespace, "secret": name}

    yield from _any_of(world, solution, f"a secret{_named(solution, 'secret')}", members, "secret")


def _bootstrappers(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    for subject in world.groups:
        if subject.name.startswith(BOOTSTRAPPERS):
            yield subject_state(subject), {"group": subject.name}


def _running_pods(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("pod")
    if names is None:
        yield AttackState(states.PODS, namespace=solution.namespace), {}
        return

    def members() -> Reached:
        for namespace in _places(world, solution):
            for name in names:
                if world.pod(namespace, name) is not None:
                    yield AttackState(states.POD, name, namespace), {"namespace": namespace, "pod": name}

    yield from _any_of(world, solution, f"a running pod{_named(solution, 'pod')}", members, "pod")


def _nodes(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if world.nodes:
        yield AttackState(states.NODES), {}


def _nodes_from_fresh_namespace(
    world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables
) -> Reached:
    if world.nodes:
        yield AttackState(states.NODES), {"namespace": FRESH_NAMESPACE}


def _nodes_in_namespace(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if world.nodes:
        namespace = next(iter(world.enforced), "default") if solution.namespace == EVERYWHERE else solution.namespace
        yield AttackState(states.NODES), {"namespace": namespace}


def _pods_of_nodes(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    names = solution.names("node")
    if names is None:
        yield AttackState(states.PODS, namespace=EVERYWHERE), {}
        return

    def members() -> Reached:
        for node in names:
            for pod in world.pods_on.get(node, ()):
                namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
                yield AttackState(states.POD, name, namespace), {"node": node, "namespace": namespace, "pod": name}

    yield from _any_of(world, solution, f"a pod of a node{_named(solution, 'node')}", members, "node")


def _anybody(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    yield AttackState(states.USERS), {}
    yield AttackState(states.GROUPS, WITHOUT_MASTERS), {}
    yield AttackState(states.ACCOUNTS, namespace=EVERYWHERE), {}


def _node_certificates(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for node in world.nodes:
            yield AttackState(states.NODE_IDENTITY, node), {"node": node}

    yield from _any_of(world, solution, "the identity of a node", members)


def _deputy(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    if any(_can_write(world, permission) for permission, _ in solution.mets[0].holds(solution.namespace)):
        for account in world.deputies(solution.way.deputy):
            yield subject_state(account, worn=True), {"deputy": account.name, "deputy_namespace": account.namespace}


def _can_write(world: ClusterFacts, permission: Permission) -> bool:
    """Whether there is something to write: a new object, or one that is there."""
    if not world.served(permission.group, permission.resource):
        return False
    resource = GroupResource(permission.group, permission.resource)
    return permission.verb == "create" or next(iter(world.scan(resource)), None) is not None


def _impact(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
    yield AttackState(states.IMPACT, solution.primitive.id), {}


def _nothing(world: ClusterFacts, holder: Holder, solution: VariantMatch, known: Variables) -> Reached:
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
"""What primitives that somebody uses lead to. What lies around pods and nodes is in ``surroundings``."""
