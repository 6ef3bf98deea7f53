"""Outcomes of primitives: each by the word that the table uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import BOOTSTRAPPERS, ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import (
    Holder,
    Outcomes,
    Variables,
    VariantMatch,
    any_of,
    by_name,
    named,
)
from simkit.analysis.escalation.find.pod_constraints import CLAIMING, LEADING_TO_NODES
from simkit.analysis.escalation.find.primitive_conditions import (
    CLUSTER_ADMIN_ROLE,
    admitting,
    places_of_match,
    workloads,
)
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, AttackState, rules_state, subject_state
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, SERVICE_ACCOUNT, USER, Binding, Subject
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.rule import Rule
from simkit.meta.identity import NODE_PREFIX, split_service_account
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import name_of, namespace_of

Outcome = Callable[[ClusterFacts, Holder, VariantMatch, Variables], Outcomes]
WITHOUT_MASTERS: Final = "without-masters"
FRESH_NAMESPACE: Final = "proof-namespace"


def _leads_to(*reached: AttackState) -> Outcome:
    """Always the same states."""

    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
        return ((state, {}) for state in reached)

    return found


def _any_node(namespace: str | None = "") -> Outcome:
    """Any node, if there is one, with a namespace for it: by default none, and for None that of the match.

    The pod that leads there is admitted in the namespace; for None it has a volume of the cluster.
    """

    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
        place = known.get("namespace", match.namespace) if namespace == "" else namespace or match.namespace
        places: Iterable[str] = [place] if place != EVERYWHERE else [*facts.enforced] or ["default"]
        pods = CLAIMING if namespace is None else LEADING_TO_NODES
        for found in islice(admitting(facts, holder, match, places, pods), 1 if facts.nodes else 0):
            yield AttackState(states.NODES), found if namespace != "" or facts.constraints else {}

    return found


def _accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    allowed = _allowed_by_policies(facts, holder, match, known.get("namespace", match.namespace))
    if allowed is None:
        yield from _service_accounts(facts, match, known, impersonated=False)
        return
    for account in allowed:
        yield subject_state(account), {"namespace": account.namespace, "account": account.name}


def _allowed_by_policies(
    facts: ClusterFacts, holder: Holder, match: VariantMatch, where: str
) -> tuple[Subject, ...] | None:
    """The accounts that no policy or constraint keeps out of the holder's pods in a namespace; None if none is."""
    who, policies, constraints = holder.state.subject, facts.account_policies, facts.constraints
    if not (policies or constraints) or who is None or where == EVERYWHERE or match.names("account") is not None:
        return None
    every = facts.accounts.get(where, ())

    def refused(asked: Permission, account: Subject) -> bool:
        if policies and policies.refuse(who, holder.principals, asked, account):
            return True
        return constraints is not None and constraints.refuse(holder.principals, asked, account)

    allowed = tuple(
        account
        for account in every
        if not any(all(refused(asked, account) for asked, _ in met.holds(where)) for met in match.met)
    )
    return None if len(allowed) == len(every) else allowed


def _service_accounts(facts: ClusterFacts, match: VariantMatch, known: Variables, *, impersonated: bool) -> Outcomes:
    where = known.get("namespace", match.namespace)
    if "workloads" in known:
        yield from _accounts_of_workloads(facts, match)
        return

    def members(names: tuple[str, ...]) -> Outcomes:
        every = dict.fromkeys((*facts.accounts, *facts.missing_accounts))
        for namespace in every if where == EVERYWHERE else (where,):
            for account in facts.accounts_in(namespace, impersonated=impersonated):
                if account.name in names:
                    target = subject_state(account, impersonated=impersonated)
                    yield target, {"namespace": namespace, "account": account.name}

    names = match.names("account")
    if names is None:
        yield AttackState(states.ACCOUNTS, namespace=where, impersonated=impersonated), {}
    else:
        title = f"a service account{named(match, 'account')}" + (" (impersonated)" if impersonated else "")
        yield from any_of(facts, match, title, lambda: members(names), "account")


def _accounts_of_workloads(facts: ClusterFacts, match: VariantMatch) -> Outcomes:
    """The accounts of all namespaces that have a workload which may be changed."""

    def members() -> Outcomes:
        for found in workloads(facts, match):
            yield AttackState(states.ACCOUNTS, namespace=found["namespace"]), found

    holds = match.met[0].holds(EVERYWHERE)
    by = sorted({f"{permission}" + (f" [{', '.join(hold.names)}]" if hold.names else "") for permission, hold in holds})
    place = facts.gathered(f"the service accounts in namespaces with a workload, by {', '.join(by)}", members)
    if place is not None:
        yield place, {}


