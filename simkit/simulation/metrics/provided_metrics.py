"""Metrics that a test provides, served as the groups ``custom.metrics`` and ``external.metrics``.

References
----------
k8s.io/metrics/pkg/apis/custom_metrics (v1beta1, v1beta2) and k8s.io/metrics/pkg/apis/external_metrics (v1beta1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import unquote

from simkit.meta import go_json
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import CUSTOM_METRICS_GROUP, EXTERNAL_METRICS_GROUP, SYSTEM_NAMESPACE
from simkit.meta.errors import StatusError, internal, method_not_allowed
from simkit.meta.foreign import ForeignFault, call, judged_amount
from simkit.meta.labels import parse as parse_labels
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, labels_of, name_of
from simkit.meta.quantity import Quantity, parse
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot
from simkit.simulation.metrics.metrics_server import registration, unknown_path

SERVICE: Final = (SYSTEM_NAMESPACE, "provided-metrics")
"""The service whose place the server of this process takes."""
VERSIONS: Final = (
    (CUSTOM_METRICS_GROUP, "v1beta2"),
    (CUSTOM_METRICS_GROUP, "v1beta1"),
    (EXTERNAL_METRICS_GROUP, "v1beta1"),
)
Value = str | int | float | Callable[[Object | None, float], str | int | float]
"""A quantity, or a function of the object (None for an external metric) and the time in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ProvidedMetric:
    """One metric.

    Attributes
    ----------
    resource
        The resource whose objects it is about, such as ``pods``, with its group behind a dot; empty for an external
        metric.
    namespace, object_name
        Patterns of the namespaces and objects that are meant.
    labels
        The labels of the metric.
    """

    name: str
    value: Value
    resource: str = ""
    namespace: str = "*"
    object_name: str = "*"
    labels: Mapping[str, str] = field(default_factory=dict)

    def amount(self, obj: Object | None, now: float) -> str:
        """The value now, as a quantity. Raises 500 where a function for it fails."""
        given = self.value
        if callable(given):
            try:
                given = call(f"metric {self.name}", given, obj, now, judge=judged_amount)
            except ForeignFault as fault:
                raise internal(str(fault)) from fault
        return str(Quantity(round(given * 10**9))) if isinstance(given, int | float) else str(parse(given))


class ProvidedMetrics:
    """Answers requests for metrics; of several with the same name, the one that was said last counts first.

    Parameters
    ----------
    snapshot
        The present objects.
    catalogue
        What is served.
    given
        The metrics, which may become more.
    """

    def __init__(
        self,
        clock: Clock,
        snapshot: Callable[[], Snapshot],
        catalogue: Callable[[], Catalogue],
        given: Sequence[ProvidedMetric],
    ) -> None:
        self._clock, self._snapshot, self._catalogue, self._given = clock, snapshot, catalogue, given

    def answer(self, request: Request) -> Response:
        """The answer to a request. Raises StatusError for one that it does not serve."""
        _, *words = request.path.strip("/").split("/")
        group, version, *parts = words if len(words) > 1 else ("", "")
        if (group, version) not in VERSIONS:
            raise unknown_path()
        if request.method != "GET":
            raise method_not_allowed()
        if not parts:
            return _answered(self._resources(group, version))
        namespace, parts = (parts[1], parts[2:]) if parts[0] == "namespaces" and len(parts) > 2 else ("", parts)
        if group == EXTERNAL_METRICS_GROUP and namespace and len(parts) == 1:
            return _answered(self._external(namespace, parts[0], request))
        if group == CUSTOM_METRICS_GROUP and len(parts) == 3:
            return _answered(self._custom(version, namespace, parts, request))
        raise unknown_path()

    def _external(self, namespace: str, name: str, request: Request) -> dict[str, Any]:
        chosen, now = parse_labels(request.option("labelSelector")), self._clock.now()
        found: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
        for each in self._given:
            fits = each.name == name and not each.resource and fnmatchcase(namespace, each.namespace)
            if fits and chosen.matches(each.labels):
                item = {"metricName": name, "metricLabels": dict(each.labels), "timestamp": timestamp(now)}
                found.setdefault(tuple(sorted(each.labels.items())), {**item, "value": each.amount(None, now)})
        head = {"kind": "ExternalMetricValueList", "apiVersion": f"{EXTERNAL_METRICS_GROUP}/v1beta1", "metadata": {}}
        return {**head, "items": list(found.values())}

    def _custom(self, version: str, namespace: str, parts: Sequence[str], request: Request) -> dict[str, Any]:
        resource, wanted, name = map(unquote, parts)
        items = list(self._values(version, resource, namespace, wanted, name, request))
        if not items and wanted != "*":
            raise StatusError(
                404,
                "NotFound",
                f"the server could not find the metric {name} for {resource} {wanted}",
                details={"name": wanted, "kind": resource},
            )
        return {
            "kind": "MetricValueList",
            "apiVersion": f"{CUSTOM_METRICS_GROUP}/{version}",
            "metadata": {},
            "items": items,
        }

    def _values(
        self, version: str, resource: str, namespace: str, wanted: str, name: str, request: Request
    ) -> Iterable[dict[str, Any]]:
        plural, _, group = resource.partition(".")
        known = self._catalogue().preferred(GroupResource(group, plural))
        if known is None:
            return
        labels, metric = (
            parse_labels(request.option("labelSelector")),
            parse_labels(request.option("metricLabelSelector")),
        )
        now = self._clock.now()
        for obj in self._snapshot().scan(GroupResource(group, plural), namespace or None):
            if wanted not in ("*", name_of(obj)) or not labels.matches(labels_of(obj)):
                continue
            given = next((each for each in self._given if self._is_of(each, obj, resource, namespace, name)), None)
            if given is not None and metric.matches(given.labels):
                identifier = {
                    "name": name,
                    **({"selector": {"matchLabels": dict(given.labels)}} if given.labels else {}),
                }
                told = {"metric": identifier} if version == "v1beta2" else {"metricName": name}
                yield {
                    "describedObject": {
                        "kind": obj.get("kind", ""),
                        "namespace": namespace,
                        "name": name_of(obj),
                        "apiVersion": obj.get("apiVersion", ""),
                    },
                    **told,
                    "timestamp": timestamp(now),
                    "value": given.amount(obj, now),
                }

    @staticmethod
    def _is_of(given: ProvidedMetric, obj: Object, resource: str, namespace: str, name: str) -> bool:
        return (
            (given.name, given.resource) == (name, resource)
            and fnmatchcase(namespace, given.namespace)
            and fnmatchcase(name_of(obj), given.object_name)
        )

    def _resources(self, group: str, version: str) -> dict[str, Any]:
        known = [each for each in self._given if bool(each.resource) is (group == CUSTOM_METRICS_GROUP)]
        names = dict.fromkeys(f"{each.resource}/{each.name}" if each.resource else each.name for each in known)
        kind = "MetricValueList" if group == CUSTOM_METRICS_GROUP else "ExternalMetricValueList"
        rows = [
            {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get"]} for name in names
        ]
        head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
        return {**head, "resources": rows}


def _answered(document: Mapping[str, Any]) -> Response:
    return Response(200, go_json.encode(document) + b"\n")


def registrations() -> list[dict[str, Any]]:
    """The APIServices by which the groups are registered."""
    return [registration(group, version, SERVICE, 200 if version == "v1beta2" else 100) for group, version in VERSIONS]
