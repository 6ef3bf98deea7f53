"""Taints nodes by their conditions, calls silent ones Unknown, and marks the pods of unready nodes as not ready.

Upstream: pkg/controller/nodelifecycle, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import expect, keys_of, merge
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder, node_reference
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.node_zones import DEFAULT_RATES, EvictionRates, NodeZones, zone_of
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import LEASES, NODES, PODS
from simkit.engine.seams import Change
from simkit.logic.workloads.nodes import condition_taints, is_condition_taint, unknown_conditions
from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import NODE_LEASE_NAMESPACE, label
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata, name_of

_OLD_LABELS: Final[Mapping[str, str]] = {label(name): label(name, "beta") for name in ("os", "arch")}
"""Labels that have another name from before, which is kept."""
_COMING_AND_GOING: Final = {
    "ADDED": ("RegisteredNode", "Registered Node {} in Controller"),
    "DELETED": ("RemovingNode", "Removing Node {} from Controller"),
}
_EXCLUDED: Final = label("exclude-disruption", "node")
_NO_EXECUTE: Final = "NoExecute"
_STARTUP_SECONDS: Final = 60.0
"""Seconds that a node may take for its first report."""
_MONITOR_SECONDS: Final = 40.0
"""Seconds that a node may be silent after a report."""


class NodeLifecycleController(ResourceWatcher):
    """Reconciles a node when it changes, and when nothing was heard of it for too long.

    Notes
    -----
    A node that never had a Ready condition becomes Unknown after the grace period of its start. One that reported, by
    heartbeats in its Ready condition or by its lease, becomes Unknown after that of monitoring. Nodes that came with
    a Ready condition, as those of a dump, stay as they are until something is heard of them: no kubelets run here.
    ``alive`` tells of nodes that need not report to be known to live, such as simulated ones.
    Nodes are tainted for evictions one after the other, more slowly in a zone of which a part is in trouble; where all
    nodes are in trouble, none is. O(nodes that wait) for each of them.
    """

    name = "node-lifecycle-controller"
    account = "node-controller"

    def __init__(
        self,
        clock: Clock,
        alive: Callable[[str], bool] = lambda _: False,
        rates: EvictionRates = DEFAULT_RATES,
    ) -> None:
        super().__init__(NODES, PODS)
        self._clock, self._alive = clock, alive
        self._events = EventRecorder(clock, self.account)
        self._news: dict[Key, tuple[str, str, Object]] = {}
        """Nodes that have come or gone: reason and text of the event, and the node."""
        self._heard: dict[str, float] = {}
        """The time of the last report of each node, by name."""
        self._zones, self._knows_zones = NodeZones(rates), False

    def resume_from(self, other: Any) -> None:
        self._news, self._heard = dict(other._news), dict(other._heard)
        self._zones.resume_from(other._zones)
        self._knows_zones = other._knows_zones

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == NODES or (key.resource == LEASES and key.namespace == NODE_LEASE_NAMESPACE)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, told = change.entry.key, _COMING_AND_GOING.get(change.type)
        if key.resource == LEASES:
            if change.type != "DELETED":
                self._heard[key.name] = self._clock.now()
            return [Key(NODES, "", key.name)]
        if told is not None:
            self._news[key] = (*told, change.entry.object)
        if not self._knows_zones:
            self._learn_zones(lister)
        zone, was_down = self._zones.zone(key.name), self._zones.all_down
        self._note(change)
        if self._zones.all_down is was_down:
            following = (self._zones.first(each) for each in (zone, self._zones.zone(key.name)))
            return _node_keys([key.name, *(each for each in following if each is not None)])
        if was_down:  # somebody answers again: the others get as much time as at their start
            self._heard = dict.fromkeys(self._heard, self._clock.now())
        return [key, *keys_of(NODES, lister.scan(NODES))]

    def _note(self, change: Change) -> None:
        """Keep what a change of a node tells: whether it is ready, and that it reported."""
        name, node = change.entry.key.name, change.entry.object
        if change.type == "DELETED":
            self._heard.pop(name, None)
            self._zones.remove(name)
            return
        self._put(node)
        ready = find(at(node, "status", "conditions"), "Ready") or {}
        before = find(at(change.previous.object if change.previous else None, "status", "conditions"), "Ready") or {}
        heartbeat = ready.get("lastHeartbeatTime")
        reported = change.previous is not None and heartbeat and heartbeat != before.get("lastHeartbeatTime")
        if reported and ready.get("status") != "Unknown":
            self._heard[name] = self._clock.now()

    def _put(self, node: Object) -> None:
        ready, counts = is_true(at(node, "status", "conditions"), "Ready"), _EXCLUDED not in labels_of(node)
        self._zones.put(name_of(node), zone_of(node), counts=counts, ready=ready)

    def _learn_zones(self, lister: Lister) -> None:
        for node in lister.scan(NODES):
            self._put(node)
        self._knows_zones = True

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        self._learn_zones(lister)
        return keys_of(NODES, lister.scan(NODES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        node = lister.get(key)
        self._announce(client, key)
        if node is None or is_terminating(node):
            return None
        self._label(client, node)
        due = self._silent_at(node)
        if due is not None and due <= self._clock.now():
            self._call_unknown(client, node)
            return None  # the change that this makes brings us back here
        turn = self._taint(client, node)
        ready = find(at(node, "status", "conditions"), "Ready")
        if ready is not None and ready.get("status") != "True":
            self._unready_pods(client, lister, key.name)
        return min((each for each in (due, turn) if each is not None), default=None)

    def _silent_at(self, node: Object) -> float | None:
        """The time at which the node becomes Unknown without further reports; None for never."""
        if self._alive(name_of(node)):
            return None
        ready, heard = find(at(node, "status", "conditions"), "Ready"), self._heard.get(name_of(node))
        if ready is None:
            created = metadata(node).get("creationTimestamp")
            return max(moment(created) if created else self._clock.now(), heard or 0.0) + _STARTUP_SECONDS
        return heard + _MONITOR_SECONDS if heard is not None and ready.get("status") != "Unknown" else None

    def _call_unknown(self, client: Client, node: Object) -> None:
        """Set the conditions that kubelets report to Unknown, and tell of a node that was ready."""
        conditions = at(node, "status", "conditions") or ()
        told = unknown_conditions(conditions, metadata(node).get("creationTimestamp"), timestamp(self._clock.now()))
        meta = {"resourceVersion": metadata(node)["resourceVersion"]}
        response = merge(client, NODES, node, {"metadata": meta, "status": {"conditions": told}}, "status")
        expect(response, 404, 409)
        if response.succeeded and is_true(conditions, "Ready"):
            text = f"Node {name_of(node)} status is now: NodeNotReady"
            self._events.event(client, node_reference(node), "NodeNotReady", text)

    def _announce(self, client: Client, key: Key) -> None:
        if key not in self._news:
            return
        reason, text, node = self._news.pop(key)
        self._events.event(client, node_reference(node), reason, f"Node {key.name} event: {text.format(key.name)}")

    def _label(self, client: Client, node: Object) -> None:
        present = labels_of(node)
        missing = {old: present[new] for new, old in _OLD_LABELS.items() if new in present}
        if not missing.items() <= present.items():
            expect(merge(client, NODES, node, {"metadata": {"labels": missing}}), 404, 409)

    def _taint(self, client: Client, node: Object) -> float | None:
        """Set the taints of the conditions; gives back when it is the turn of the node for those that evict."""
        taints: list[Mapping[str, Any]] = list(at(node, "spec", "taints") or ())
        wanted, name, now = condition_taints(node), name_of(node), self._clock.now()
        evicting = any(effect == _NO_EXECUTE for _, effect in wanted)
        evicted = any(is_condition_taint(each) and each.get("effect") == _NO_EXECUTE for each in taints)
        turn = None
        self._zones.adapt(now)  # only here, where all changes of this moment are known
        if self._zones.all_down or not evicting:  # an outage of all nodes is one of what watches them
            self._zones.drop(name)
            evicting = False
        elif not evicted:
            turn = self._zones.turn_of(name)
            evicting = turn is not None and turn <= now
        if not evicting:
            wanted = {(key, effect) for key, effect in wanted if effect != _NO_EXECUTE}
        if self._write_taints(client, node, taints, wanted) and evicting and not evicted:
            self._zones.tainted(name, now)
            return None
        return turn

    def _write_taints(
        self, client: Client, node: Object, taints: Sequence[Mapping[str, Any]], wanted: set[tuple[str, str]]
    ) -> bool:
        """Write the taints if they differ; gives back whether the node has them now."""
        kept = [
            each for each in taints if not is_condition_taint(each) or (each.get("key"), each.get("effect")) in wanted
        ]
        present = {(each.get("key"), each.get("effect")) for each in kept}
        now = timestamp(self._clock.now())
        new = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in sorted(wanted - present)]
        if not new and len(kept) == len(taints):
            return True
        change = {"resourceVersion": metadata(node)["resourceVersion"]}
        response = merge(client, NODES, node, {"metadata": change, "spec": {"taints": [*kept, *new] or None}})
        return expect(response, 404, 409).succeeded

    def _unready_pods(self, client: Client, lister: Lister, node: str) -> None:
        now = timestamp(self._clock.now())
        for pod in lister.pods_on(node):
            conditions = at(pod, "status", "conditions") or ()
            ready = find(conditions, "Ready")
            if ready is None or ready.get("status") != "True":
                continue
            told = [
                {**each, "status": "False", "lastTransitionTime": now} if each is ready else each for each in conditions
            ]
            expect(merge(client, PODS, pod, {"status": {"conditions": told}}, "status"), 404, 409)


def _node_keys(names: Iterable[str]) -> list[Key]:
    """The keys of nodes."""
    return [Key(NODES, "", name) for name in dict.fromkeys(names)]