def _missing(words: str, places: Callable[[ClusterFacts, VariantMatch], Iterator[str]]) -> Outcome:
    """The service accounts of some namespaces that bindings name and that do not exist."""

    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
        def members() -> Outcomes:
            for namespace in places(facts, match):
                for account in facts.named(namespace):
                    if match.allows("account", account.name):
                        yield subject_state(account), {"namespace": namespace, "account": account.name}

        title = f"a service account{named(match, 'account')} that bindings name {words}"
        yield from any_of(facts, match, title, members, "account")

    return found


def _existing_places(facts: ClusterFacts, match: VariantMatch) -> Iterator[str]:
    places = tuple(facts.missing_accounts) if match.namespace == EVERYWHERE else (match.namespace,)
    return (place for place in places if place not in facts.missing_namespaces)


def _users(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    if match.names("user") is None:
        yield AttackState(states.USERS, impersonated=True), {}
    for name in masks(match) or ():
        yield AttackState(USER, name, impersonated=True), {"user": name}


def masks(match: VariantMatch) -> tuple[str, ...] | None:
    """The users that can be impersonated; None for all. Whether service accounts can be is checked for these users."""
    names = match.names("user")
    return None if names is None else tuple(one for one in names if split_service_account(one) is None)


def _people(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    """Any user of OpenShift who has something: their names have no colon."""

    def members() -> Outcomes:
        for subject in facts.people:
            yield subject_state(subject), {"user": subject.name}

    place = facts.gathered("any user of OpenShift", members)
    if place is not None:
        yield place, {}


def _joined_groups(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    """The groups that a user of OpenShift can join, whose names have no colon; others can only put users into them."""
    if holder.state.kind == SERVICE_ACCOUNT:
        yield AttackState(states.IMPACT, match.primitive.id), {}
        return
    for group in facts.groups:
        if ":" not in group.name and match.allows("joined", group.name):
            yield subject_state(group), {"group": group.name}


def _groups(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
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


def _node_identities(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    names = match.names("user")

    def members() -> Outcomes:
        for node in facts.nodes:
            if names is None or NODE_PREFIX + node in names:
                place = AttackState(states.NODE_IDENTITY, node, impersonated=True)
                yield place, {"user": NODE_PREFIX + node, "group": "system:nodes", "node": node}

    title = f"the identity of a node{named(match, 'user')} (impersonated)"
    yield from any_of(facts, match, title, members, "user")


def _secrets(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    def members(names: tuple[str, ...]) -> Outcomes:
        for namespace, name in product(places_of_match(facts, match), names):
            if facts.may_have_secret(namespace, name):
                yield AttackState(states.SECRETS, name, namespace), {"namespace": namespace, "secret": name}

    if match.names("secret") is not None or match.namespace == EVERYWHERE or facts.may_have_secret(match.namespace):
        whole = AttackState(states.SECRETS, namespace=match.namespace)
        yield from by_name(facts, match, "secret", "a secret", whole, members)


def _running_pods(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    def members(names: tuple[str, ...]) -> Outcomes:
        for namespace, name in product(places_of_match(facts, match), names):
            if facts.pod(namespace, name) is not None:
                yield AttackState(states.POD, name, namespace), {"namespace": namespace, "pod": name}

    yield from by_name(
        facts, match, "pod", "a running pod", AttackState(states.PODS, namespace=match.namespace), members
    )


def _pods_of_nodes(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    def members(names: tuple[str, ...]) -> Outcomes:
        for node in names:
            for pod in facts.pods_on(node):
                variables = {"node": node, "namespace": namespace_of(pod), "pod": name_of(pod)}
                yield AttackState(states.POD, name_of(pod), namespace_of(pod)), variables

    whole = AttackState(states.PODS, namespace=EVERYWHERE)
    yield from by_name(facts, match, "node", "a pod of a node", whole, members)


def _node_certificates(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    def members() -> Outcomes:
        for node in facts.nodes:
            yield AttackState(states.NODE_IDENTITY, node), {"node": node}

    yield from any_of(facts, match, "the identity of a node", members)


def _deputy(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
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


def is_everything(rules: tuple[Rule, ...]) -> bool:
    """True if rules allow every verb on every resource."""
    return covers(rules, EVERYTHING[:1])


def _role_names(match: VariantMatch, facts: ClusterFacts) -> tuple[str, ...]:
    names = match.names("role")
    if names is None and facts.answer(_allows_everything, Key(CLUSTER_ROLES, "", CLUSTER_ADMIN_ROLE)):
        return (CLUSTER_ADMIN_ROLE,)
    names = facts.cluster_roles if names is None else names
    return tuple(name for name in names if facts.rules(Key(CLUSTER_ROLES, "", name)) is not None)


def _cluster_role(*, cluster: bool) -> Outcome:
    """What a ClusterRole allows, in the whole cluster or in the namespace of the match."""

    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
        for name in _role_names(match, facts):
            target = _with_role(facts, Key(CLUSTER_ROLES, "", name), "" if cluster else match.namespace)
            yield target, {"role": name, "role_kind": "ClusterRole"}

    return found


def _with_role(facts: ClusterFacts, role: Key, scope: str) -> AttackState:
    """The state of having a role in a namespace; full control of it, if the role allows everything."""
    if not facts.answer(_allows_everything, role):
        return rules_state(role, scope)
    return AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN


def _allows_everything(facts: ClusterFacts, role: Key) -> bool | None:
    """True if a role allows everything; None if it allows nothing. Most changes of a role leave that as it is."""
    rules = facts.rules(role)
    return is_everything(rules) if rules else None


def _role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    def members(names: tuple[str, ...]) -> Outcomes:
        for namespace, name in product(places_of_match(facts, match), names):
            role = Key(ROLES, namespace, name)
            if facts.rules(role) is not None:
                variables = {"role": name, "role_kind": "Role", "namespace": namespace}
                yield _with_role(facts, role, namespace), variables

    whole = AttackState(states.ROLES_OF, namespace=match.namespace)
    yield from by_name(facts, match, "role", "the rules of a role", whole, members, {"role_kind": "Role"})


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


def _bound(*, cluster: bool) -> Outcome:
    def found(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
        def members() -> Outcomes:
            yield from _bound_roles(facts, match, cluster=cluster)

        plural = match.met[1].requirement.any_of[0].permission.resource
        where = "of the cluster" if cluster else "of any namespace"
        bindings, roles = named(match, "binding"), named(match, "role")
        title = f"what a binding{bindings} {where} grants through {plural}{roles}"
        yield from any_of(facts, match, title, members, "binding", "role")

    return found


def _bound_roles(facts: ClusterFacts, match: VariantMatch, *, cluster: bool) -> Outcomes:
    """The outcomes of the bindings that may be changed, each once; only full control if that is among them."""
    best: dict[AttackState, Binding] = {}
    for binding in _bindings(facts, match, cluster=cluster):
        if facts.answer(_allows_everything, binding.role) is not None:
            best.setdefault(_with_role(facts, binding.role, binding.namespace), binding)
    chosen = {CLUSTER_ADMIN: best[CLUSTER_ADMIN]} if CLUSTER_ADMIN in best else best
    for target, binding in chosen.items():
        kind = "ClusterRole" if binding.role.resource == CLUSTER_ROLES else "Role"
        where = {} if cluster else {"namespace": binding.namespace}
        yield target, {"binding": binding.key.name, "role": binding.role.name, "role_kind": kind, **where}


def _own_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    scope = known.get("scope", "")
    yield (AttackState(states.NAMESPACE, namespace=scope) if scope else CLUSTER_ADMIN), {}


def _orphan_role(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Outcomes:
    if known.get("beneficiary"):
        yield AttackState(states.IMPACT, match.primitive.id), {}
    else:
        yield from _own_role(facts, holder, match, known)


OUTCOMES: Final[Mapping[str, Outcome]] = {
    "everything": _leads_to(CLUSTER_ADMIN),
    "namespace": lambda _facts, _holder, match, _known: iter(
        [(AttackState(states.NAMESPACE, "", match.namespace), {})]
    ),
    "cluster-role": _cluster_role(cluster=True),
    "cluster-role-in-namespace": _cluster_role(cluster=False),
    "role": _role,
    "bound-cluster-role": _bound(cluster=True),
    "bound-role": _bound(cluster=False),
    "own-cluster-role": _own_role,
    "own-role": _own_role,
    "orphan-role": _orphan_role,
    "accounts": _accounts,
    "impersonated-accounts": lambda facts, _, match, known: _service_accounts(facts, match, known, impersonated=True),
    "missing-accounts": _missing("but that does not exist", _existing_places),
    "missing-namespaces": _missing("in a missing namespace", lambda facts, _: iter(facts.missing_namespaces)),
    "users": _users,
    "groups": _groups,
    "people": _people,
    "joined-groups": _joined_groups,
    "node-identities": _node_identities,
    "secrets": _secrets,
    "bootstrappers": lambda facts, *_: (
        (subject_state(one), {"group": one.name}) for one in facts.groups if one.name.startswith(BOOTSTRAPPERS)
    ),
    "running-pods": _running_pods,
    "nodes": _any_node(),
    "nodes-from-fresh-namespace": _any_node(FRESH_NAMESPACE),
    "nodes-in-namespace": _any_node(None),
    "pods-of-nodes": _pods_of_nodes,
    "anybody": _leads_to(
        AttackState(states.USERS),
        AttackState(states.GROUPS, WITHOUT_MASTERS),
        AttackState(states.ACCOUNTS, namespace=EVERYWHERE),
    ),
    "node-certificates": _node_certificates,
    "deputy": _deputy,
    "impact": lambda _facts, _holder, match, _known: iter([(AttackState(states.IMPACT, match.primitive.id), {})]),
    "nothing": _leads_to(),
}
"""The outcomes of primitives that an identity uses. Those of pods and nodes are in ``inherent``."""
