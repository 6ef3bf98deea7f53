"""What a place brings with it: choices among many, tokens of pods, pods of nodes, keys of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.analysis.escalation import place as at_place
from simkit.analysis.escalation.edge import Edge
from simkit.analysis.escalation.place import ALL, CLUSTER_ADMIN, Place, at_subject, rules_place
from simkit.analysis.escalation.primitive import primitives
from simkit.analysis.escalation.world import World
from simkit.analysis.escalation.yields import WITHOUT_MASTERS
from simkit.logic.rbac.binding import GROUP, ROLES, USER
from simkit.meta.identity import MASTERS
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of

Surrounding = Callable[[World, Place], Iterator[Edge]]


def surroundings(world: World, place: Place) -> Iterator[Edge]:
    """The edges that a place has by itself, whoever is there.

    Set-valued places spread their members here, so that a grant for many costs one edge for each holder.
    """
    found = _SURROUNDINGS.get(place.kind)
    return found(world, place) if found else iter(())


def _choice(place: Place, target: Place, **variables: str) -> Edge:
    return Edge(place, target, variables=tuple(variables.items()))


def _step(place: Place, target: Place, primitive: str, **variables: str) -> Edge:
    cost = primitives().primitive(primitive).ways[0].cost
    return Edge(place, target, primitive, 0, tuple(variables.items()), cost=cost)


def _everywhere(world: World, place: Place) -> Iterator[Edge]:
    """From a thing in all namespaces to the thing in each."""
    for namespace in world.enforced:
        yield _choice(place, place._replace(namespace=namespace), namespace=namespace)


def _accounts(world: World, place: Place) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    for account in world.accounts.get(place.namespace, ()):
        target = at_subject(account, worn=place.worn)
        yield _choice(place, target, namespace=account.namespace, account=account.name)


def _roles(world: World, place: Place) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
        return
    for role in world.scan(ROLES, place.namespace):
        target = rules_place(_key(role), place.namespace)
        yield _choice(place, target, namespace=place.namespace, role=name_of(role))


def _key(role: Object) -> Key:
    return Key(ROLES, namespace_of(role), name_of(role))


def _pods(world: World, place: Place) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    for pod in world.pods.get(place.namespace, ()):
        yield _choice(place, _at_pod(pod), **_pod_variables(pod))


def _at_pod(pod: Object) -> Place:
    return Place(at_place.POD, name_of(pod), namespace_of(pod))


def _pod_variables(pod: Object) -> dict[str, str]:
    node = at(pod, "spec", "nodeName") or ""
    return {"namespace": namespace_of(pod), "pod": name_of(pod), **({"node": node} if node else {})}


def _pod(world: World, place: Place) -> Iterator[Edge]:
    pod = world.pod(place.namespace, place.name)
    if pod is None:
        return
    variables = _pod_variables(pod)
    account = world.account_of(pod)
    if account is not None:
        yield _step(place, at_subject(account), "K0", **variables, account=account.name)
    if "node" in variables:
        for escape in world.escapes(pod):
            target = Place(at_place.NODE, variables["node"])
            yield _step(place, target, escape.primitive, **variables, detail=escape.because)


def _nodes(world: World, place: Place) -> Iterator[Edge]:
    for node in world.nodes:
        yield _choice(place, Place(at_place.NODE, node), node=node)


def _node(world: World, place: Place) -> Iterator[Edge]:
    if place.name in world.control_plane:
        yield _step(place, CLUSTER_ADMIN, "E7", node=place.name)
    for pod in world.pods_on.get(place.name, ()):
        yield _step(place, _at_pod(pod), "K5", **_pod_variables(pod))
    yield _step(place, Place(at_place.NODE_IDENTITY, place.name), "K18", node=place.name)


def _node_identity(world: World, place: Place) -> Iterator[Edge]:
    for pod in world.pods_on.get(place.name, ()):
        account = world.account_of(pod)
        if account is not None:
            yield _step(place, at_subject(account), "E6", **_pod_variables(pod), account=account.name)


def _users(world: World, place: Place) -> Iterator[Edge]:
    for subject in world.index.subjects():
        if subject.kind == USER:
            yield _choice(place, at_subject(subject, worn=place.worn), user=subject.name)


def _groups(world: World, place: Place) -> Iterator[Edge]:
    found = dict.fromkeys(subject.name for subject in world.groups)
    if place.name != WITHOUT_MASTERS:
        found[MASTERS] = None
    else:
        found.pop(MASTERS, None)
    for name in found:
        yield _choice(place, Place(GROUP, name, worn=place.worn), group=name)


def _secrets(world: World, place: Place) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)
    elif place.name:
        account = world.token_secrets.get((place.namespace, place.name))
        if account is not None:
            yield _choice(place, at_subject(account), namespace=place.namespace, account=account.name)
    else:
        for name in world.secrets.get(place.namespace, ()):
            if (place.namespace, name) in world.token_secrets:
                target = Place(at_place.SECRETS, name, place.namespace)
                yield _choice(place, target, namespace=place.namespace, secret=name)


def _set(world: World, place: Place) -> Iterator[Edge]:
    for target, variables in world.members(place):
        yield _choice(place, target, **variables)


def _widened(world: World, place: Place) -> Iterator[Edge]:
    if place.namespace == ALL:
        yield from _everywhere(world, place)


_SURROUNDINGS: Final[Mapping[str, Surrounding]] = {
    at_place.ACCOUNTS: _accounts,
    at_place.ROLES_OF: _roles,
    at_place.PODS: _pods,
    at_place.POD: _pod,
    at_place.NODES: _nodes,
    at_place.NODE: _node,
    at_place.NODE_IDENTITY: _node_identity,
    at_place.USERS: _users,
    at_place.GROUPS: _groups,
    at_place.SECRETS: _secrets,
    at_place.SET: _set,
    at_place.NAMESPACE: _widened,
    at_place.RULES: _widened,
}
