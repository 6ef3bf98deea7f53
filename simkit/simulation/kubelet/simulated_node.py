"""One simulated node: its identity, its addresses, its lease and heartbeats, and what its kubelet reports of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from ipaddress import ip_network
from typing import Final

from simkit.client.controller import Client, Perform
from simkit.client.lister import Lister, uid_of
from simkit.client.requests import path_of
from simkit.client.resources import LEASES, NODES
from simkit.client.work_queue import WorkQueue
from simkit.meta.clock import Clock, SimulatedClock, micro_time
from simkit.meta.domain import NODE_LEASE_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.node_config import node_conditions

# Addresses of pods, given out by node


class PodAddresses:
    """The addresses of one node's range, the next free one after the last that was given out."""

    def __init__(self, cidr: str) -> None:
        network = ip_network(cidr)
        self._first, self._count = network.network_address + 1, max(1, network.num_addresses - 2)
        self._next = 0
        self._held: dict[str, str] = {}
        """Addresses by uid."""
        self._taken: set[str] = set()

    def fork(self) -> PodAddresses:
        """An independent copy."""
        copy = PodAddresses.__new__(PodAddresses)
        copy._first, copy._count, copy._next = self._first, self._count, self._next
        copy._held, copy._taken = dict(self._held), set(self._taken)
        return copy

    def of(self, uid: str, known: str = "") -> str:
        """The address of a pod, the one that it has already or a free one. Raises SimkitError where none is free."""
        found = self._held.get(uid)
        if found is None:
            found = known or self._free()
            self._held[uid] = found
            self._taken.add(found)
        return found

    def _free(self) -> str:
        for _ in range(self._count):
            found = str(self._first + self._next)
            self._next = (self._next + 1) % self._count
            if found not in self._taken:
                return found
        raise SimkitError("the node has no address left for a pod")

    def release(self, uid: str) -> None:
        """Let the address of a pod be given out again."""
        address = self._held.pop(uid, None)
        if address is not None:
            self._taken.discard(address)


# One simulated node: its identity, its lease, and what its kubelet reports of it.
# Upstream: pkg/kubelet/kubelet_node_status.go and k8s.io/component-helpers/apimachinery/lease, release 1.30.

LEASE_SECONDS: Final = 40
"""Seconds for which a lease lasts."""
_MERGE: Final = "application/merge-patch+json"


class SimulatedNode:
    """One kubelet."""

    def __init__(self, name: str, address: str, addresses: PodAddresses) -> None:
        self.name, self.address, self.addresses = name, address, addresses
        self.identity = Identity(f"system:node:{name}", ("system:nodes", MASTERS, AUTHENTICATED))
        self.alive = True
        self.reported = 0.0
        self.healthy_since = 0.0

    def resume_from(self, other: SimulatedNode) -> None:
        """Be in the state of the node that this is a fork of."""
        self.alive, self.reported, self.healthy_since = other.alive, other.reported, other.healthy_since


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
    told = node_conditions(now, node.healthy_since)
    own = {each["type"] for each in told}
    others = [each for each in at(stored, "status", "conditions") or () if each.get("type") not in own]
    path = path_of(NODES, "", node.name, "status")
    change = {"status": {"conditions": [*told, *others]}}
    client.perform(Request.of("PATCH", path, change, content_type=_MERGE))


# Heartbeats of simulated nodes: leases that are renewed, and what their kubelets report of them.
# Upstream: pkg/kubelet/kubelet_node_status.go and k8s.io/component-helpers/apimachinery/lease, release 1.30.

_RENEW_EVERY: Final = 10.0
_RENEW_SIMULATED: Final = 300.0
"""On a clock that is turned nodes need not report to be known to live."""
_RENEWED_SIMULATED: Final = 100
"""The most leases that are renewed in that time, so that thousands of nodes live through a day in a minute."""
_RENEWED_IN_A_SECOND: Final = 50
"""The most leases that are renewed in a second: more nodes renew theirs less often."""
REPORT_EVERY: Final = 300.0
"""Seconds after which a node is reported though nothing has changed."""


class Heartbeats:
    """The heartbeats of all simulated nodes.

    Parameters
    ----------
    perform
        Sends a request in the name of a node.
    """

    def __init__(self, clock: Clock, perform: Perform) -> None:
        self._clock, self._perform = clock, perform
        self._beats = WorkQueue[str]("heartbeats", clock)
        self._renewed = 0.0

    def period(self, nodes: int) -> float:
        """Seconds between two renewals of the leases of so many nodes."""
        if isinstance(self._clock, SimulatedClock):
            return _RENEW_SIMULATED * max(1.0, nodes / _RENEWED_SIMULATED)
        return max(_RENEW_EVERY, nodes / _RENEWED_IN_A_SECOND)

    def next_time(self, nodes: int) -> float | None:
        """The time of the next heartbeat of so many nodes; None without nodes."""
        return self._renewed + self.period(nodes) if nodes else None

    def begin(self, now: float) -> None:
        """Count the time from now on, unless it is counted already."""
        self._renewed = self._renewed or now

    def hurry(self) -> None:
        """Have all nodes report as soon as possible."""
        self._renewed = 0.0

    def resume_from(self, other: Heartbeats) -> None:
        """Go on as another one, for a fork."""
        self._renewed = other._renewed

    def beat(self, lister: Lister, nodes: Mapping[str, SimulatedNode], now: float) -> None:
        """Send what is due."""
        due = self.next_time(len(nodes))
        if due is None or now < due:
            return
        period = self.period(len(nodes))
        for node in list(nodes.values()):
            if node.alive:
                self._beats.process((node.name,), partial(self._heartbeat, lister, node, now, period))
        self._renewed = now

    def _heartbeat(self, lister: Lister, node: SimulatedNode, now: float, period: float, _: str) -> None:
        client = NodeClient(self._perform, node)
        renew_lease(client, node, now, period)
        if now - node.reported >= REPORT_EVERY:
            node.reported = now
            report_conditions(client, lister, node, now)
