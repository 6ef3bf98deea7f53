"""Deletes pods that do not tolerate the NoExecute taints of their node.

Upstream: pkg/controller/tainteviction, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import Any

from simkit.engine.controllers.client_requests import keys_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.pod_deletion import delete_disrupted
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NODES, PODS
from simkit.engine.seams import Change
from simkit.logic.workloads.nodes import minimum_toleration_seconds
from simkit.meta.clock import Clock
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of

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
