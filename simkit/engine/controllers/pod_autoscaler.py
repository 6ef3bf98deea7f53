"""Scales objects by the usage of their pods, between minReplicas and maxReplicas.

Upstream: pkg/controller/podautoscaler, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, scale_path
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import AUTOSCALERS
from simkit.engine.controllers.metric_reader import FailedMetric, MetricReader, MetricValue
from simkit.logic.workloads.scaling_limits import History
from simkit.logic.workloads.status_conditions import Condition, with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersionKind, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.seams import Change

_PERIOD: Final = 15.0
"""Seconds between two looks at an autoscaler."""
_UNABLE: Final = "the HPA was unable to compute the replica count: "


class HorizontalController(ResourceWatcher):
    """Reconciles a HorizontalPodAutoscaler when it changes and every 15 seconds.

    Notes
    -----
    The usage of pods is that of simulated nodes. Without any, an object keeps its size within its bounds.
    """

    name = "horizontal-pod-autoscaler-controller"
    account = "horizontal-pod-autoscaler"

    def __init__(self, clock: Clock, catalogue: Callable[[], Catalogue]) -> None:
        super().__init__(AUTOSCALERS)
        self._clock, self._catalogue = clock, catalogue
        self._events = EventRecorder(clock, self.account)
        self._histories: dict[Key, History] = {}

    def resume_from(self, other: HorizontalController) -> None:
        """Know the recent recommendations of the one that this is a fork of."""
        self._histories = {key: history.copy() for key, history in other._histories.items()}

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        before = change.previous.object if change.previous is not None else None
        if before is not None and before.get("spec") == change.entry.object.get("spec"):
            return ()  # its own words about it
        return [change.entry.key]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        scaler = lister.get(key)
        if scaler is None or is_terminating(scaler):
            self._histories.pop(key, None)
            return None
        history = self._histories.setdefault(key, History())
        look = _Reconciliation(client, lister, self._events, self._clock, scaler, history)
        look.take(self._scale_path(scaler))
        return self._clock.now() + _PERIOD

    def _scale_path(self, scaler: Object) -> str:
        """The path of the target's Scale; empty where no such kind is served."""
        target = at(scaler, "spec", "scaleTargetRef") or {}
        group, _, version = (target.get("apiVersion") or "").rpartition("/")
        resource = self._catalogue().kind(GroupVersionKind(group, version, target.get("kind", "")))
        if resource is None:
            return ""
        return scale_path(resource, namespace_of(scaler), target.get("name", ""))


