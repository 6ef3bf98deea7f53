"""The metrics that an autoscaler names, read from the API, and the number of pods that each asks for.

Upstream: pkg/controller/podautoscaler/horizontal.go and pkg/controller/podautoscaler/metrics, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.custom_metric_reader import CustomMetrics
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import PODS
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
from simkit.schema.catalogue import Catalogue


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
    catalogue
        What is served.
    scale
        The Scale of its target.
    """

    def __init__(
        self,
        client: Client,
        lister: Lister,
        scaler: Object,
        clock: Clock,
        catalogue: Callable[[], Catalogue],
        scale: Object,
    ) -> None:
        self._client, self._lister, self._scaler = client, lister, scaler
        self._selector, self._clock = str(scale["status"]["selector"]), clock
        self._tolerances = tolerances_of(at(scaler, "spec", "behavior"))
        self._custom = CustomMetrics(
            client,
            clock,
            catalogue,
            namespace_of(scaler),
            self._pods,
            self._selector,
            current=at(scale, "spec", "replicas") or 0,
            present=at(scale, "status", "replicas") or 0,
            tolerances=self._tolerances,
        )

    def read(self, spec: Mapping[str, Any], current: int) -> MetricValue | FailedMetric:
        """The value of one entry of ``spec.metrics``, or why there is none."""
        kind = spec.get("type") or ""
        if kind in ("Resource", "ContainerResource"):
            return self._resource(kind, spec, current)
        source = spec.get(kind.lower()) or {}
        read = {"Pods": self._custom.of_pods, "Object": self._custom.of_object, "External": self._custom.of_outside}
        try:
            replicas, status, name = read[kind](source)
        except NoReplicaCount as error:
            named, which = at(source, "metric", "name") or "", kind.lower()
            prefix = f"{named} external" if kind == "External" else which
            per_pod = f"failed to get {named} {which} metric: " if at(source, "target", "averageValue") else ""
            inner = f"{per_pod if kind != 'Pods' else ''}{error}"
            return FailedMetric(f"FailedGet{kind}Metric", str(error), f"failed to get {prefix} metric value: {inner}")
        return MetricValue(name, replicas, status)

    def _resource(self, kind: str, spec: Mapping[str, Any], current: int) -> MetricValue | FailedMetric:
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
                current=current,
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

    @cached_property
    def _pods(self) -> Sequence[Object]:
        chosen = parse_selector(self._selector)
        found = self._lister.scan(PODS, namespace_of(self._scaler))
        return [pod for pod in found if chosen.matches(labels_of(pod))]

    def _samples(self, resource: str, container: str) -> dict[str, Sample]:
        """The usage of the pods, by name. Raises NoReplicaCount where the API for metrics gives none."""
        group = api_group("metrics")
        query = quote(self._selector, safe="=,")
        path = f"/apis/{group}/v1beta1/namespaces/{namespace_of(self._scaler)}/pods?labelSelector={query}"
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
