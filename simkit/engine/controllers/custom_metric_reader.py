"""Metrics of pods, of other objects and from outside of the cluster, and the number of pods that each asks for.

Upstream: pkg/controller/podautoscaler/{horizontal,replica_calculator}.go and pkg/controller/podautoscaler/metrics,
release 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from simkit.engine.controllers.controller_manager import Client
from simkit.kinds.parts.printers.cells import NONE
from simkit.kinds.parts.printers.label_selector import selector_structure, selector_text
from simkit.logic.workloads.replica_calculator import (
    NoReplicaCount,
    Proposal,
    Sample,
    Target,
    Tolerances,
    by_value,
    milli,
    milli_text,
    per_pod,
    proposed,
)
from simkit.meta.clock import Clock, moment
from simkit.meta.domain import CUSTOM_METRICS_GROUP, EXTERNAL_METRICS_GROUP
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, at
from simkit.schema.catalogue import Catalogue

_WINDOW: Final = 60.0
"""The seconds over which the value of a pod was measured, where nothing is said."""


class CustomMetrics:
    """Reads metrics of one namespace for one autoscaler.

    Parameters
    ----------
    catalogue
        What is served, for the resource of a kind.
    pods
        The pods of the scaled object.
    selector
        Their label selector.
    current, present
        The number of replicas that is asked for, and the number that there are.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        catalogue: Callable[[], Catalogue],
        namespace: str,
        pods: Sequence[Object],
        selector: str,
        *,
        current: int,
        present: int,
        tolerances: Tolerances,
    ) -> None:
        self._client, self._clock, self._catalogue, self._namespace = client, clock, catalogue, namespace
        self._pods, self._selector = pods, selector
        self._current, self._present, self._tolerances = current, present, tolerances

    def of_pods(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
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

    def of_object(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
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

    def of_outside(self, source: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str]:
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
