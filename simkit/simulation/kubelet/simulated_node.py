"""One simulated node: its identity, its lease, and what its kubelet reports of it.

Upstream: pkg/kubelet/kubelet_node_status.go and k8s.io/component-helpers/apimachinery/lease, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import path_of
from simkit.engine.controllers.controller_manager import Client, Perform
from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import LEASES, NODES
from simkit.engine.seams import Change
from simkit.meta.clock import micro_time
from simkit.meta.domain import NODE_LEASE_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.addresses import PodAddresses
from simkit.simulation.kubelet.eviction_settings import EvictionSettings
from simkit.simulation.kubelet.node_config import node_conditions
from simkit.simulation.kubelet.node_images import NodeImages

LEASE_SECONDS: Final = 40
"""Seconds for which a lease lasts."""
_MERGE: Final = "application/merge-patch+json"


class SimulatedNode:
    """One kubelet."""

    def __init__(self, name: str, address: str, addresses: PodAddresses) -> None:
        self.name, self.address, self.addresses = name, address, addresses
        self.identity = Identity(f"system:node:{name}", ("system:nodes", MASTERS, AUTHENTICATED))
        self.alive = True
        self.pods_in_stages = self.status_in_stages = False
        """True if stages, and not this kubelet, say what becomes of its pods, and of its node."""
        self.reported = 0.0
        self.healthy_since = 0.0
        self.images = NodeImages()
        self.eviction = EvictionSettings()
        self.pressures: dict[str, tuple[bool, float]] = {}
        """Conditions of pressure that held once: whether each holds, and since when."""

    def resume_from(self, other: SimulatedNode) -> None:
        """Be in the state of the node that this is a fork of."""
        self.alive, self.reported, self.healthy_since = other.alive, other.reported, other.healthy_since
        self.pods_in_stages, self.status_in_stages = other.pods_in_stages, other.status_in_stages
        self.eviction, self.pressures = other.eviction, dict(other.pressures)
        self.images = other.images.fork()

    @property
    def pressing(self) -> list[str]:
        """The conditions of pressure that hold."""
        return [kind for kind, (holds, _) in self.pressures.items() if holds]


class NodeClient:
    """Requests in the name of one node."""

    def __init__(self, perform: Perform, node: SimulatedNode) -> None:
        self._perform, self._node = perform, node

    def perform(self, request: Request) -> Response:
        headers = {**request.headers, "user-agent": ("kubelet",)}
        sent = Request(request.method, request.path, request.query, headers, request.body, value=request.value)
        return self._perform(sent, self._node.identity)


def create_lease(client: Client, node: SimulatedNode, made: Object, now: float) -> None:
    """Create the lease of a node, unless it has one."""
    lease = {
        "apiVersion": f"{LEASES.group}/v1",
        "kind": "Lease",
        "metadata": {
            "name": node.name,
            "namespace": NODE_LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": uid_of(made)}],
        },
        "spec": {
            "holderIdentity": node.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(now),
        },
    }
    client.perform(Request.of("POST", path_of(LEASES, NODE_LEASE_NAMESPACE), lease))


def renew_lease(client: Client, node: SimulatedNode, now: float, period: float) -> None:
    """Renew the lease by which a node says that it lives, and does so again after a period."""
    lasts = max(LEASE_SECONDS, int(4 * period))
    change = {"spec": {"renewTime": micro_time(now), "holderIdentity": node.name, "leaseDurationSeconds": lasts}}
    path = path_of(LEASES, NODE_LEASE_NAMESPACE, node.name)
    client.perform(Request.of("PATCH", path, change, content_type=_MERGE))


def report_conditions(client: Client, lister: Lister, node: SimulatedNode, now: float) -> None:
    """Write the conditions of a node, with those of others kept."""
    stored = lister.get(Key(NODES, "", node.name))
    if stored is None:
        return
    told = node_conditions(now, node.healthy_since, node.pressures)
    own = {each["type"] for each in told}
    others = [each for each in at(stored, "status", "conditions") or () if each.get("type") not in own]
    path = path_of(NODES, "", node.name, "status")
    change: dict[str, Any] = {"conditions": [*told, *others]}
    if node.images.changed:
        change["images"], node.images.changed = node.images.listed(), False
    client.perform(Request.of("PATCH", path, {"status": change}, content_type=_MERGE))


def nodes_of(changes: Sequence[Change]) -> set[str]:
    """The nodes that changes concern."""
    return {
        change.entry.key.name
        if change.entry.key.resource == NODES
        else str(at(change.entry.object, "spec", "nodeName") or "")
        for change in changes
    }
