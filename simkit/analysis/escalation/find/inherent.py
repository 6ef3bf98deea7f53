"""Edges that a state has by itself: choices from sets, tokens of pods, pods of nodes, keys of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import SECRETS, ClusterFacts
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.outcomes import WITHOUT_MASTERS
from simkit.analysis.escalation.find.pod_specs import account_named, escapes_of
from simkit.analysis.escalation.find.states import ALL, CLUSTER_ADMIN, AttackState, rules_state, subject_state
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.rbac.subject import text_of
from simkit.logic.authorizers.node_graph import used_by_pod
from simkit.logic.rbac.binding import GROUP, ROLES, USER, Subject
from simkit.meta.identity import MASTERS
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of

Surrounding = Callable[[ClusterFacts, AttackState], Iterator[Edge]]


def inherent_edges(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    """The edges that a state has by itself, for every identity.

    Set-valued places spread their members here, so that a grant for many costs one edge for each holder.
    """
    found = _SURROUNDINGS.get(state.kind)
    return found(facts, state) if found else iter(())


def _choice(state: AttackState, target: AttackState, **variables: str) -> Edge:
    return Edge(state, target, variables=tuple(variables.items()))


@cache
def _known(condition: str, outcome: str) -> tuple[str, float]:
    """The primitive of the table with a condition and an outcome, and its cost."""
    found = primitives().with_condition(condition, outcome)
    return found.id, found.variants[0].cost


def _step(state: AttackState, target: AttackState, condition: str, outcome: str = "", **variables: str) -> Edge:
    primitive, cost = _known(condition, outcome)
    return Edge(state, target, primitive, 0, tuple(variables.items()), cost=cost)


def _everywhere(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    """Edges from a set over all namespaces to the set in each namespace."""
    named = facts.missing_accounts if state.impersonated else ()  # of which even the namespace may be missing
    for namespace in dict.fromkeys((*facts.enforced, *named)):
        yield _choice(state, state._replace(namespace=namespace), namespace=namespace)


def _accounts(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.namespace == ALL:
        yield from _everywhere(facts, state)
    for account in facts.accounts_in(state.namespace, impersonated=state.impersonated):
        target = subject_state(account, impersonated=state.impersonated)
        yield _choice(state, target, namespace=account.namespace, account=account.name)


def _roles(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.namespace == ALL:
        yield from _everywhere(facts, state)
        return
    for role in facts.scan(ROLES, state.namespace):
        target = rules_state(Key(ROLES, namespace_of(role), name_of(role)), state.namespace)
        yield _choice(state, target, namespace=state.namespace, role=name_of(role))


def _pods(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.namespace == ALL:
        yield from _everywhere(facts, state)
    for pod in facts.pods_in(state.namespace):
        yield _choice(state, _at_pod(pod), **_pod_variables(pod))


def _at_pod(pod: Object) -> AttackState:
    return AttackState(states.POD, name_of(pod), namespace_of(pod))


def _pod_variables(pod: Object) -> dict[str, str]:
    node = at(pod, "spec", "nodeName") or ""
    return {"namespace": namespace_of(pod), "pod": name_of(pod), **({"node": node} if node else {})}


def _pod(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    pod = facts.pod(state.namespace, state.name)
    if pod is None:
        return
    variables = _pod_variables(pod)
    account = facts.account_of(pod)
    if account is not None:
        yield _step(state, subject_state(account), "pod-token", **variables, account=account.name)
    yield from _mounted(facts, state, pod)
    for principal in facts.principals_of_pod(pod):
        target = subject_state(Subject(USER, principal))
        yield _step(state, target, "pod-cloud-role", **variables, account=account_named(pod))
    if "node" in variables:
        for escape in escapes_of(pod):
            target = AttackState(states.NODE, variables["node"])
            yield Edge(
                state,
                target,
                escape.primitive,
                0,
                (*variables.items(), ("detail", escape.because)),
                cost=primitives().primitive(escape.primitive).variants[0].cost,
            )


def _nodes(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    for node in facts.nodes:
        yield _choice(state, AttackState(states.NODE, node), node=node)


def _node(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.name in facts.control_plane:
        yield _step(state, CLUSTER_ADMIN, "control-plane-node", node=state.name)
    for pod in facts.pods_on(state.name):
        yield _step(state, _at_pod(pod), "node-root", "pods-of-node", **_pod_variables(pod))
    yield _step(state, AttackState(states.NODE_IDENTITY, state.name), "node-root", "node-identity", node=state.name)


def _node_identity(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    for pod in facts.pods_on(state.name):
        account = facts.account_of(pod)
        if account is not None:
            yield _step(state, subject_state(account), "node-identity", **_pod_variables(pod), account=account.name)
        yield from _mounted(facts, state, pod)


def _mounted(facts: ClusterFacts, state: AttackState, pod: Object) -> Iterator[Edge]:
    """The secrets of a pod that hold a token of somebody else than its own service account."""
    for key in sorted(one for one in used_by_pod(pod) if one.resource == SECRETS):
        if any(one != facts.account_of(pod) for one in facts.token_holders(key.namespace, key.name)):
            target = AttackState(states.SECRETS, key.name, key.namespace)
            yield _step(state, target, "pod-secret", **_pod_variables(pod), secret=key.name)


def _users(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    for subject in facts.subjects:
        if subject.kind == USER:
            yield _choice(state, subject_state(subject, impersonated=state.impersonated), user=subject.name)


def _groups(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    found = dict.fromkeys(subject.name for subject in facts.groups)
    if state.name != WITHOUT_MASTERS:
        found[MASTERS] = None
    else:
        found.pop(MASTERS, None)
    for name in found:
        yield _choice(state, AttackState(GROUP, name, impersonated=state.impersonated), group=name)


def _secrets(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.namespace == ALL:
        yield from _everywhere(facts, state)
    elif state.name:
        for one in facts.token_holders(state.namespace, state.name):
            yield _choice(state, subject_state(one), namespace=state.namespace, account=one.name)
    else:
        for name in facts.secrets_in(state.namespace):
            if facts.token_holders(state.namespace, name):
                target = AttackState(states.SECRETS, name, state.namespace)
                yield _choice(state, target, namespace=state.namespace, secret=name)


def _set(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    for target, variables in facts.members(state):
        yield _choice(state, target, **variables)


def _principal(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    """The provider lets some of its principals give themselves all access."""
    access = facts.snapshot.authorization.access
    if access is None or not access.changers or state.impersonated or state.subject is None:
        return
    if (text_of(state.subject), True) in access.changers:
        yield _step(state, CLUSTER_ADMIN, "cloud-changer")


def _widened(facts: ClusterFacts, state: AttackState) -> Iterator[Edge]:
    if state.namespace == ALL:
        yield from _everywhere(facts, state)


_SURROUNDINGS: Final[Mapping[str, Surrounding]] = {
    states.ACCOUNTS: _accounts,
    states.ROLES_OF: _roles,
    states.PODS: _pods,
    states.POD: _pod,
    states.NODES: _nodes,
    states.NODE: _node,
    states.NODE_IDENTITY: _node_identity,
    states.USERS: _users,
    states.GROUPS: _groups,
    states.SECRETS: _secrets,
    states.SET: _set,
    USER: _principal,
    GROUP: _principal,
    states.NAMESPACE: _widened,
    states.RULES: _widened,
}
