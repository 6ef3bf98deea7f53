"""The metrics that an autoscaler names, and the number of pods that each asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.resources import PODS
from simkit.kinds.parts.printers.cells import selector_structure
from simkit.logic.workloads.replica_calculator import (
    NoReplicaCount,
    Sample,
    Target,
    milli,
    milli_text,
    proposed,
    tolerances_of,
)
from simkit.meta.clock import Clock, moment
from simkit.meta.domain import api_group
from simkit.meta.duration import seconds
from simkit.meta.labels import parse as parse_selector
from simkit.meta.message import Request
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of

# The usage of resources by pods. Nothing serves metrics of pods, of other objects or from outside of the cluster: an
# autoscaler that names one is told what kube-controller-manager says where no such API is registered.
# Upstream: pkg/controller/podautoscaler/{horizontal,replica_calculator}.go and pkg/controller/podautoscaler/metrics,
# releases 1.30 and 1.34.


class FailedMetric(NamedTuple):
    """A metric that cannot be followed: the reason, and its two messages."""

    reason: str
    told: str
    value: str


class MetricValue(NamedTuple):
    """A metric: its name in messages, the number of replicas that it asks for, and its present value as status."""

    name: str
    replicas: int
    status: Mapping[str, Any]


class MetricReader:
    """Reads metrics for one autoscaler.

    Parameters
    ----------
    scale
        The Scale of its target.
    """

    def __init__(
        self,
        client: Client,
        lister: Lister,
        scaler: Object,
        clock: Clock,
        scale: Object,
    ) -> None:
        self._client, self._lister, self._scaler = client, lister, scaler
        self._selector, self._clock = str(scale["status"]["selector"]), clock
        self._tolerances = tolerances_of(at(scaler, "spec", "behavior"))
        self._namespace = namespace_of(scaler)
        self._current = at(scale, "spec", "replicas") or 0

    def read(self, spec: Mapping[str, Any]) -> MetricValue | FailedMetric:
        """The value of one entry of ``spec.metrics``, or why there is none."""
        kind = spec.get("type") or ""
        if kind in ("Resource", "ContainerResource"):
            return self._resource(kind, spec)
        return self._not_served(kind, spec.get(kind.lower()) or {})

    def _resource(self, kind: str, spec: Mapping[str, Any]) -> MetricValue | FailedMetric:
        field = "resource" if kind == "Resource" else "containerResource"
        source = spec.get(field) or {}
        name, container = source.get("name") or "", source.get("container") or ""
        average = at(source, "target", "averageValue")
        target = Target(at(source, "target", "averageUtilization") if average is None else None, _milli(average))
        try:
            samples = self._samples(name, container)
            found = proposed(
                self._pods,
                samples,
                name,
                target,
                current=self._current,
                now=self._clock.now(),
                container=container,
                tolerances=self._tolerances,
            )
        except NoReplicaCount as error:
            told = f"failed to get {name} {'usage' if target.utilization is None else 'utilization'}: {error}"
            word = "resource" if kind == "Resource" else "container resource"
            return FailedMetric(f"FailedGet{kind}Metric", told, f"failed to get {name} {word} metric value: {told}")
        now = {"averageValue": milli_text(found.average)}
        value = now if found.utilization is None else {"averageUtilization": found.utilization, **now}
        status = {"name": name, **({"container": container} if container else {}), "current": value}
        shown = f"{name} {'resource' if kind == 'Resource' or target.utilization is None else 'container resource'}"
        if target.utilization is not None:
            shown += " utilization (percentage of request)"
        return MetricValue(shown, found.replicas, {"type": kind, field: status})

    def _not_served(self, kind: str, source: Mapping[str, Any]) -> FailedMetric:
        """The failure of a metric of pods, of another object or from outside, where nothing serves such metrics."""
        metric, target = source.get("metric") or {}, source.get("target") or {}
        name, is_average = metric.get("name") or "", target.get("averageValue") is not None
        group = api_group("custom.metrics")
        custom = f"unable to fetch metrics from custom metrics API: no custom metrics API ({group}) registered"
        if kind == "Pods":
            told = f"unable to get metric {name}: {custom}"
            return FailedMetric("FailedGetPodsMetric", told, f"failed to get pods metric value: {told}")
        if kind == "Object":
            described = source.get("describedObject") or {}
            where = f"{described.get('kind')} on {self._namespace} {described.get('name')}"
            told = f"unable to get metric {name}: {where}/{custom}"
            inner = f"failed to get {name} object metric: {told}" if is_average else told
            return FailedMetric("FailedGetObjectMetric", told, f"failed to get object metric value: {inner}")
        selector = metric.get("selector")
        shown = f"{self._namespace}/{name}/{'nil' if selector is None else selector_structure(selector)}"
        lost = f"the server could not find the requested resource (get {name}.{api_group('external.metrics')})"
        told = f"unable to get external metric {shown}: unable to fetch metrics from external metrics API: {lost}"
        inner = f"failed to get {f'{name} external metric' if is_average else f'external metric {name}'}: {told}"
        return FailedMetric("FailedGetExternalMetric", told, f"failed to get {name} external metric value: {inner}")

    @cached_property
    def _pods(self) -> Sequence[Object]:
        chosen = parse_selector(self._selector)
        found = self._lister.scan(PODS, self._namespace)
        return [pod for pod in found if chosen.matches(labels_of(pod))]

    def _samples(self, resource: str, container: str) -> dict[str, Sample]:
        """The usage of the pods, by name. Raises NoReplicaCount where the API for metrics gives none."""
        group = api_group("metrics")
        query = quote(self._selector, safe="=,")
        path = f"/apis/{group}/v1beta1/namespaces/{self._namespace}/pods?labelSelector={query}"
        answer = self._client.perform(Request.of("GET", path))
        prefix = f"unable to get metrics for resource {resource}: "
        if not answer.succeeded:
            texts = {404: "could not find the requested resource", 503: "is currently unable to handle the request"}
            why = texts.get(answer.status)
            shown = f"the server {why} (get pods.{group})" if why else str((answer.object or {}).get("message"))
            raise NoReplicaCount(f"{prefix}unable to fetch metrics from resource metrics API: {shown}")
        found = {}
        for each in answer.object.get("items") or ():
            usage = [one["usage"] for one in each.get("containers") or () if container in ("", one.get("name"))]
            if usage and all(resource in one for one in usage):
                value = sum(milli(one[resource]) for one in usage)
                found[name_of(each)] = Sample(value, moment(each["timestamp"]), seconds(each.get("window") or "0s"))
        if not found:
            raise NoReplicaCount(f"{prefix}no metrics returned from resource metrics API")
        return found


def _milli(quantity: Any) -> int | None:
    return None if quantity is None else milli(quantity)
