"""Says of every HorizontalPodAutoscaler that autoscaling is not simulated: in a condition and an Event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, path_to
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import AUTOSCALERS
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind, Key
from simkit.meta.objects import Object, at, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.seams import Change

_PERIOD: Final = 15.0
"""Seconds between two looks at an autoscaler, as upstream has."""
_REASON: Final = "AutoscalingNotSimulated"
_MESSAGE: Final = "simkit does not simulate autoscaling: this autoscaler does not change the number of replicas"


class HorizontalController(ResourceWatcher):
    """Keeps the condition and the present number of replicas in the status of each HorizontalPodAutoscaler.

    Notes
    -----
    Upstream scales the target here. simkit has no usage of pods, so that any number would be wrong.
    """

    name = "horizontal-pod-autoscaler-controller"
    account = "horizontal-pod-autoscaler"

    def __init__(self, clock: Clock, catalogue: Callable[[], Catalogue]) -> None:
        super().__init__(AUTOSCALERS)
        self._clock, self._catalogue = clock, catalogue
        self._events = EventRecorder(clock, self.account)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        scaler = lister.get(key)
        if scaler is None or is_terminating(scaler):
            return None
        status = scaler.get("status") or {}
        told = {"type": "ScalingActive", "status": "False", "reason": _REASON, "message": _MESSAGE}
        before = status.get("conditions") or ()
        if not any(each.get("reason") == _REASON for each in before):
            self._events.event(client, scaler, _REASON, _MESSAGE, warning=True)
        conditions = with_condition(before, told, timestamp(self._clock.now()))
        wanted = {"desiredReplicas": 0, **status, "conditions": conditions, **self._current(client, scaler)}
        if wanted != status:
            path = path_to(AUTOSCALERS, scaler, "status").replace("/v1/", "/v2/", 1)
            expect(client.perform(Request.of("PUT", path, {**scaler, "status": wanted})), 404, 409)
        return self._clock.now() + _PERIOD

    def _current(self, client: Client, scaler: Object) -> dict[str, int]:
        """The number of replicas of the target, where it can be scaled."""
        target = at(scaler, "spec", "scaleTargetRef") or {}
        group, _, version = (target.get("apiVersion") or "").rpartition("/")
        resource = self._catalogue().kind(GroupVersionKind(group, version, target.get("kind", "")))
        if resource is None or "scale" not in resource.subresources:
            return {}
        path = resource.path_to(target.get("name", ""), namespace_of(scaler), "scale")
        scale = client.perform(Request.of("GET", path))
        return {"currentReplicas": at(scale.object, "spec", "replicas") or 0} if scale.succeeded else {}
