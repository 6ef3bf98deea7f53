"""Keeps scaled objects between minReplicas and maxReplicas, and reports that no metrics are served.

Upstream: pkg/controller/podautoscaler, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import expect, keys_of, scale_path
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import AUTOSCALERS
from simkit.engine.seams import Change
from simkit.logic.workloads.status_conditions import Condition, with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import api_group
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersionKind, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.schema.catalogue import Catalogue

_PERIOD: Final = 15.0
"""Seconds between two looks at an autoscaler."""
_UNABLE: Final = "the HPA was unable to compute the replica count: "


class _Metric:
    """The reason why a kind of metric cannot be followed, and its two messages."""

    def __init__(self, reason: str, told: str, value: str) -> None:
        self.reason, self.told, self.value = reason, told, value


class HorizontalController(ResourceWatcher):
    """Reconciles a HorizontalPodAutoscaler when it changes and every 15 seconds.

    Notes
    -----
    No kubelet measures anything here, so there are no metrics: within its bounds an object keeps its size.
    """

    name = "horizontal-pod-autoscaler-controller"
    account = "horizontal-pod-autoscaler"

    def __init__(self, clock: Clock, catalogue: Callable[[], Catalogue]) -> None:
        super().__init__(AUTOSCALERS)
        self._clock, self._catalogue = clock, catalogue
        self._events = EventRecorder(clock, self.account)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        before = change.previous.object if change.previous is not None else None
        if before is not None and before.get("spec") == change.entry.object.get("spec"):
            return ()  # its own words about it
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(AUTOSCALERS, lister.scan(AUTOSCALERS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        scaler = lister.get(key)
        if scaler is None or is_terminating(scaler):
            return None
        _Turn(client, self._events, self._clock, scaler).take(self._scale_path(scaler))
        return self._clock.now() + _PERIOD

    def _scale_path(self, scaler: Object) -> str:
        """The path of the target's Scale; empty where no such kind is served."""
        target = at(scaler, "spec", "scaleTargetRef") or {}
        group, _, version = (target.get("apiVersion") or "").rpartition("/")
        resource = self._catalogue().kind(GroupVersionKind(group, version, target.get("kind", "")))
        if resource is None:
            return ""
        return scale_path(resource, namespace_of(scaler), target.get("name", ""))


class _Turn:
    """One look at one autoscaler."""

    def __init__(self, client: Client, events: EventRecorder, clock: Clock, scaler: Object) -> None:
        self._client, self._events, self._scaler = client, events, scaler
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
            self._measure(current, str(scale.object["status"]["selector"]))

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

    def _rescale(self, path: str, scale: Object, wanted: int, why: str) -> None:
        before = at(scale, "spec", "replicas") or 0
        answer = self._client.perform(Request.of("PUT", path, {**scale, "spec": {"replicas": wanted}}))
        if not answer.succeeded:
            error = str(answer.object.get("message"))
            text = f"New size: {wanted}; reason: {why}; error: {error}"
            self._events.event(self._client, self._scaler, "FailedRescale", text, warning=True)
            told = f"the HPA controller was unable to update the target scale: {error}"
            self._hold("AbleToScale", False, "FailedUpdateScale", told)
            self._write(before, at(self._scaler, "status", "desiredReplicas") or 0)
            return
        self._events.event(self._client, self._scaler, "SuccessfulRescale", f"New size: {wanted}; reason: {why}")
        told = f"the HPA controller was able to update the target scale to {wanted}"
        self._hold("AbleToScale", True, "SucceededRescale", told)
        self._write(before, wanted, scaled=True)

    # Metrics

    def _measure(self, current: int, selector: str) -> None:
        """Ask for every metric, and tell why none can be had."""
        specs: Sequence[Mapping[str, Any]] = at(self._scaler, "spec", "metrics") or ()
        failures = [self._metric(each, selector) for each in specs]
        for each in failures:
            self._events.event(self._client, self._scaler, each.reason, each.told, warning=True)
        if failures:
            first = failures[0]
            self._hold("ScalingActive", False, first.reason, _UNABLE + first.told)
            text = f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {first.value}"
            self._events.event(self._client, self._scaler, "FailedComputeMetricsReplicas", text, warning=True)
        unknown = [{"type": ""} for _ in failures]
        self._write(current, at(self._scaler, "status", "desiredReplicas") or 0, unknown)

    def _metric(self, spec: Mapping[str, Any], selector: str) -> _Metric:
        kind = spec.get("type") or ""
        if kind in ("Resource", "ContainerResource"):
            return self._resource_metric(kind, spec, selector)
        if kind == "External":
            name = at(spec, "external", "metric", "name") or ""
            why = "unable to fetch metrics from external metrics API: no external metrics API "
            why += f"({api_group('external.metrics')}) registered"
            told = f"unable to get external metric {namespace_of(self._scaler)}/{name}/nil: {why}"
            return _Metric("FailedGetExternalMetric", told, f"failed to get {name} external metric value: {told}")
        name = at(spec, kind.lower(), "metric", "name") or ""
        why = f"no custom metrics API ({api_group('custom.metrics')}) registered"
        told = f"unable to get metric {name}: unable to fetch metrics from custom metrics API: {why}"
        return _Metric(f"FailedGet{kind}Metric", told, f"failed to get {kind.lower()} metric value: {told}")

    def _resource_metric(self, kind: str, spec: Mapping[str, Any], selector: str) -> _Metric:
        source = spec.get("resource" if kind == "Resource" else "containerResource") or {}
        name, shares = source.get("name") or "", at(source, "target", "averageValue") is None
        word = "resource" if kind == "Resource" else "container resource"
        told = f"unable to get metrics for resource {name}: {self._metrics_api(selector)}"
        told = f"failed to get {name} {'utilization' if shares else 'usage'}: {told}"
        return _Metric(f"FailedGet{kind}Metric", told, f"failed to get {name} {word} metric value: {told}")

    def _metrics_api(self, selector: str) -> str:
        """The reason why the API for metrics of pods gives none."""
        group = api_group("metrics")
        path = f"/apis/{group}/v1beta1/namespaces/{namespace_of(self._scaler)}/pods?labelSelector={selector}"
        answer = self._client.perform(Request.of("GET", path))
        if answer.succeeded:
            return "no metrics returned from resource metrics API"
        texts = {404: "could not find the requested resource", 503: "is currently unable to handle the request"}
        why = texts.get(answer.status)
        shown = f"the server {why} (get pods.{group})" if why else str(answer.object.get("message"))
        return f"unable to fetch metrics from resource metrics API: {shown}"

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
