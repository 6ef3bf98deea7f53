"""Deletes pods of nodes that no longer exist, and terminating pods that were never scheduled.

Upstream: pkg/controller/podgc, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import expect, keys_of, merge, path_to
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NODES, PODS
from simkit.engine.seams import Change
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import Condition, with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at

_QUARANTINE: Final = 40.0
"""Seconds that a node has to be missing: it may be about to come back."""
_ORPHANED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


class PodGCController(ResourceWatcher):
    """Waits 40 seconds for a missing node, then deletes its pods at once."""

    name = "pod-garbage-collector-controller"
    account = "pod-garbage-collector"

    def __init__(self, clock: Clock) -> None:
        super().__init__(PODS, NODES)
        self._clock = clock
        self._missing: dict[str, float] = {}
        """Since when nodes have been missing."""

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == PODS:
            return [key] if change.type != "DELETED" else ()
        if change.type == "MODIFIED":
            return ()
        return keys_of(PODS, [pod for pod in lister.scan(PODS) if at(pod, "spec", "nodeName") == key.name])

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(PODS, lister.scan(PODS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        pod = lister.get(key)
        if pod is None:
            return None
        node = at(pod, "spec", "nodeName") or ""
        if not node:
            if is_terminating(pod):
                self._remove(client, pod)
            return None
        if lister.get(Key(NODES, "", node)) is not None:
            self._missing.pop(node, None)
            return None
        now = self._clock.now()
        end = self._missing.setdefault(node, now) + _QUARANTINE
        if end > now:
            return end
        self._fail(client, pod, with_condition(at(pod, "status", "conditions"), _ORPHANED, timestamp(now)))
        self._remove(client, pod)
        return None

    def _fail(self, client: Client, pod: Object, conditions: Sequence[Condition]) -> None:
        """A pod that nobody runs any more has failed, unless it had come to its end before."""
        status: dict[str, Any] = {"conditions": conditions}
        if not has_ended(pod):
            status["phase"] = "Failed"
        # Older releases let this account only delete pods.
        expect(merge(client, PODS, pod, {"status": status}, "status"), 403, 404, 409)

    def _remove(self, client: Client, pod: Object) -> None:
        options = {"preconditions": {"uid": uid_of(pod)}, "gracePeriodSeconds": 0}
        expect(client.perform(Request.of("DELETE", path_to(PODS, pod), options)), 404, 409)
