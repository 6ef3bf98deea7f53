"""The Node authorizer: a kubelet may read the objects that its own pods need.

Upstream: plugin/pkg/auth/authorizer/node, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.logic.authorizers import node_graph as graph
from simkit.logic.authorizers.node_graph import NodeGraph
from simkit.logic.rbac.defaults import default_objects
from simkit.logic.rbac.rule import Rule, rule_allows, rules_of
from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision, RuleList
from simkit.meta.domain import NODE_LEASE_NAMESPACE, api_group
from simkit.meta.fielderror import quoted
from simkit.meta.identity import NODE_PREFIX, Identity
from simkit.meta.identity import NODES as NODES_GROUP
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import name_of
from simkit.schema.behaviour import behaviour_of
from simkit.schema.feature_gates import parse_feature_gates

_ROLE: Final = "system:node"
LEASES: Final = GroupResource(api_group("coordination"), "leases")
CSI_NODES: Final = GroupResource(api_group("storage"), "csinodes")
_ITS_OWN: Final = ("get", "create", "update", "patch", "delete")
_POD_WRITES: Final = frozenset(
    {("", "create"), ("", "delete"), ("status", "update"), ("status", "patch"), ("eviction", "create")}
)
_ALLOWED: Final = Decision(ALLOW)
_NOTHING: Final = Decision(NO_OPINION)


def node_of(identity: Identity) -> str | None:
    """The node name of an identity; None if it is no node.

    Examples
    --------
    >>> node_of(Identity("system:node:n1", ("system:nodes",))), node_of(Identity("system:node:n1"))
    ('n1', None)
    """
    if NODES_GROUP not in identity.groups or not identity.user.startswith(NODE_PREFIX):
        return None
    return identity.user[len(NODE_PREFIX) :]


class NodeAuthorizer:
    """Allows access to objects related to the requesting node, and to those that all nodes need.

    Parameters
    ----------
    relations
        What each node has to do with.
    release
        Whose default role of nodes says what all of them need.
    gates
        The values of the release's feature gates; None: their defaults.
    """

    leaves_process: Final = False

    def __init__(self, relations: NodeGraph, release: str, gates: Mapping[str, bool] | None = None) -> None:
        self.relations = relations
        self._release, self._gates = release, gates
        values = parse_feature_gates({}, release).values if gates is None else gates
        self._reads_own_only = behaviour_of(release, values).applies("nodes-read-their-own")
        self._rules: Sequence[Rule] | None = None

    def authorize(self, ask: Attributes) -> Decision:
        """A decision on requests of nodes; a refusal is no opinion, with the reason."""
        node = node_of(ask.identity)
        if node is None:
            return _NOTHING
        if not node:
            return _no(f"unknown node for user {quoted(ask.identity.user)}")
        if ask.is_resource:
            special = _SPECIAL.get(GroupResource(ask.group, ask.resource))
            if special is not None:
                return special(self, node, ask)
        return self._as_all(ask)

    def _as_all(self, ask: Attributes) -> Decision:
        """The decision of the rules that hold for all nodes."""
        return _ALLOWED if any(rule_allows(rule, ask) for rule in self._of_all()) else _NOTHING

    def _of_all(self) -> Sequence[Rule]:
        """The rules of the role system:node, read at the first request of a node."""
        if self._rules is None:
            roles = (obj for obj in default_objects(self._release, self._gates) if obj["kind"] == "ClusterRole")
            self._rules = next(rules_of(role) for role in roles if name_of(role) == _ROLE)
        return self._rules

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """No rules; for nodes, incomplete."""
        if node_of(identity) is None:
            return RuleList()
        return RuleList(incomplete=True, error="node authorizer does not support user rule resolution")

    # What is asked of each resource in particular

    def read(self, node: str, ask: Attributes) -> Decision:
        """Secrets and config maps: one at a time, also to list and watch it."""
        if ask.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if ask.subresource:
            return _no("cannot read subresource")
        if not ask.namespace:
            return _no("can only read namespaced object of this type")
        return self.related(node, ask)

    def get(self, node: str, ask: Attributes) -> Decision:
        """Volumes, attachments, resource claims: one at a time."""
        if ask.verb != "get":
            return _no("can only get individual resources of this type")
        if ask.subresource:
            return _no("cannot get subresource")
        return self.related(node, ask)

    def claim(self, node: str, ask: Attributes) -> Decision:
        """Volume claims, and their status, which nodes write."""
        if ask.subresource != "status":
            return self.get(node, ask)
        if ask.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self.related(node, ask)

    def token(self, node: str, ask: Attributes) -> Decision:
        """Tokens of the accounts that pods of the node run as."""
        if ask.verb != "create" or not ask.name:
            return _no("can only create tokens for individual service accounts")
        if ask.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self.related(node, ask)

    def lease(self, node: str, ask: Attributes) -> Decision:
        """The node's own lease; admission checks the name of one that is created."""
        if ask.verb not in _ITS_OWN:
            return _no("can only get, create, update, patch, or delete a node lease")
        if ask.namespace != NODE_LEASE_NAMESPACE:
            return _no(f"can only access leases in the {quoted(NODE_LEASE_NAMESPACE)} system namespace")
        if ask.verb != "create" and ask.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return _ALLOWED

    def csi_node(self, node: str, ask: Attributes) -> Decision:
        """The node's own list of storage drivers."""
        if ask.verb not in _ITS_OWN:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if ask.subresource:
            return _no("cannot authorize CSINode subresources")
        if ask.verb != "create" and ask.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return _ALLOWED

    def slice(self, node: str, ask: Attributes) -> Decision:
        """Resource slices: reading all, changing the node's own."""
        if ask.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if ask.verb == "create":
            return _ALLOWED
        if ask.verb in ("watch", "list", "deletecollection"):
            if not self._reads_own_only or _selects(ask, "nodeName", node):
                return _ALLOWED
            return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        if ask.verb in ("get", "update", "patch", "delete"):
            return self.related(node, ask)
        verbs = "get, watch, list, create, update, patch, delete, deletecollection"
        return _no(f"only the following verbs are allowed for a ResourceSlice: {verbs}")

    def own_node(self, node: str, ask: Attributes) -> Decision:
        """Nodes: reading the own one, by name, since it may not exist yet; admission checks writes."""
        if not self._reads_own_only:
            return self._as_all(ask)
        part, verb = ask.subresource, ask.verb
        if verb in ("update", "patch") and part in ("", "status"):
            return _ALLOWED
        if part:
            return _NOTHING
        if verb == "create":
            return _ALLOWED
        if verb not in ("get", "list", "watch"):
            return _NOTHING
        if ask.name == node:
            return _ALLOWED
        which = f"'{ask.name}'" if ask.name else "all nodes"
        return _no(f"node '{node}' cannot read {which}, only its own Node object")

    def pod(self, node: str, ask: Attributes) -> Decision:
        """Pods: reading those of the node; admission checks which are written."""
        if not self._reads_own_only:
            return self._as_all(ask)
        if (ask.subresource, ask.verb) in _POD_WRITES:
            return _ALLOWED
        if ask.subresource or ask.verb not in ("get", "list", "watch"):
            return _NOTHING
        if ask.verb != "get" and _selects(ask, "spec.nodeName", node):
            return _ALLOWED
        if ask.verb == "get" or ask.name:
            return self.related(node, ask)
        return _no("can only list/watch pods with spec.nodeName field selector")

    def related(self, node: str, ask: Attributes) -> Decision:
        """The decision on an object that must be related to the node."""
        if not ask.name:
            return _no("No Object name found")
        key = Key(GroupResource(ask.group, ask.resource), ask.namespace, ask.name)
        if self.relations.related(node, key):
            return _ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")


def _selects(ask: Attributes, field: str, value: str) -> bool:
    """True if the field selector asks for objects with the value only."""
    return any(term.field == field and term.value == value and term.equal for term in ask.field_selector)


def _no(reason: str) -> Decision:
    return Decision(NO_OPINION, reason)


_SPECIAL: Final[Mapping[GroupResource, Callable[[NodeAuthorizer, str, Attributes], Decision]]] = {
    graph.SECRETS: NodeAuthorizer.read,
    graph.CONFIG_MAPS: NodeAuthorizer.read,
    graph.CLAIMS: NodeAuthorizer.claim,
    graph.VOLUMES: NodeAuthorizer.get,
    graph.RESOURCE_CLAIMS: NodeAuthorizer.get,
    graph.ATTACHMENTS: NodeAuthorizer.get,
    graph.ACCOUNTS: NodeAuthorizer.token,
    LEASES: NodeAuthorizer.lease,
    CSI_NODES: NodeAuthorizer.csi_node,
    graph.SLICES: NodeAuthorizer.slice,
    graph.NODES: NodeAuthorizer.own_node,
    graph.PODS: NodeAuthorizer.pod,
}
