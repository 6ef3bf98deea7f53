"""What a place brings with it: choices among many, tokens of pods, pods of nodes, keys of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.edge import Edge
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.outcomes import WITHOUT_MASTERS
from simkit.analysis.escalation.find.states import ALL, CLUSTER_ADMIN, AttackState, rules_state, subject_state
from simkit.analysis.escalation.table.primitive import primitives
from simkit.logic.rbac.binding import GROUP, ROLES, USER
from simkit.meta.identity import MASTERS
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of

Surrounding = Callable[[ClusterFacts, AttackState], Iterator[Edge]]


def inherent_edges(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    """The edges that a place has by itself, whoever is there.

    Set-valued places spread their members here, so that a grant for many costs one edge for each holder.
    """
    found = _SURROUNDINGS.get(place.kind)
    return found(world, place) if found else iter(())


def _choice(place: AttackState, target: AttackState, **variables: str) -> Edge:
    return Edge(place, target, variables=tuple(variables.items()))


def _step(place: AttackState, target: AttackState, primitive: str, **variables: str) -> Edge:
    cost = primitives().primitive(primitive).ways[0].cost
    return Edge(place, target, primitive, 0, tuple(variables.items()), cost=cost)


def _everywhere(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    """From a thing in all namespaces to the thing in each."""
    for namespace in world.enforced:
        yield _choice(place, place._replace(namespace=namespace), namespace=namespace)


def _accounts(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    for account in world.accounts.get(place.namespace, ()):
        target = subject_state(account, worn=place.worn)
        yield _choice(place, target, namespace=account.namespace, account=account.name)


def _roles(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
        return
    for role in world.scan(ROLES, place.namespace):
        target = rules_state(_key(role), place.namespace)
        yield _choice(place, target, namespace=place.namespace, role=name_of(role))


def _key(role: Object) -> Key:
    return Key(ROLES, namespace_of(role), name_of(role))


def _pods(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    for pod in world.pods.get(place.namespace, ()):
        yield _choice(place, _at_pod(pod), **_pod_variables(pod))


def _at_pod(pod: Object) -> AttackState:
    return AttackState(states.POD, name_of(pod), namespace_of(pod))


def _pod_variables(pod: Object) -> dict[str, str]:
    node = at(pod, "spec", "nodeName") or ""
    return {"namespace": namespace_of(pod), "pod": name_of(pod), **({"node": node} if node else {})}


def _pod(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    pod = world.pod(place.namespace, place.name)
    if pod is None:
        return
    variables = _pod_variables(pod)
    account = world.account_of(pod)
    if account is not None:
        yield _step(place, subject_state(account), "K0", **variables, account=account.name)
    if "node" in variables:
        for escape in world.escapes(pod):
            target = AttackState(states.NODE, variables["node"])
            yield _step(place, target, escape.primitive, **variables, detail=escape.because)


def _nodes(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    for node in world.nodes:
        yield _choice(place, AttackState(states.NODE, node), node=node)


def _node(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.name in world.control_plane:
        yield _step(place, CLUSTER_ADMIN, "E7", node=place.name)
    for pod in world.pods_on.get(place.name, ()):
        yield _step(place, _at_pod(pod), "K5", **_pod_variables(pod))
    yield _step(place, AttackState(states.NODE_IDENTITY, place.name), "K18", node=place.name)


def _node_identity(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    for pod in world.pods_on.get(place.name, ()):
        account = world.account_of(pod)
        if account is not None:
            yield _step(place, subject_state(account), "E6", **_pod_variables(pod), account=account.name)


def _users(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    for subject in world.index.subjects():
        if subject.kind == USER:
            yield _choice(place, subject_state(subject, worn=place.worn), user=subject.name)


def _groups(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    found = dict.fromkeys(subject.name for subject in world.groups)
    if place.name != WITHOUT_MASTERS:
        found[MASTERS] = None
    else:
        found.pop(MASTERS, None)
    for name in found:
        yield _choice(place, AttackState(GROUP, name, worn=place.worn), group=name)


def _secrets(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    elif place.name:
        account = world.token_secrets.get((place.namespace, place.name))
        if account is not None:
            yield _choice(place, subject_state(account), namespace=place.namespace, account=account.name)
    else:
        for name in world.secrets.get(place.namespace, ()):
            if (place.namespace, name) in world.token_secrets:
                target = AttackState(states.SECRETS, name, place.namespace)
                yield _choice(place, target, namespace=place.namespace, secret=name)


def _set(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    for target, variables in world.members(place):
        yield _choice(place, target, **variables)


def _widened(world: ClusterFacts, place: AttackState) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)


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
    states.NAMESPACE: _widened,
    states.RULES: _widened,
}
