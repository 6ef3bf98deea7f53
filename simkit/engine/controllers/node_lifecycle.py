"""Taints nodes by their conditions, calls silent ones Unknown, and marks the pods of unready nodes as not ready.

Upstream: pkg/controller/nodelifecycle, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder, node_reference
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, keys_of, merge
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import LEASES, NODES, PODS
from simkit.logic.workloads.nodes import condition_taints, is_condition_taint, unknown_conditions
from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import NODE_LEASE_NAMESPACE, label
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata, name_of
from simkit.seams import Change

# Zones of nodes in trouble, and how quickly nodes of each are tainted so that their pods are evicted.
# Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (``handleDisruption``, ``ComputeZoneState``) and
# scheduler/rate_limited_queue.go, release 1.30.

ZoneState = Literal["normal", "partial disruption", "full disruption"]
_FEW: Final = 2
"""The nodes that may be unready in a zone of any size."""
_TOPOLOGY: Final = tuple((label(name, "topology"), label(name, "failure-domain.beta")) for name in ("region", "zone"))


class EvictionRates(NamedTuple):
    """The flags of kube-controller-manager about evictions from nodes that have failed.

    Attributes
    ----------
    normal
        Nodes per second in a zone that is healthy, or down as a whole.
    secondary
        Nodes per second in a big zone of which a part is unhealthy; small ones have no evictions then.
    unhealthy
        The share of nodes from which on a zone counts as unhealthy.
    large
        The number of nodes above which a zone counts as big.
    """

    normal: float = 0.1
    secondary: float = 0.01
    unhealthy: float = 0.55
    large: int = 50

    def state(self, ready: int, unready: int) -> ZoneState:
        """The state of a zone with these numbers of nodes.

        Examples
        --------
        >>> EvictionRates().state(2, 2), EvictionRates().state(2, 3), EvictionRates().state(0, 1)
        ('normal', 'partial disruption', 'full disruption')
        """
        if not ready and unready:
            return "full disruption"
        if unready > _FEW and unready / (ready + unready) >= self.unhealthy:
            return "partial disruption"
        return "normal"

    def per_second(self, state: ZoneState, size: int) -> float:
        """The nodes of a zone that are tainted in a second."""
        if state != "partial disruption":
            return self.normal
        return self.secondary if size > self.large else 0.0


DEFAULT_RATES: Final = EvictionRates()
"""The rates of kube-controller-manager by default."""


def zone_of(node: Object) -> str:
    """The zone of a node with its region; empty where it has neither."""
    labels = labels_of(node)
    parts = [labels.get(new) or labels.get(old) or "" for new, old in _TOPOLOGY]
    return ":".join(parts) if any(parts) else ""


@dataclass(slots=True)
class _Zone:
    """The nodes of one zone."""

    rate: float
    ready: set[str] = field(default_factory=set)
    unready: set[str] = field(default_factory=set)
    waiting: dict[str, None] = field(default_factory=dict)
    """Nodes that are to be tainted, the next one first."""
    free_at: float = 0.0
    """The time from which on the next node may be tainted."""

    def change_rate(self, rate: float, now: float) -> None:
        """Taint more or less quickly from now on; who waited already waits as long as for one node."""
        if rate == self.rate:
            return
        waits = self.rate <= 0 or now < self.free_at
        self.rate = rate
        self.free_at = now + 1 / rate if waits and rate > 0 else now

    def copy(self) -> _Zone:
        return _Zone(self.rate, set(self.ready), set(self.unready), dict(self.waiting), self.free_at)


class NodeZones:
    """The zones of a cluster."""

    def __init__(self, rates: EvictionRates) -> None:
        self._rates = rates
        self._zones: dict[str, _Zone] = {}
        self._of: dict[str, str] = {}
        """The zone of each node."""

    def resume_from(self, other: NodeZones) -> None:
        """Know the same zones."""
        self._zones = {name: zone.copy() for name, zone in other._zones.items()}
        self._of = dict(other._of)

    @property
    def all_down(self) -> bool:
        """True if no node that counts is ready in any zone: rather the network than all machines has failed."""
        zones = [each for each in self._zones.values() if each.ready or each.unready]
        return bool(zones) and not any(each.ready for each in zones)

    def put(self, node: str, zone: str, *, counts: bool, ready: bool) -> None:
        """Keep the state of a node; one that does not count is tainted as others are, but tells nothing of its zone."""
        if self._of.get(node, zone) != zone:
            self.remove(node)
        self._of[node] = zone
        known = self._zones.setdefault(zone, _Zone(self._rates.normal))
        known.ready.discard(node)
        known.unready.discard(node)
        if counts:
            (known.ready if ready else known.unready).add(node)
        if ready:
            known.waiting.pop(node, None)

    def remove(self, node: str) -> None:
        """Forget a node."""
        zone = self._zones.get(self._of.pop(node, ""))
        if zone is not None:
            zone.ready.discard(node)
            zone.unready.discard(node)
            zone.waiting.pop(node, None)

    def zone(self, node: str) -> str | None:
        """The zone of a node; None for one that is not known."""
        return self._of.get(node)

    def first(self, zone: str | None) -> str | None:
        """The node of a zone that is to be tainted next."""
        known = self._zones.get(zone) if zone is not None else None
        return next(iter(known.waiting), None) if known is not None else None

    def adapt(self, now: float) -> None:
        """Set the rate of each zone by the state that it is in."""
        stopped = self.all_down
        for zone in self._zones.values():
            size = len(zone.ready) + len(zone.unready)
            state = self._rates.state(len(zone.ready), len(zone.unready))
            zone.change_rate(0.0 if stopped else self._rates.per_second(state, size), now)

    def turn_of(self, node: str) -> float | None:
        """The time at which a node is to be tainted if nothing changes; None for never, and where others come first.

        It waits from now on. When the first one had its turn, it is the turn of the next.
        """
        zone = self._zones[self._of[node]]
        zone.waiting.setdefault(node)
        return zone.free_at if zone.rate > 0 and next(iter(zone.waiting)) == node else None

    def tainted(self, node: str, now: float) -> None:
        """Note that a node had its turn."""
        zone = self._zones[self._of[node]]
        zone.waiting.pop(node, None)
        zone.free_at = now + 1 / zone.rate if zone.rate > 0 else now

    def drop(self, node: str) -> None:
        """Have a node wait no longer."""
        zone = self._zones.get(self._of.get(node, ""))
        if zone is not None:
            zone.waiting.pop(node, None)


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
            return dict.fromkeys(Key(NODES, "", name) for name in (key.name, *following) if name is not None)
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
