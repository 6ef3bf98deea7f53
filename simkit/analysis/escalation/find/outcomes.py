"""Outcomes of primitives: each by the word that the table uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.analysis.escalation.find import role_outcomes, states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import Holder, VariantMatch
from simkit.analysis.escalation.find.outcome import Outcome, Reached, Variables, any_of, named, namespaces_of_match
from simkit.analysis.escalation.find.primitive_conditions import workloads
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, AttackState, subject_state
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.meta.identity import split_service_account
from simkit.meta.names import GroupResource

NODE_PREFIX: Final = "system:node:"
BOOTSTRAPPERS: Final = "system:bootstrappers"
WITHOUT_MASTERS: Final = "without-masters"
FRESH_NAMESPACE: Final = "proof-namespace"


def _everything(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield CLUSTER_ADMIN, {}


def _namespace(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    if match.namespace != EVERYWHERE:
        yield AttackState(states.NAMESPACE, namespace=match.namespace), {}


def _accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    allowed = _allowed_by_policies(facts, holder, match, known.get("namespace", match.namespace))
    if allowed is None:
        yield from _service_accounts(facts, match, known, impersonated=False)
        return
    for account in allowed:
        yield subject_state(account), {"namespace": account.namespace, "account": account.name}


def _allowed_by_policies(
    facts: ClusterFacts, holder: Holder, match: VariantMatch, where: str
) -> tuple[Subject, ...] | None:
    """The accounts that no admission policy keeps out of the holder's pods in a namespace; None if none is kept out."""
    who, policies = holder.state.subject, facts.account_policies
    if not policies or who is None or where == EVERYWHERE or match.names("account") is not None:
        return None
    every = facts.accounts.get(where, ())
    allowed = tuple(
        account
        for account in every
        if not any(
            all(policies.refuse(who, holder.principals, asked, account) for asked, _ in met.holds(where))
            for met in match.met
        )
    )
    return None if len(allowed) == len(every) else allowed


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

    title = f"a service account{named(match, 'account')}" + (" (impersonated)" if impersonated else "")
    yield from any_of(facts, match, title, members, "account")


def _accounts_of_workloads(facts: ClusterFacts, match: VariantMatch) -> Reached:
    """The accounts of all namespaces that have a workload which may be changed."""

    def members() -> Reached:
        for found in workloads(facts, match):
            yield AttackState(states.ACCOUNTS, namespace=found["namespace"]), found

    holds = match.met[0].holds(EVERYWHERE)
    by = sorted({f"{permission}" + (f" [{', '.join(hold.names)}]" if hold.names else "") for permission, hold in holds})
    place = facts.gathered(f"the service accounts in namespaces with a workload, by {', '.join(by)}", members)
    if place is not None:
        yield place, {}


def _missing_accounts(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        places = tuple(facts.missing_accounts) if match.namespace == EVERYWHERE else (match.namespace,)
        for namespace in places:
            if namespace not in facts.missing_namespaces:
                for account in facts.named(namespace):
                    if match.allows("account", account.name):
                        yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{named(match, 'account')} that bindings name but that does not exist"
    yield from any_of(facts, match, title, members, "account")


def _missing_namespaces(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for namespace in facts.missing_namespaces:
            for account in facts.missing_accounts[namespace]:
                if match.allows("account", account.name):
                    yield subject_state(account), {"namespace": namespace, "account": account.name}

    title = f"a service account{named(match, 'account')} that bindings name in a missing namespace"
    yield from any_of(facts, match, title, members, "account")


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

    title = f"the identity of a node{named(match, 'user')} (impersonated)"
    yield from any_of(facts, match, title, members, "user")


def _secrets(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    names = match.names("secret")
    if names is None:
        if match.namespace == EVERYWHERE or facts.may_have_secret(match.namespace):
            yield AttackState(states.SECRETS, namespace=match.namespace), {}
        return

    def members() -> Reached:
        for namespace in namespaces_of_match(facts, match):
            for name in names:
                if facts.may_have_secret(namespace, name):
                    yield AttackState(states.SECRETS, name, namespace), {"namespace": namespace, "secret": name}

    yield from any_of(facts, match, f"a secret{named(match, 'secret')}", members, "secret")


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
        for namespace in namespaces_of_match(facts, match):
            for name in names:
                if facts.pod(namespace, name) is not None:
                    yield AttackState(states.POD, name, namespace), {"namespace": namespace, "pod": name}

    yield from any_of(facts, match, f"a running pod{named(match, 'pod')}", members, "pod")


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

    yield from any_of(facts, match, f"a pod of a node{named(match, 'node')}", members, "node")


def _anybody(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    yield AttackState(states.USERS), {}
    yield AttackState(states.GROUPS, WITHOUT_MASTERS), {}
    yield AttackState(states.ACCOUNTS, namespace=EVERYWHERE), {}


def _node_certificates(facts: ClusterFacts, holder: Holder, match: VariantMatch, known: Variables) -> Reached:
    def members() -> Reached:
        for node in facts.nodes:
            yield AttackState(states.NODE_IDENTITY, node), {"node": node}

    yield from any_of(facts, match, "the identity of a node", members)


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
    "cluster-role": role_outcomes.cluster_role,
    "cluster-role-in-namespace": role_outcomes.cluster_role_in_namespace,
    "role": role_outcomes.role,
    "bound-cluster-role": role_outcomes.bound(cluster=True),
    "bound-role": role_outcomes.bound(cluster=False),
    "own-cluster-role": role_outcomes.own_role,
    "own-role": role_outcomes.own_role,
    "orphan-role": role_outcomes.orphan_role,
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
