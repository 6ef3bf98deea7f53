"""The authorizers of a snapshot in order, for questions about one subject and about everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from simkit.logic.authorizers.abac import PolicyFile, parse
from simkit.logic.authorizers.node import CSI_NODES, LEASES, NodeAuthorizer, node_of
from simkit.logic.authorizers.node_graph import ATTACHMENTS, NODES, SLICES, VOLUMES, NodeGraph
from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny, IndexAuthorizer, PrivilegedGroups, UnionAuthorizer
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.meta.attributes import Attributes, Authorizer, Decision
from simkit.meta.domain import NODE_LEASE_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, NODE_PREFIX, UNAUTHENTICATED, Identity
from simkit.meta.identity import NODES as NODES_GROUP
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import name_of
from simkit.schema.feature_gates import parse_feature_gates
from simkit.seams.snapshot import Snapshot

RBAC: Final = "RBAC"


@dataclass(frozen=True)
class OtherAuthorizer:
    """An authorizer besides RBAC, with the identities that it knows of.

    Attributes
    ----------
    mode
        Its type, as ``--authorization-mode`` names it.
    authorizer
        It itself.
    identities
        Everybody whom it may allow something, as far as the objects and its settings tell.
    keys
        The objects of a resource about which it may decide otherwise than about others.
    namespaces
        The namespaces in which it may decide otherwise than elsewhere.
    """

    mode: str
    authorizer: Authorizer
    identities: tuple[Identity, ...]
    keys: Callable[[Identity, GroupResource], Iterable[Key]] = lambda *_: ()
    namespaces: tuple[str, ...] = ()

    def concerns(self, identity: Identity) -> bool:
        """True if it may have an opinion on an identity."""
        return self.mode != "Node" or node_of(identity) is not None

    def anybody_alike(self, identity: Identity) -> Identity:
        """An identity to which it gives the same answers about requests that name no object."""
        return node_identity("any") if self.mode == "Node" else identity

    def allowed(self, identity: Identity, question: Question) -> Mapping[str, tuple[str, ...]]:
        """The namespaces in which an identity is allowed what is asked (empty: where the question is), each with the
        only names that it is allowed for (empty: all)."""
        found: dict[str, tuple[str, ...]] = {}
        for namespace, name in dict.fromkeys(self._places(identity, question)):
            if () in (found.get(namespace), found.get("")):
                continue
            if self.authorizer.authorize(_asked(question, identity, namespace, name)).allowed:
                found[namespace] = (*found.get(namespace, ()), name) if name and question.name is None else ()
        return found

    def _places(self, identity: Identity, question: Question) -> Iterator[tuple[str, str]]:
        """The namespaces and names to ask about, those without a name first."""
        name, everywhere = question.name or "", question.namespace is None
        yield question.namespace or "", name
        if not everywhere and question.name is not None:
            return
        if everywhere:
            yield from ((namespace, name) for namespace in self.namespaces)
        for key in self.keys(identity, GroupResource(question.group, question.resource)):
            if (everywhere or key.namespace == question.namespace) and question.name in (None, key.name):
                yield key.namespace, key.name


def _asked(question: Question, identity: Identity, namespace: str, name: str) -> Attributes:
    if question.path:
        return Attributes(identity, question.verb, path=question.path, is_resource=False)
    what = (question.group, "", question.resource, question.subresource)
    return Attributes(identity, question.verb, *what, namespace, name)


class AuthorizerChain:
    """The authorizers of a cluster in order; ``system:masters`` is allowed before all of them.

    Those that decide outside of the process are left out: ``snapshot.authorization.caveats`` tells.
    """

    def __init__(self, snapshot: Snapshot, index: AccessIndex) -> None:
        self._snapshot, self.modes = snapshot, snapshot.authorization.decided
        self.others = tuple(_MAKE[mode](snapshot) for mode in self.modes if mode != RBAC)
        known: dict[str, Authorizer] = {each.mode: each.authorizer for each in self.others}
        self._modules = {mode: known.get(mode) or IndexAuthorizer(index) for mode in self.modes}
        self._union = UnionAuthorizer([PrivilegedGroups(), *self._modules.values()])
        self.has_rbac = RBAC in self._modules

    def authorize(self, ask: Attributes) -> Decision:
        """The decision of the first authorizer that has one."""
        return self._union.authorize(ask)

    def speaker(self, ask: Attributes) -> str:
        """The mode that allows a request; empty for the members of ``system:masters``, and if none does."""
        if PrivilegedGroups().authorize(ask).allowed:
            return ""
        return next((mode for mode, each in self._modules.items() if each.authorize(ask).allowed), "")

    def incomplete(self, identity: Identity, namespace: str = "") -> str:
        """The reason for which a rules review of an identity is incomplete; empty if it is not."""
        lists = (each.authorizer.rules_for(identity, namespace) for each in self.others)
        return next((one.error or "not all authorizers list rules" for one in lists if one.incomplete), "")

    @cached_property
    def identities(self) -> tuple[Identity, ...]:
        """The identities that authorizers besides RBAC know of."""
        return tuple(dict.fromkeys(identity for each in self.others for identity in each.identities))


def node_identity(name: str) -> Identity:
    """The identity of a node's kubelet."""
    return Identity(f"{NODE_PREFIX}{name}", (NODES_GROUP, AUTHENTICATED))


