"""The metrics that an autoscaler names, and the number of pods that each asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.resources import PODS
from simkit.kinds.parts.printers.cells import NONE, selector_structure, selector_text
from simkit.logic.workloads.replica_calculator import (
    NoReplicaCount,
    Proposal,
    Sample,
    Target,
    by_value,
    milli,
    milli_text,
    per_pod,
    proposed,
    tolerances_of,
)
from simkit.meta.clock import Clock, moment
from simkit.meta.domain import CUSTOM_METRICS_GROUP, EXTERNAL_METRICS_GROUP, api_group
from simkit.meta.duration import seconds
from simkit.meta.labels import parse as parse_selector
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of
from simkit.schema.catalogue import Catalogue

# Metrics of pods, of other objects and from outside of the cluster, and the number of pods that each asks for.
# Upstream: pkg/controller/podautoscaler/{horizontal,replica_calculator}.go and pkg/controller/podautoscaler/metrics,
# releases 1.30 and 1.34.

_WINDOW: Final = 60.0
"""The seconds over which the value of a pod was measured, where nothing is said."""


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
        self._selector, self._clock, self._catalogue = str(scale["status"]["selector"]), clock, catalogue
        self._tolerances = tolerances_of(at(scaler, "spec", "behavior"))
        self._namespace = namespace_of(scaler)
        self._current, self._present = at(scale, "spec", "replicas") or 0, at(scale, "status", "replicas") or 0

    def read(self, spec: Mapping[str, Any]) -> MetricValue | FailedMetric:
        """The value of one entry of ``spec.metrics``, or why there is none."""
        kind = spec.get("type") or ""
        if kind in ("Resource", "ContainerResource"):
            return self._resource(kind, spec)
        source = spec.get(kind.lower()) or {}
        read = {"Pods": self._of_pods, "Object": self._of_object, "External": self._of_outside}
        try:
            replicas, status, name = read[kind](source)
        except NoReplicaCount as error:
            named, which = at(source, "metric", "name") or "", kind.lower()
            prefix = f"{named} external" if kind == "External" else which
            per_pod = f"failed to get {named} {which} metric: " if at(source, "target", "averageValue") else ""
            inner = f"{per_pod if kind != 'Pods' else ''}{error}"
            return FailedMetric(f"FailedGet{kind}Metric", str(error), f"failed to get {prefix} metric value: {inner}")
        return MetricValue(name, replicas, status)

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

    def _of_pods(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
        """The number of pods for a metric of theirs, its status, and its name. Raises NoReplicaCount."""
        metric = source.get("metric") or {}
        try:
            items = self._custom("pods/*", metric, labels=self._selector)
            if not items:
                raise NoReplicaCount("no metrics returned from custom metrics API")
            samples = {
                str(at(each, "describedObject", "name")): Sample(
                    milli(each["value"]), moment(each["timestamp"]), float(each.get("windowSeconds") or _WINDOW)
                )
                for each in items
            }
        except NoReplicaCount as error:
            raise NoReplicaCount(f"unable to get metric {metric.get('name')}: {error}") from error
        target = Target(average=milli(at(source, "target", "averageValue")))
        found = proposed(
            self._pods,
            samples,
            "",
            target,
            current=self._current,
            now=self._clock.now(),
            tolerances=self._tolerances,
        )
        status = {"metric": dict(metric), "current": {"averageValue": milli_text(found.average)}}
        return found.replicas, {"type": "Pods", "pods": status}, f"pods metric {metric.get('name')}"

    def _of_object(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
        """The number of pods for a metric of another object. Raises NoReplicaCount."""
        metric, described = source.get("metric") or {}, source.get("describedObject") or {}
        name, kind = metric.get("name"), described.get("kind")
        try:
            items = self._custom(self._path(described), metric)
            if not items:
                raise NoReplicaCount("no metrics returned from custom metrics API")
        except NoReplicaCount as error:
            where = f"{self._namespace} {described.get('name')}"
            raise NoReplicaCount(f"unable to get metric {name}: {kind} on {where}/{error}") from error
        found, current, per = self._counted(milli(items[0]["value"]), source)
        status = {"describedObject": dict(described), "metric": dict(metric), "current": current}
        shown = _external_name(metric) if per else f"{kind} metric {name}"
        return found, {"type": "Object", "object": status}, shown

    def _of_outside(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
        """The number of pods for a metric from outside of the cluster. Raises NoReplicaCount."""
        metric = source.get("metric") or {}
        path = f"/apis/{EXTERNAL_METRICS_GROUP}/v1beta1/namespaces/{self._namespace}/{metric.get('name')}"
        try:
            items = self._items(path, "external", {"labelSelector": _query(metric)})
            if not items:
                raise NoReplicaCount("no metrics returned from external metrics API")
        except NoReplicaCount as error:
            shown = f"{self._namespace}/{metric.get('name')}/{_go_selector(metric)}"
            raise NoReplicaCount(f"unable to get external metric {shown}: {error}") from error
        found, current, _ = self._counted(sum(milli(each["value"]) for each in items), source)
        status = {"metric": dict(metric), "current": current}
        return found, {"type": "External", "external": status}, _external_name(metric)

    def _counted(self, value: int, source: Mapping[str, Any]) -> tuple[int, dict[str, str], bool]:
        """The number of pods for a value, the status of the value, and whether the target is for each pod."""
        average, whole = at(source, "target", "averageValue"), at(source, "target", "value")
        if average is not None:
            found: Proposal = per_pod(value, milli(average), present=self._present, tolerances=self._tolerances)
            return found.replicas, {"averageValue": milli_text(found.average)}, True
        if whole is None:
            raise NoReplicaCount("neither a value target nor an average value target was set")
        wanted = by_value(self._pods, value, milli(whole), current=self._current, tolerances=self._tolerances)
        return wanted, {"value": milli_text(value)}, False

    def _path(self, described: Mapping[str, Any]) -> str:
        """The resource and the name of an object. Raises NoReplicaCount for a kind that is not served."""
        group, _, version = str(described.get("apiVersion") or "").rpartition("/")
        kind = str(described.get("kind") or "")
        resource = self._catalogue().kind(GroupVersionKind(group, version, kind))
        if resource is None:
            raise NoReplicaCount(f'no matches for kind "{kind}" in group "{group}"')
        named = f"{resource.resource}.{group}" if group else resource.resource
        return f"{named}/{described.get('name')}"

    def _custom(self, path: str, metric: Mapping[str, Any], *, labels: str = "") -> Sequence[Mapping[str, Any]]:
        where = f"/apis/{CUSTOM_METRICS_GROUP}/v1beta2/namespaces/{self._namespace}/{path}/{metric.get('name')}"
        selectors = {"labelSelector": labels, "metricLabelSelector": _query(metric)}
        return self._items(where, "custom", selectors)

    def _items(self, path: str, kind: str, selectors: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        """The items of an answer. Raises NoReplicaCount."""
        query = "&".join(f"{name}={quote(text, safe='=,')}" for name, text in selectors.items() if text)
        answer = self._client.perform(Request.of("GET", f"{path}?{query}" if query else path))
        prefix = f"unable to fetch metrics from {kind} metrics API: "
        group = path.split("/")[2]
        if answer.status == 404 and not answer.body.startswith(b"{"):  # no such group is served
            raise NoReplicaCount(f"{prefix}no {kind} metrics API ({group}) registered")
        if not answer.succeeded:
            raise NoReplicaCount(prefix + str((answer.object or {}).get("message")))
        found: Sequence[Mapping[str, Any]] = answer.object.get("items") or ()
        return found

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


def _query(metric: Mapping[str, Any]) -> str:
    selector = metric.get("selector")
    text = selector_text(selector)
    return "" if text == NONE else text


def _external_name(metric: Mapping[str, Any]) -> str:
    return f"external metric {metric.get('name')}({_go_selector(metric)})"


def _go_selector(metric: Mapping[str, Any]) -> str:
    """A label selector as Go prints it with ``%+v``."""
    selector = metric.get("selector")
    return "nil" if selector is None else selector_structure(selector)


def _milli(quantity: Any) -> int | None:
    return None if quantity is None else milli(quantity)
