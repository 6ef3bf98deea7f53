"""Deletes pods that do not tolerate the NoExecute taints of their node."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, keys_of, merge, remove
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import NODES, PODS
from simkit.logic.workloads.nodes import minimum_toleration_seconds
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import Change

# Upstream: pkg/controller/tainteviction, release 1.30.

_DISRUPTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


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
        conditions = with_condition(at(pod, "status", "conditions"), _DISRUPTED, timestamp(self._clock.now()))
        expect(merge(client, PODS, pod, {"status": {"conditions": conditions}}, "status"), 404, 409)
        remove(client, PODS, pod)