def _node(snapshot: Snapshot) -> OtherAuthorizer:
    gates = parse_feature_gates(snapshot.authorization.feature_gates, snapshot.release).values
    graph = NodeGraph.of(snapshot)
    objects = snapshot.scan(NODES) if NODES in snapshot.captured() else ()
    names = sorted({*graph.nodes(), *map(name_of, objects)})
    identities = tuple(map(node_identity, names))
    authorizer = NodeAuthorizer(graph, snapshot.release, gates)

    def keys(identity: Identity, resource: GroupResource) -> Iterator[Key]:
        name = identity.user[len(NODE_PREFIX) :]
        if resource in (NODES, LEASES, CSI_NODES):
            yield Key(resource, NODE_LEASE_NAMESPACE if resource == LEASES else "", name)
        elif resource not in (VOLUMES, ATTACHMENTS, SLICES):
            yield from (key for key in graph.used(name) if key.resource == resource)
        elif resource in snapshot.captured():
            listed = (Key(resource, "", name_of(obj)) for obj in snapshot.scan(resource))
            yield from (key for key in listed if graph.related(name, key))

    return OtherAuthorizer("Node", authorizer, identities, keys, (NODE_LEASE_NAMESPACE,))


def _abac(snapshot: Snapshot) -> OtherAuthorizer:
    authorizer = PolicyFile(parse(snapshot.authorization.policies.splitlines()))
    named = dict.fromkeys((policy.user, policy.group) for policy in authorizer.policies)
    identities = tuple(
        Identity(user, tuple(dict.fromkeys((*([group] if group else ()), AUTHENTICATED)))) for user, group in named
    )
    namespaces = sorted({policy.namespace for policy in authorizer.policies} - {"", "*"})
    return OtherAuthorizer("ABAC", authorizer, identities, namespaces=tuple(namespaces))


_EVERYBODY: Final = (Identity("", (AUTHENTICATED,)), Identity("", (UNAUTHENTICATED,)))
_MAKE: Final[Mapping[str, Callable[[Snapshot], OtherAuthorizer]]] = {
    "Node": _node,
    "ABAC": _abac,
    "AlwaysAllow": lambda _: OtherAuthorizer("AlwaysAllow", AlwaysAllow(), _EVERYBODY),
    "AlwaysDeny": lambda _: OtherAuthorizer("AlwaysDeny", AlwaysDeny(), ()),
}
"""The constructors of authorizers besides RBAC, by mode."""