class _Reconciliation:
    """One look at one autoscaler."""

    def __init__(
        self,
        client: Client,
        lister: Lister,
        events: EventRecorder,
        clock: Clock,
        scaler: Object,
        history: History,
    ) -> None:
        self._client, self._lister, self._events, self._scaler = client, lister, events, scaler
        self._clock, self._history = clock, history
        self._now = timestamp(clock.now())
        self._conditions: Sequence[Condition] = at(scaler, "status", "conditions") or ()

    def take(self, path: str) -> None:
        scale = self._client.perform(Request.of("GET", path)) if path else None
        if scale is None or not scale.succeeded:
            self._lost(scale)
            return
        text = "the HPA controller was able to get the target's current scale"
        self._hold("AbleToScale", True, "SucceededGetScale", text)
        current = at(scale.object, "spec", "replicas") or 0
        if not self._history.recommended:
            self._history.recommended.append((self._clock.now(), current))
        least, most = at(self._scaler, "spec", "minReplicas"), at(self._scaler, "spec", "maxReplicas") or 0
        least = 1 if least is None else least
        if current == 0 and least != 0:
            text = "scaling is disabled since the replica count of the target is zero"
            self._hold("ScalingActive", False, "ScalingDisabled", text)
            self._write(current, 0)
        elif current > most:
            self._rescale(path, scale.object, most, "Current number of replicas above Spec.MaxReplicas")
        elif current < least:
            self._rescale(path, scale.object, least, "Current number of replicas below Spec.MinReplicas")
        elif not at(scale.object, "status", "selector"):
            self._events.event(self._client, self._scaler, "SelectorRequired", "selector is required", warning=True)
            text = "the HPA target's scale is missing a selector"
            self._hold("ScalingActive", False, "InvalidSelector", text)
            self._write(current, at(self._scaler, "status", "desiredReplicas") or 0)
        else:
            self._follow(path, scale.object, current, least)

    def _lost(self, scale: Response | None) -> None:
        target = at(self._scaler, "spec", "scaleTargetRef") or {}
        group = (target.get("apiVersion") or "").rpartition("/")[0]
        text = f'no matches for kind "{target.get("kind", "")}" in group "{group}"'
        if scale is not None:
            text = str(scale.object.get("message"))
        self._events.event(self._client, self._scaler, "FailedGetScale", text, warning=True)
        told = f"the HPA controller was unable to get the target's current scale: {text}"
        self._hold("AbleToScale", False, "FailedGetScale", told)
        known = self._scaler.get("status") or {}
        self._write(known.get("currentReplicas") or 0, known.get("desiredReplicas") or 0, known.get("currentMetrics"))

    def _rescale(self, path: str, scale: Object, wanted: int, why: str, metrics: Any = None) -> None:
        before = at(scale, "spec", "replicas") or 0
        answer = self._client.perform(Request.of("PUT", path, {**scale, "spec": {"replicas": wanted}}))
        if not answer.succeeded:
            error = str(answer.object.get("message"))
            text = f"New size: {wanted}; reason: {why}; error: {error}"
            self._events.event(self._client, self._scaler, "FailedRescale", text, warning=True)
            told = f"the HPA controller was unable to update the target scale: {error}"
            self._hold("AbleToScale", False, "FailedUpdateScale", told)
            self._write(before, at(self._scaler, "status", "desiredReplicas") or 0, metrics)
            return
        self._events.event(self._client, self._scaler, "SuccessfulRescale", f"New size: {wanted}; reason: {why}")
        told = f"the HPA controller was able to update the target scale to {wanted}"
        self._hold("AbleToScale", True, "SucceededRescale", told)
        self._write(before, wanted, metrics, scaled=True)

    # Metrics

    def _follow(self, path: str, scale: Object, current: int, least: int) -> None:
        """Scale as the metrics ask for, within the limits of the rules."""
        specs: Sequence[Mapping[str, Any]] = at(self._scaler, "spec", "metrics") or ()
        reader = MetricReader(self._client, self._lister, self._scaler, self._clock, scale)
        found = [reader.read(each) for each in specs]
        failures = [each for each in found if isinstance(each, FailedMetric)]
        for each in failures:
            self._events.event(self._client, self._scaler, each.reason, each.told, warning=True)
        metrics = [{"type": ""} if isinstance(each, FailedMetric) else each.status for each in found]
        best = max((each for each in found if isinstance(each, MetricValue)), key=attrgetter("replicas"), default=None)
        if best is None or (failures and best.replicas < current):
            self._unable(current, failures, len(specs), metrics)
            return
        text = f"the HPA was able to successfully calculate a replica count from {best.name}"
        self._hold("ScalingActive", True, "ValidMetricFound", text)
        spec, now = self._scaler["spec"], self._clock.now()
        limited = self._history.limited(spec, current, best.replicas, least, now)
        self._hold("AbleToScale", limited.able.status, limited.able.reason, limited.able.message)
        self._hold("ScalingLimited", limited.limited.status, limited.limited.reason, limited.limited.message)
        if limited.replicas == current:
            self._write(current, current, metrics)
            return
        why = f"{best.name} above target" if best.replicas > current else "All metrics below target"
        self._rescale(path, scale, limited.replicas, why, metrics)
        self._history.scaled(spec, current, limited.replicas, now)

    def _unable(self, current: int, failures: Sequence[FailedMetric], count: int, metrics: Any) -> None:
        """Tell why no number can be calculated."""
        if failures:
            first = failures[0]
            self._hold("ScalingActive", False, first.reason, _UNABLE + first.told)
            text = f"invalid metrics ({len(failures)} invalid out of {count}), first error is: {first.value}"
            self._events.event(self._client, self._scaler, "FailedComputeMetricsReplicas", text, warning=True)
        self._write(current, at(self._scaler, "status", "desiredReplicas") or 0, metrics)

    # Status

    def _hold(self, kind: str, status: bool, reason: str, message: str) -> None:
        wanted = {"type": kind, "status": str(status), "reason": reason, "message": message}
        self._conditions = with_condition(self._conditions, wanted, self._now)

    def _write(self, current: int, wanted: int, metrics: Any = None, *, scaled: bool = False) -> None:
        before = self._scaler.get("status") or {}
        status = {**before, "currentReplicas": current, "desiredReplicas": wanted, "conditions": self._conditions}
        status["currentMetrics"] = metrics
        if scaled:
            status["lastScaleTime"] = self._now
        if status == before:
            return
        path = f"/apis/{AUTOSCALERS.group}/v2/namespaces/{namespace_of(self._scaler)}/{AUTOSCALERS.resource}"
        body = {**self._scaler, "status": status}
        expect(self._client.perform(Request.of("PUT", f"{path}/{name_of(self._scaler)}/status", body)), 404, 409)
