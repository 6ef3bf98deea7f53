"""The eviction managers of all simulated kubelets as one controller: conditions of pressure, and evicted pods.

Upstream: pkg/kubelet/eviction/eviction_manager.go (``synchronize``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from simkit.client.controller import Client, Perform
from simkit.client.event_recorder import EventRecorder, node_reference
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import path_of
from simkit.client.resources import NODES, PODS
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import Clock, SimulatedClock, timestamp
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, name_of
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot
from simkit.simulation.kubelet.behaviour import Behaviour
from simkit.simulation.kubelet.kubelets import Kubelets
from simkit.simulation.kubelet.pod_admission import EVICTED, is_critical
from simkit.simulation.kubelet.pod_status import given_up
from simkit.simulation.kubelet.simulated_node import NodeClient, SimulatedNode, nodes_of, report_conditions
from simkit.simulation.metrics.metrics_server import UsageModel
from simkit.simulation.pressure.eviction_order import (
    CONDITIONS,
    SETTINGS,
    Met,
    PodConsumption,
    beyond_limits,
    capacities,
    consumption,
    eviction_message,
    in_order,
    met,
    tells_usage,
    thresholds,
    used_besides,
)

_AFTER_EVICTION: Final = 1.0
"""Seconds after which a kubelet looks again when it has evicted a pod."""
_MONITOR: Final = 10.0
"""Seconds between two looks at usage that changes with time."""
_MONITOR_SIMULATED: Final = 60.0
"""The same on a clock that is turned, so that a day passes quickly."""
_KILLED: Final = 137
_EVENTS: Final[Mapping[str, tuple[str, str]]] = {
    "MemoryPressure": ("NodeHasSufficientMemory", "NodeHasInsufficientMemory"),
    "DiskPressure": ("NodeHasNoDiskPressure", "NodeHasDiskPressure"),
    "PIDPressure": ("NodeHasSufficientPID", "NodeHasInsufficientPID"),
}


@dataclass(slots=True)
class _Watched:
    """The pressure on one node, as far as it is known."""

    met: set[str] = field(default_factory=set)
    """The conditions whose threshold was met at the last look."""
    last: dict[str, float] = field(default_factory=dict)
    """The time at which the threshold of each condition was met last."""
    pauses_until: float = 0.0
    """The time until which the last evicted pod may take to end."""

    def copy(self) -> _Watched:
        return _Watched(set(self.met), dict(self.last), self.pauses_until)


class EvictionManager:
    """Looks at a node when what it uses may have changed. Nodes of which nobody says what they use are left alone.

    Parameters
    ----------
    perform
        Sends a request in the name of a node.
    kubelets
        The kubelets of the nodes.
    events
        Whether events are recorded.
    disruption
        Whether pods are told that they were disrupted (from 1.26 on).

    Notes
    -----
    A kubelet evicts one pod at a time, until enough is free.
    """

    name = "simulated-eviction-manager"
    account = "system:simulated-kubelets"

    def __init__(
        self, clock: Clock, perform: Perform, kubelets: Kubelets, *, events: bool = True, disruption: bool = True
    ) -> None:
        self._clock, self._perform, self._kubelets = clock, perform, kubelets
        self._records_events, self._disruption = events, disruption
        self._recorder = EventRecorder(clock, "kubelet")
        self._watched: dict[str, _Watched] = {}
        self._due: dict[str, float] = {}

    @property
    def next_time(self) -> float | None:
        return min(self._due.values(), default=None)

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key.resource == PODS:
            pod = change.entry.object
            node = at(pod, "spec", "nodeName")
            return node in self._kubelets.nodes and (node in self._watched or self._is_told(pod))
        if key.resource != NODES:
            return False
        obj = change.entry.object
        if not (key.name in self._watched or tells_usage(obj)):
            return False
        before = change.previous.object if change.previous is not None else {}
        return change.type == "DELETED" or _told(obj) != _told(before)

    def _is_told(self, pod: Object) -> bool:
        return tells_usage(pod) or any(map(_tells, self._kubelets.behaviours.given))

    def reset_backoff(self) -> None:
        """Do nothing: nothing waits for another try."""

    def resume_from(self, other: EvictionManager) -> None:
        """Know the pressure of the nodes that these are a fork of."""
        self._due = dict(other._due)
        self._watched = {name: each.copy() for name, each in other._watched.items()}

    def look_again(self) -> None:
        """Look at all nodes, since something was said of what pods use."""
        self._due |= dict.fromkeys(self._kubelets.nodes, 0.0)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        lister, now = Lister(snapshot), self._clock.now()
        changed = self._named(snapshot) if changes is None else nodes_of(changes)
        self._due |= dict.fromkeys(changed, 0.0)
        behaviours = self._kubelets.behaviours
        usage = cache(lambda: UsageModel(behaviours, self._clock, lister.scan(PODS)))
        for name in sorted(name for name, when in self._due.items() if when <= now):
            del self._due[name]
            node, stored = self._kubelets.nodes.get(name), lister.get(Key(NODES, "", name))
            if node is None or stored is None:
                self._watched.pop(name, None)
            elif node.alive:
                when = self._look(lister, usage(), node, stored, now)
                if when is not None:
                    self._due[name] = when

    def _named(self, snapshot: Snapshot) -> Iterable[str]:
        known = self._kubelets.nodes
        found = {name_of(node) for node in snapshot.scan(NODES) if name_of(node) in known and tells_usage(node)}
        found |= {at(pod, "spec", "nodeName") for pod in snapshot.scan(PODS) if self._is_told(pod)} & known.keys()
        return found | self._watched.keys()

    def _look(self, lister: Lister, usage: UsageModel, node: SimulatedNode, stored: Object, now: float) -> float | None:
        """Look at one node; gives back when to look again without a change."""
        watched = self._watched.setdefault(node.name, _Watched())
        behaviours = self._kubelets.behaviours
        pods = [consumption(pod, usage, behaviours) for pod in lister.pods_on(node.name) if not has_ended(pod)]
        capacity = capacities(at(stored, "status", "capacity") or {})
        besides = used_besides(stored, capacity)
        used = {name: besides.get(name, 0) + sum(pod.used(name) for pod in pods) for name in SETTINGS}
        short = met(thresholds(node.eviction), capacity, used)
        self._note(lister, node, stored, watched, short, now)
        times = [
            watched.last[each] + node.eviction.transition_period for each in node.pressing if each not in watched.met
        ]
        if now >= watched.pauses_until and self._evict(node, stored, pods, short, now):
            watched.pauses_until = now + _AFTER_EVICTION
        if now < watched.pauses_until:
            times.append(watched.pauses_until)
        if any(each.usage is not None for each in behaviours.given):
            times.append(now + (_MONITOR_SIMULATED if isinstance(self._clock, SimulatedClock) else _MONITOR))
        return min(times, default=None)

    def _note(
        self, lister: Lister, node: SimulatedNode, stored: Object, watched: _Watched, short: Sequence[Met], now: float
    ) -> None:
        """Keep which conditions hold, and report those that have changed."""
        present = {CONDITIONS[each.resource] for each in short}
        watched.last |= dict.fromkeys(present | watched.met, now)  # what was met held until now
        watched.met = present
        period, changed = node.eviction.transition_period, []
        for kind, last in watched.last.items():
            holds = kind in present or now - last < period
            if holds is not (node.pressures.get(kind, (False, 0.0))[0]):
                node.pressures[kind] = (holds, now)
                changed.append((kind, holds))
        if changed:
            node.reported = now
            report_conditions(NodeClient(self._perform, node), lister, node, now)
        for kind, holds in changed:
            self._tell(
                node,
                node_reference(stored),
                _EVENTS[kind][holds],
                f"Node {node.name} status is now: {_EVENTS[kind][holds]}",
            )

    def _evict(
        self, node: SimulatedNode, stored: Object, pods: Sequence[PodConsumption], short: Sequence[Met], now: float
    ) -> bool:
        """Evict the pods that use too much disk, else one pod for what is short; gives back whether one was."""
        greedy = list(beyond_limits(pods))
        for pod, message in greedy:
            self._end(node, pod.pod, message, now, disrupted=False)
        if greedy or not short:
            return bool(greedy)
        text = f"Attempting to reclaim {short[0].resource}"
        self._tell(node, node_reference(stored), "EvictionThresholdMet", text, warning=True)
        active = [each for each in pods if not is_terminating(each.pod)]
        for pod in in_order(active, short[0].resource):
            if not is_critical(pod.pod):
                self._end(node, pod.pod, eviction_message(pod, short[0]), now, disrupted=self._disruption)
                return True
        return False

    def _end(self, node: SimulatedNode, pod: Object, message: str, now: float, *, disrupted: bool) -> None:
        self._tell(node, pod, EVICTED, message, warning=True)
        for container in at(pod, "spec", "containers") or ():
            if at(pod, "status", "phase") == "Running":
                name = container.get("name", "")
                self._tell(node, pod, "Killing", f"Stopping container {name}", part=f"spec.containers{{{name}}}")
        codes = self._kubelets.runtime.processes.stop(pod, now)
        late = self._stops_late(pod)
        codes = dict.fromkeys(codes, _KILLED) if late else codes
        status = given_up(pod, now, EVICTED, message, codes, code=_KILLED if late else 0)
        if disrupted:
            told = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message}
            status["conditions"] = with_condition(status["conditions"], told, timestamp(now))
        path = path_of(PODS, pod["metadata"]["namespace"], name_of(pod), "status")
        NodeClient(self._perform, node).perform(Request.of_object("PUT", path, {**pod, "status": status}))

    def _stops_late(self, pod: Object) -> bool:
        """True if a container does not stop in the second that it has."""
        behaviours = self._kubelets.behaviours
        containers = at(pod, "spec", "containers") or ()
        return any(behaviours.duration(pod, each, "stop-after") > _AFTER_EVICTION for each in containers)

    def _tell(
        self, node: SimulatedNode, about: Object, reason: str, message: str, *, warning: bool = False, part: str = ""
    ) -> None:
        if self._records_events:
            client = NodeClient(self._perform, node)
            self._recorder.event(client, about, reason, message, warning=warning, field_path=part)


def _tells(behaviour: Behaviour) -> bool:
    return behaviour.usage is not None or any(name in behaviour.settings for name in SETTINGS.values())


def _told(node: Object) -> Mapping[str, Any]:
    """The parts of a node that say how much it has and uses."""
    return {
        "annotations": annotations_of(node) if tells_usage(node) else {},
        "capacity": at(node, "status", "capacity"),
        "images": at(node, "status", "images"),
    }
