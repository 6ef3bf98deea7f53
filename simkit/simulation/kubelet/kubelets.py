"""All simulated kubelets of a cluster as one controller: heartbeats of nodes, and the status of their pods.

Upstream: pkg/kubelet and k8s.io/component-helpers/apimachinery/lease, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.client.controller import Client, Perform
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, uid_of
from simkit.client.requests import path_of
from simkit.client.resources import NODES, PODS
from simkit.client.work_queue import WorkQueue
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import Clock, moment
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot
from simkit.simulation.due_times import DueTimes
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.cluster_network import remove_pod
from simkit.simulation.kubelet.container_commands import Stopping
from simkit.simulation.kubelet.container_runtime import ContainerRuntime, missing_pull_secrets, missing_volume
from simkit.simulation.kubelet.container_status import PodEnvironment, Progress
from simkit.simulation.kubelet.image_pulls import Told
from simkit.simulation.kubelet.node_config import NodeConfig, node_address, node_object, pod_range
from simkit.simulation.kubelet.pod_admission import Arrivals, rejected_status, with_resize
from simkit.simulation.kubelet.pod_status import PodNetwork, stopped_status, updated_status
from simkit.simulation.kubelet.simulated_node import (
    Heartbeats,
    NodeClient,
    PodAddresses,
    SimulatedNode,
    create_lease,
    renew_lease,
)
from simkit.simulation.scheduler.view import NO_DEVICES

_LOG: Final = logging.getLogger("simkit.kubelet")
_RETRY: Final = 1.0
_MOUNT_RETRY: Final = 2.0
_INSTANT: Final = 1e-6
"""The time by which a last report is later, so that it is news also where the clock stands still."""


class Kubelets:
    """The kubelets of all simulated nodes.

    Parameters
    ----------
    perform
        Sends a request in the name of a node.
    behaviours
        How pods behave.
    events
        Whether kubelets record events about pods; without them twice as many pods start in the same time.
    """

    name = "simulated-kubelets"
    account = "system:simulated-kubelets"

    def __init__(
        self, clock: Clock, perform: Perform, behaviours: Behaviours, *, release: str, events: bool = True
    ) -> None:
        self._clock, self._perform, self.behaviours, self._release = clock, perform, behaviours, release
        self._records_events = events
        self._recorder = EventRecorder(clock, "kubelet")
        self._nodes: dict[str, SimulatedNode] = {}
        self.origin: Callable[[], None] | None = None
        """Has those of a fork learn what the ones of its origin know, which happens when that is first asked for."""
        version = tuple(map(int, release.split(".")))
        self.runtime = ContainerRuntime(
            clock,
            perform,
            behaviours,
            resizes=version >= (1, 33),
            tells_cause=version >= (1, 32),
        )
        behaviours.on_fault = self._tell_fault
        self._due = DueTimes()
        self._failed = WorkQueue[Key]("simulated-kubelets", clock)
        """Pods that are looked at now, and those that could not be, with the times of the next tries."""
        self._heartbeats = Heartbeats(clock, perform)
        self._network_condition = version >= (1, 29)
        self._arrivals = Arrivals()
        self._does_resize, self._tells_generation = version >= (1, 33), version >= (1, 34)
        self._written: dict[Key, str] = {}
        """The versions of pods with a status of ours, which need no second look."""
        self._urgent: set[Key] = set()
        """Pods to be looked at without a change or a time that was set."""
        self.woken: Callable[[], None] = lambda: None
        """Called when there is something to do that nobody else knows of."""
        self.unknown: frozenset[GroupResource] = frozenset()
        """Resources of which a loaded dump has no objects: that one of them is missing says nothing."""
        self._returned: set[str] = set()
        """Nodes whose pods have to be looked at, since they were away."""

    # Nodes

    @property
    def nodes(self) -> dict[str, SimulatedNode]:
        """The nodes by name."""
        if self.origin is not None:
            learn, self.origin = self.origin, None
            learn()
        return self._nodes

    def register(self, config: NodeConfig, number: int, ordinal: int) -> Object:
        """Create a node as its kubelet does. Raises SimkitError where it cannot."""
        now = self._clock.now()
        wanted = node_object(config, number, ordinal, self._release, now)
        addresses = PodAddresses(wanted["spec"]["podCIDR"])
        node = SimulatedNode(name_of(wanted), wanted["status"]["addresses"][0]["address"], addresses)
        client = NodeClient(self._perform, node)
        response = client.perform(Request.of("POST", path_of(NODES), wanted))
        if not response.succeeded:
            raise SimkitError(f"node {node.name} cannot be registered: {response.object['message']}")
        made: Object = response.object
        self._adopt_node(node, now)
        create_lease(client, node, made, now)
        return made

    def adopt(self, node: Object, ordinal: int, pods: Sequence[tuple[str, str]] = ()) -> None:
        """Run a kubelet for a node that is there already, such as one of a dump; ``pods`` are uids and addresses."""
        told = at(node, "status", "addresses") or ()
        known = (each.get("address") for each in told if each.get("type") == "InternalIP")
        internal = next(filter(None, known), node_address(ordinal))
        addresses = PodAddresses(at(node, "spec", "podCIDR") or pod_range(ordinal))
        for uid, address in pods:
            addresses.of(uid, address)
        ready = find(at(node, "status", "conditions"), "Ready") or {}
        since = ready.get("lastTransitionTime")
        made, now = SimulatedNode(name_of(node), internal, addresses), self._clock.now()
        self._adopt_node(made, 0.0)
        made.healthy_since = moment(since) if since else now
        create_lease(NodeClient(self._perform, made), made, node, now)

    def _adopt_node(self, node: SimulatedNode, now: float) -> None:
        node.reported = node.healthy_since = now
        self.nodes[node.name] = node
        self._heartbeats.begin(now)

    def stop(self, name: str) -> None:
        """Have a kubelet fall silent: no heartbeats, and nothing happens to its pods."""
        node, now = self._known(name), self._clock.now()
        node.alive = False
        renew_lease(NodeClient(self._perform, node), node, now + _INSTANT, self._heartbeats.period(len(self.nodes)))

    def start(self, name: str) -> None:
        """Have a silent kubelet come back."""
        node = self._known(name)
        node.alive, node.reported = True, 0.0
        node.healthy_since = self._clock.now()
        self._heartbeats.hurry()
        self._returned.add(name)

    def _known(self, name: str) -> SimulatedNode:
        if name not in self.nodes:
            raise SimkitError(f"no simulated node {name!r}; there are {', '.join(sorted(self.nodes)[:10]) or 'none'}")
        return self.nodes[name]

    def keeps_alive(self, name: str) -> bool:
        """True if a node lives: its kubelet reports whenever somebody lets time pass, so silence says nothing."""
        node = self.nodes.get(name)
        return node is not None and node.alive

    # The controller

    @property
    def next_time(self) -> float | None:
        if self._urgent:
            return 0.0
        times = (self._due.first, self._failed.next_time, self._heartbeats.next_time(len(self.nodes)))
        return min((each for each in times if each is not None), default=None)

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key.resource == NODES:
            return key.name in self.nodes and change.type == "DELETED"
        return key.resource == PODS and at(change.entry.object, "spec", "nodeName") in self.nodes

    def reset_backoff(self) -> None:
        self._failed.retry_now()

    def resume_from(self, other: Kubelets) -> None:
        """Know the nodes of the kubelets that these are a fork of; their programs are run again when needed."""
        self.origin = None
        for node in other.nodes.values():
            copy = SimulatedNode(node.name, node.address, node.addresses.fork())
            copy.resume_from(node)
            self.nodes[node.name] = copy
        self.unknown = other.unknown
        self._heartbeats.resume_from(other._heartbeats)
        self.runtime.resume_from(other.runtime)
        self._due.copy_from(other._due)
        self._failed.copy_from(other._failed)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        lister, now = Lister(snapshot), self._clock.now()
        keys = self._take(changes or ())
        if changes is None or self._returned:
            pods = [pod for pod in snapshot.scan(PODS) if self._needs_look(pod, everything=changes is None)]
            self._returned.clear()
            keys += [Key(PODS, namespace_of(pod), name_of(pod)) for pod in pods]
        keys += [*self._due.overdue(now), *(self._urgent.pop() for _ in range(len(self._urgent)))]
        keys += sorted(self._failed.due())
        self._failed.add(keys)
        self._arrivals.begin()
        for key in dict.fromkeys(keys):
            self._due.drop(key)
            self._failed.process((key,), lambda key: self._sync_pod(lister, key))
        self._heartbeats.beat(lister, self.nodes, now)

    def _needs_look(self, pod: Object, *, everything: bool) -> bool:
        """True if a pod is looked at though it has not changed. What runs already, as in a dump, is left as it is."""
        node = at(pod, "spec", "nodeName")
        known = at(pod, "status", "startTime") or find(at(pod, "status", "conditions"), "Ready")
        fresh = not known or bool(metadata(pod).get("deletionTimestamp"))
        return node in self._returned or (everything and fresh and node in self.nodes)

    def _take(self, changes: Sequence[Change]) -> list[Key]:
        keys = []
        for change in changes:
            key, obj = change.entry.key, change.entry.object
            if key.resource == NODES:
                if change.type == "DELETED":
                    self.nodes.pop(key.name, None)
            elif change.type == "DELETED":
                self._forget(obj)
                self._written.pop(key, None)
            elif self._written.pop(key, "") != metadata(obj).get("resourceVersion"):
                keys.append(key)
        return keys

    def look_at(self, key: Key) -> None:
        """Look at a pod at once, because its program has ended in the meantime. May be called from any thread."""
        self._urgent.add(key)
        self.woken()

    def _forget(self, pod: Object) -> None:
        node = self.nodes.get(at(pod, "spec", "nodeName") or "")
        if node is not None:
            node.addresses.release(uid_of(pod))
        self.runtime.forget(pod)

    # Pods

    def _sync_pod(self, lister: Lister, key: Key) -> None:
        pod = lister.get(key)
        node = self.nodes.get(at(pod, "spec", "nodeName") or "")
        if pod is None or node is None or not node.alive:
            return
        client = NodeClient(self._perform, node)
        if metadata(pod).get("deletionTimestamp"):
            self._stop_pod(client, pod, key)
            return
        if has_ended(pod):
            node.addresses.release(uid_of(pod))
            return
        stored = lister.get(Key(NODES, "", node.name))
        if not at(pod, "status", "startTime") and (objection := self._arrivals.objection(pod, stored, lister)):
            self._event(client, pod, (*objection, True))
            self._write(client, pod, rejected_status(pod, *objection, self._clock.now()), key)
            return
        progress = Progress(self._clock.now())
        network = self._pod_network(node, pod)
        environment = self._pod_environment(client, lister, network)
        pending = at(pod, "status", "phase") == "Pending"
        unmounted = missing_volume(pod, lister, self.unknown) if pending else ""
        hindrance = unmounted or (NO_DEVICES if pending and at(pod, "spec", "resourceClaims") else "")
        if pending and (missing := missing_pull_secrets(pod, lister, self.unknown)):
            self._event(client, pod, ("FailedToRetrieveImagePullSecret", missing, True))
        if hindrance:
            reason = "FailedMount" if unmounted else "FailedPrepareDynamicResources"
            self._event(client, pod, (reason, hindrance, True))
            progress.look_again(progress.now + _MOUNT_RETRY)
            held: Object = {**pod, "metadata": {**metadata(pod), "annotations": {"simkit/start-after": "876000h"}}}
            status = updated_status(held, network, Progress(progress.now), environment)
        else:
            status = updated_status(pod, network, progress, environment)
        if self._does_resize:
            generation = metadata(pod).get("generation") if self._tells_generation else None
            status["conditions"] = with_resize(pod, status["conditions"], generation, progress.now)
        self._due.set(key, progress.due)
        if status != pod.get("status"):
            self._write(client, pod, status, key)

    def _pod_network(self, node: SimulatedNode, pod: Object) -> PodNetwork:
        if at(pod, "spec", "hostNetwork"):
            return PodNetwork(node.address, node.address, self._network_condition)
        known = at(pod, "status", "podIP") or ""
        return PodNetwork(node.address, node.addresses.of(uid_of(pod), known), self._network_condition)

    def _pod_environment(self, client: Client, lister: Lister, network: PodNetwork) -> PodEnvironment:
        def tell(pod: Object, container: Mapping[str, Any], told: Told) -> None:
            self._event(client, pod, told, container.get("name", ""))

        return self.runtime.of_pod(lister, network.address, tell, self.unknown)

    def _event(self, client: Client, pod: Object, told: Told, container: str = "") -> None:
        reason, message, warning = told
        if self._records_events:
            field = f"spec.containers{{{container}}}" if container else ""
            self._recorder.event(client, pod, reason, message, warning=warning, field_path=field)

    def _tell_fault(self, pod: Object, fault: str) -> None:
        """Record an Event about a function of a test that failed for a pod. Called from any thread."""
        _LOG.error("%s", fault)
        node = self.nodes.get(at(pod, "spec", "nodeName") or "")
        if node is not None:
            self._event(NodeClient(self._perform, node), pod, ("Failed", f"Error: {fault}", True))

    def _write(self, client: Client, pod: Object, status: Mapping[str, Any], key: Key) -> None:
        """Put a status; where somebody was faster, the change of theirs leads here again."""
        body = {**pod, "status": status}
        path = path_of(PODS, key.namespace, key.name, "status")
        response = client.perform(Request.of_object("PUT", path, body))
        if response.succeeded and not has_ended(body):
            self._written[key] = str(metadata(response.shown).get("resourceVersion"))
        if response.succeeded or response.status in (404, 409):
            return
        _LOG.warning("status of pod %s/%s: %s", key.namespace, key.name, response.body[:300])
        self._due.set(key, self._clock.now() + _RETRY)

    def _stop_pod(self, client: Client, pod: Object, key: Key) -> None:
        """Stop the containers, tell of it, and then have the pod removed."""
        now, stopping = self._clock.now(), Stopping(0.0, {}, 0)
        if not has_ended(pod):

            def warn(container: str, reason: str) -> None:
                self._event(client, pod, (reason, "PreStopHook failed", True), container)

            if not self.runtime.hooks.is_stopping(pod) and at(pod, "status", "phase") == "Running":
                for name in (each.get("name", "") for each in at(pod, "spec", "containers") or ()):
                    self._event(client, pod, ("Killing", f"Stopping container {name}", False), name)
            stopping = self.runtime.hooks.stopping(pod, now, warn)
            if now < stopping.due:
                self._due.set(key, stopping.due)
                return
        self.runtime.processes.kill(pod, now, stopping.code)
        status = stopped_status(pod, now, stopping.codes, stopping.code)
        if status != (pod.get("status") or {}):
            self._write(client, pod, status, key)
        remove_pod(client, pod)
