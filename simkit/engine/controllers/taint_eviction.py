"""Deletes pods that do not tolerate the taints of their node or of their devices."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import expect, key_of, keys_of, merge, path_to, remove
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import DEVICE_CLASSES, DEVICE_TAINT_RULES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from simkit.engine.controllers.device_taints import (
    EVICTION_IN_PROGRESS,
    allocated_devices,
    pod_eviction,
    progress,
    rules_count,
    taint_rules,
)
from simkit.logic.workloads.device_id import PoolId, pool_of
from simkit.logic.workloads.nodes import minimum_toleration_seconds
from simkit.logic.workloads.status_conditions import find, with_condition
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.seams import Change

# Deletes pods of which a controller first says that they are disrupted


def delete_disrupted(client: Client, pod: Object, reason: str, message: str, now: float) -> None:
    """Set the condition ``DisruptionTarget`` of a pod, then delete it. Raises RequeueError."""
    wanted = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    conditions = with_condition(at(pod, "status", "conditions"), wanted, timestamp(now))
    expect(merge(client, PODS, pod, {"status": {"conditions": conditions}}, "status"), 404, 409)
    remove(client, PODS, pod)


# Deletes pods that do not tolerate the NoExecute taints of their node.
# Upstream: pkg/controller/tainteviction, release 1.30.

_REASON = "DeletionByTaintManager"


class TaintEvictionController(ResourceWatcher):
    """Reconciles a pod when it or the taints of its node change, and when its tolerationSeconds are over."""

    name = "taint-eviction-controller"
    account = "node-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(NODES, PODS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)
        self._since: dict[Key, float] = {}
        """The time at which each pod was first seen on a node with NoExecute taints without endless toleration."""

    def resume_from(self, other: Any) -> None:
        self._since = dict(other._since)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == PODS:
            return [key] if at(change.entry.object, "spec", "nodeName") else ()
        before = change.previous.object if change.previous is not None else None
        if at(change.entry.object, "spec", "taints") == at(before, "spec", "taints"):
            return ()
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName") == key.name])

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName")])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        pod = lister.get(key)
        node = lister.get(Key(NODES, "", at(pod, "spec", "nodeName") or "")) if pod is not None else None
        if pod is None or node is None or is_terminating(pod):
            self._since.pop(key, None)
            return None
        taints = [each for each in at(node, "spec", "taints") or () if each.get("effect") == "NoExecute"]
        seconds = minimum_toleration_seconds(at(pod, "spec", "tolerations") or (), taints)
        if seconds is not None and isinf(seconds):
            if self._since.pop(key, None) is not None:
                text = f"Cancelling deletion of Pod {namespace_of(pod)}/{name_of(pod)}"
                self._events.event(client, pod, "TaintManagerEviction", text)
            return None
        end = self._since.setdefault(key, self._clock.now()) + (seconds or 0.0)
        if end > self._clock.now():
            return end
        del self._since[key]
        self._evict(client, pod)
        return None

    def _evict(self, client: Client, pod: Object) -> None:
        text = f"Marking for deletion Pod {namespace_of(pod)}/{name_of(pod)}"
        self._events.event(client, pod, "TaintManagerEviction", text)
        message = "Taint manager: deleting due to NoExecute taint"
        delete_disrupted(client, pod, _REASON, message, self._clock.now())


# Deletes pods that use devices with taints that their claims do not tolerate, and tells rules for taints of it.
# Upstream: pkg/controller/devicetainteviction, releases 1.34 and 1.36.

_PERIOD: Final = 10.0
"""Seconds between two words about the progress of a rule."""
_NEEDED: Final = frozenset({"claims-of-devices", "scheduler-allocates-devices", "scheduler-heeds-device-taints"})
_ABOUT_TAINTS: Final = frozenset({DEVICE_TAINT_RULES, DEVICE_CLASSES})
"""Resources that need not be known: rules are rare, and up to 1.34 name classes."""
_DEVICE_REASON: Final = "DeletionByDeviceTaintManager"
_MESSAGE: Final = "Device Taint manager: deleting due to NoExecute taint"
_EVENT: Final = "DeviceTaintManagerEviction"


class DeviceTaintEvictionController(ResourceWatcher):
    """Reconciles a pod when its claims or the taints of its devices change, and when its tolerationSeconds are over.

    Parameters
    ----------
    behaviour
        What the release does: without taints of devices, nothing happens.
    """

    name = account = "device-taint-eviction-controller"

    def __init__(self, clock: Clock, behaviour: ServedBehaviour) -> None:
        super().__init__(PODS, RESOURCE_CLAIMS, RESOURCE_SLICES)
        self._clock, self._behaviour = clock, behaviour
        self._runs = behaviour.ids >= _NEEDED
        self._events = EventRecorder(clock, self.name)
        self._waiting: set[Key] = set()
        """Pods that will have to go."""
        self._evicted: dict[str, int] = {}
        """The number of pods that had to go, by the uid of a rule."""
        self._told: dict[Key, tuple[str, int, float]] = {}
        """The uid and generation of each rule, and the time at which its progress was told."""
        self._tell_at: dict[Key, float] = {}
        """The time at which the progress of a rule is due because of its pods."""

    def resume_from(self, other: Any) -> None:
        self._waiting, self._evicted = set(other._waiting), dict(other._evicted)
        self._told, self._tell_at = dict(other._told), dict(other._tell_at)

    def concerns(self, change: Change) -> bool:
        return self._runs and (super().concerns(change) or change.entry.key.resource in _ABOUT_TAINTS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        before = change.previous.object if change.previous is not None else {}
        if key.resource == PODS:
            return self._of_pod(key, obj, before, lister)
        if key.resource == RESOURCE_CLAIMS:
            return _users([obj])
        if key.resource == RESOURCE_SLICES:
            pools = {pool_of(each.get("spec") or {}) for each in (obj, before) if self._waiting or _evicts(each)}
            return _users([each for each in lister.scan(RESOURCE_CLAIMS) if pools & _pools(each)]) if pools else []
        rules = [] if key.resource == DEVICE_CLASSES else [key]
        if not rules_count(lister.snapshot.behaviour) or (
            rules and before.get("spec") == obj.get("spec") and change.type == "MODIFIED"
        ):
            return []
        if not rules and not taint_rules(lister).rules:
            return []
        return [*rules, *_users(lister.scan(RESOURCE_CLAIMS))]

    def _of_pod(self, key: Key, pod: Object, before: Object, lister: Lister) -> list[Key]:
        """A pod with claims, and the rules whose progress it may change."""
        if not at(pod, "spec", "resourceClaims") or not at(pod, "spec", "nodeName"):
            return []
        moved = at(before, "spec", "nodeName") != at(pod, "spec", "nodeName")
        if not moved and is_terminating(before) == is_terminating(pod):
            return [key]
        rules = [each for each in taint_rules(lister).rules if at(each, "spec", "taint", "effect") == "NoExecute"]
        for each in rules:
            self._tell_at.setdefault(key_of(DEVICE_TAINT_RULES, each), self._clock.now() + _PERIOD)
        return [key, *keys_of(DEVICE_TAINT_RULES, rules)]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        if not self._runs:
            return []
        rules = keys_of(DEVICE_TAINT_RULES, taint_rules(lister).rules)
        return [*rules, *_users(lister.scan(RESOURCE_CLAIMS))]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        if key.resource == PODS:
            return self._sync_pod(client, lister, key)
        return self._sync_rule(client, lister, key)

    # Pods

    def _sync_pod(self, client: Client, lister: Lister, key: Key) -> float | None:
        pod = lister.get(key)
        if pod is None or is_terminating(pod):
            self._waiting.discard(key)
            return None
        eviction = pod_eviction(pod, lister, taint_rules(lister))
        if eviction is None:
            if key in self._waiting:
                self._waiting.discard(key)
                self._events.event(client, pod, _EVENT, "Cancelling deletion")
            return None
        for rule in taint_rules(lister).rules:
            if uid_of(rule) in eviction.rules:
                self._sync_rule(client, lister, key_of(DEVICE_TAINT_RULES, rule))
        if eviction.when > self._clock.now():
            self._waiting.add(key)
            return eviction.when
        self._events.event(client, pod, _EVENT, "Marking for deletion")
        delete_disrupted(client, pod, _DEVICE_REASON, _MESSAGE, self._clock.now())
        self._waiting.discard(key)
        for uid in eviction.rules:
            self._evicted[uid] = self._evicted.get(uid, 0) + 1
        return None

    # Rules

    def _sync_rule(self, client: Client, lister: Lister, key: Key) -> float | None:
        """Tell the progress of a rule: at once if it is new, then every ten seconds while something happens."""
        rule = lister.get(key)
        if rule is None:
            uid, _, _ = self._told.pop(key, ("", 0, 0.0))
            self._evicted.pop(uid, None)
            self._tell_at.pop(key, None)
            return None
        if not self._behaviour.applies("device-taint-rules-tell-progress") or not rules_count(
            lister.snapshot.behaviour
        ):
            return None
        now, last = self._clock.now(), self._last_told(key, rule)
        due = max(last + _PERIOD, self._tell_at.get(key, 0.0)) if last is not None else now
        if due > now:
            return due
        self._tell_at.pop(key, None)
        wanted = progress(rule, lister, taint_rules(lister), self._evicted.get(uid_of(rule), 0))
        known = find(at(rule, "status", "conditions"), EVICTION_IN_PROGRESS) or {}
        if any(known.get(name, "") != value for name, value in wanted.items()):
            self._tell(client, rule, {**wanted, "lastTransitionTime": timestamp(now)})
        self._told[key] = (uid_of(rule), wanted["observedGeneration"], now)
        return None

    def _last_told(self, key: Key, rule: Object) -> float | None:
        """The time at which the progress of a rule was told as it is now; None if it was not yet."""
        generation = int(metadata(rule).get("generation") or 0)
        uid, seen, when = self._told.get(key, ("", 0, 0.0))
        if (uid, seen) == (uid_of(rule), generation):
            return when
        known = find(at(rule, "status", "conditions"), EVICTION_IN_PROGRESS) or {}
        return moment(known["lastTransitionTime"]) if known.get("observedGeneration") == generation else None

    def _tell(self, client: Client, rule: Object, condition: Object) -> None:
        meta = {"name": name_of(rule), "uid": uid_of(rule)}
        body = {
            "apiVersion": f"{DEVICE_TAINT_RULES.group}/v1",
            "kind": "DeviceTaintRule",
            "metadata": meta,
            "status": {"conditions": [condition]},
        }
        target = f"{path_to(DEVICE_TAINT_RULES, rule, 'status')}?fieldManager={self.name}&force=true"
        expect(client.perform(Request.of("PATCH", target, body, content_type="application/apply-patch+yaml")), 404, 409)


def _users(claims: Iterable[Object]) -> list[Key]:
    """The pods for which claims with devices are reserved."""
    return [
        Key(PODS, namespace_of(claim), str(user.get("name", "")))
        for claim in claims
        for user in at(claim, "status", "reservedFor") or ()
        if user.get("resource") == "pods" and not user.get("apiGroup")
    ]


def _pools(claim: Object) -> set[PoolId]:
    return {(device.driver, device.pool) for device, _ in allocated_devices(claim)}


def _evicts(slice_: Object) -> bool:
    """True if a device of a slice has a taint that drives pods away."""
    devices = at(slice_, "spec", "devices") or ()
    return any(taint.get("effect") == "NoExecute" for device in devices for taint in device.get("taints") or ())
