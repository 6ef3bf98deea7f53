"""The usage of simulated pods and nodes, served as the group ``metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.resources import NODES, PODS
from simkit.logic.workloads.pods import is_ready
from simkit.meta import go_json
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import META_GROUP, RBAC_GROUP, REGISTRATION_GROUP, SYSTEM_NAMESPACE, api_group
from simkit.meta.errors import StatusError, bad_request, method_not_allowed, not_found
from simkit.meta.fields import BadFieldSelector
from simkit.meta.fields import parse as parse_fields
from simkit.meta.foreign import ForeignFault, call, judged_usage
from simkit.meta.labels import BadSelector
from simkit.meta.labels import parse as parse_labels
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, controller_of, labels_of, name_of, namespace_of
from simkit.meta.quantity import NANO, Quantity, QuantityError, parse
from simkit.schema.behaviour import OWN
from simkit.seams.snapshot import Snapshot
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.process import Container

# The CPU and memory that containers use: what a test says, or half of what they request

_LEAST_CPU: Final = NANO // 100
_LEAST_MEMORY: Final = 20 * 1024 * 1024 * NANO
_OF_NODE: Final = (NANO // 10, 500 * 1024 * 1024 * NANO)
_FIELDS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


class Used(NamedTuple):
    """CPU and memory, both in billionths of their units."""

    cpu: int
    memory: int

    def plus(self, other: Used) -> Used:
        """Both together."""
        return Used(self.cpu + other.cpu, self.memory + other.memory)

    def quantities(self) -> dict[str, str]:
        """The same in the notation of metrics.

        Examples
        --------
        >>> Used(5_000_000, 1024 * 2048 * 10**9).quantities()
        {'cpu': '5m', 'memory': '2Mi'}
        """
        memory = self.memory // NANO // 1024 * 1024 * NANO
        return {"cpu": str(Quantity(self.cpu)), "memory": str(Quantity(memory, "BinarySI"))}


def node_overhead(node: Object) -> Used:
    """The usage of a node besides its pods: a little, at most a tenth of its memory.

    Examples
    --------
    >>> node_overhead({"status": {"capacity": {"memory": "1000Mi"}}}).quantities()
    {'cpu': '100m', 'memory': '100Mi'}
    """
    capacity, (cpu, memory) = _amount(str(at(node, "status", "capacity", "memory") or "")), _OF_NODE
    return Used(cpu, memory if capacity is None else min(memory, capacity // 10))


class UsageModel:
    """The usage of containers.

    Parameters
    ----------
    behaviours
        What a test says: the settings ``cpu`` and ``memory`` of a container, ``cpu-load`` (an amount that the ready
        pods of one controller share), and functions.
    pods
        The pods among which such a load is shared.
    """

    def __init__(self, behaviours: Behaviours, clock: Clock, pods: Iterable[Object]) -> None:
        self._behaviours, self._clock = behaviours, clock
        self._ready: dict[str, int] = {}
        for pod in pods:
            if is_ready(pod):
                owner = (controller_of(pod) or {}).get("uid", "")
                self._ready[owner] = self._ready.get(owner, 0) + 1

    def containers(self, pod: Object) -> Iterator[tuple[str, Used]]:
        """The running containers of a pod, with their usage; without those whose function fails, which is told."""
        for field, told in _FIELDS:
            statuses = {each["name"]: each for each in at(pod, "status", told) or ()}
            for spec in at(pod, "spec", field) or ():
                if at(statuses.get(spec.get("name", "")), "state", "running") is None:
                    continue
                try:
                    used = self._of(pod, spec)
                except ForeignFault as fault:
                    self._behaviours.on_fault(pod, str(fault))
                    continue
                yield str(spec["name"]), used

    def _of(self, pod: Object, spec: Mapping[str, Any]) -> Used:
        told = self._told(pod, spec)
        shared = _amount(self._behaviours.setting(pod, spec, "cpu-load"))
        owner = (controller_of(pod) or {}).get("uid", "")
        requests = at(spec, "resources", "requests") or {}
        cpu, memory = _amount(told.get("cpu", "")), _amount(told.get("memory", ""))
        if cpu is None and shared is not None:
            cpu = shared // max(1, self._ready.get(owner, 1)) if is_ready(pod) else _LEAST_CPU
        return Used(
            _half(requests.get("cpu"), _LEAST_CPU) if cpu is None else cpu,
            _half(requests.get("memory"), _LEAST_MEMORY) if memory is None else memory,
        )

    def _told(self, pod: Object, spec: Mapping[str, Any]) -> Mapping[str, str]:
        function = self._behaviours.usage(pod, spec)
        found = {name: self._behaviours.setting(pod, spec, name) for name in ("cpu", "memory")}
        found = {name: text for name, text in found.items() if text}
        if function is None:
            return found
        what = f"the usage of container {spec.get('name', '')} of pod {namespace_of(pod)}/{name_of(pod)}"
        return {**call(what, function, Container(pod, spec), self._clock.now(), judge=judged_usage), **found}


def _amount(text: str) -> int | None:
    try:
        return parse(str(text)).nano if text else None
    except QuantityError:
        return None


def _half(request: object, least: int) -> int:
    requested = _amount(str(request or ""))
    return least if requested is None else requested // 2


# The group ``metrics``: NodeMetrics and PodMetrics of simulated nodes, as metrics-server serves them.
# References: k8s.io/metrics/pkg/apis/metrics/v1beta1 and sigs.k8s.io/metrics-server, release 0.7.

GROUP: Final = api_group("metrics")
VERSION: Final = "v1beta1"
SERVICE: Final = (SYSTEM_NAMESPACE, "metrics-server")
"""The service whose place the server of this process takes."""
_WINDOW: Final = "15s"
_PATH: Final = f"/apis/{GROUP}/{VERSION}"
_COLUMNS: Final = (("Name", "string"), ("cpu", "string"), ("memory", "string"), ("Window", "string"))


class MetricsServer:
    """Answers requests for the usage of nodes and pods.

    Parameters
    ----------
    snapshot
        The present objects.
    reaches
        Whether a node is simulated and alive: nothing is known of the pods on others.
    """

    def __init__(
        self, clock: Clock, snapshot: Callable[[], Snapshot], behaviours: Behaviours, reaches: Callable[[str], bool]
    ) -> None:
        self._clock, self._snapshot, self._behaviours, self._reaches = clock, snapshot, behaviours, reaches

    def answer(self, request: Request) -> Response:
        """The answer to a request. Raises StatusError for one that it does not serve."""
        if request.path == _PATH:
            return Response(200, go_json.encode(_resources()) + b"\n")
        parts = request.path.removeprefix(f"{_PATH}/").split("/")
        namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
        kind, *name = parts[2:] if namespace else parts
        if not request.path.startswith(f"{_PATH}/") or kind not in ("nodes", "pods") or len(name) > 1:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if request.method != "GET" or request.option("watch") in ("1", "true"):
            raise method_not_allowed()
        found = list(self._pods(namespace) if kind == "pods" else self._nodes())
        if name:
            return self._one(request, kind, found, name[0], namespace)
        chosen = _selected(request, found)
        word = "PodMetricsList" if kind == "pods" else "NodeMetricsList"
        return _written(request, {**_typed(word), "metadata": {}, "items": chosen}, chosen)

    def _one(self, request: Request, kind: str, found: Sequence[Object], name: str, namespace: str) -> Response:
        for each in found:
            if name_of(each) == name and (kind == "nodes" or namespace):
                return _written(request, each, [each])
        shown = f"{namespace}/{name}" if namespace else name
        raise not_found(GroupResource(GROUP, kind), shown)

    def _measured(self, namespace: str = "") -> Iterable[tuple[Object, dict[str, dict[str, str]], Any]]:
        snapshot = self._snapshot()
        pods = [
            pod
            for pod in snapshot.scan(PODS, namespace or None)
            if at(pod, "status", "phase") == "Running" and self._reaches(str(at(pod, "spec", "nodeName") or ""))
        ]
        usage = UsageModel(self._behaviours, self._clock, pods)
        for pod in pods:
            used = dict(usage.containers(pod))
            if used:
                yield pod, {name: each.quantities() for name, each in used.items()}, used.values()

    def _pods(self, namespace: str) -> Iterable[Object]:
        for pod, containers, _ in self._measured(namespace):
            usage = [{"name": name, "usage": used} for name, used in containers.items()]
            yield {**self._head("PodMetrics", pod), "containers": usage}

    def _nodes(self) -> Iterable[Object]:
        totals: dict[str, Used] = {}
        for pod, _, used in self._measured():
            node = pod["spec"]["nodeName"]
            for each in used:
                totals[node] = totals[node].plus(each) if node in totals else each
        for node in self._snapshot().scan(NODES):
            if self._reaches(name_of(node)):
                usage = node_overhead(node).plus(totals.get(name_of(node), Used(0, 0)))
                yield {**self._head("NodeMetrics", node), "usage": usage.quantities()}

    def _head(self, kind: str, obj: Object) -> dict[str, Any]:
        now = timestamp(self._clock.now())
        meta = {"name": name_of(obj), "creationTimestamp": now, "labels": dict(labels_of(obj))}
        if namespace_of(obj):
            meta["namespace"] = namespace_of(obj)
        return {**_typed(kind), "metadata": meta, "timestamp": now, "window": _WINDOW}


def _typed(kind: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}"}


def _resources() -> dict[str, Any]:
    rows = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": [
            {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]}
            for name, kind, namespaced in rows
        ],
    }


def _selected(request: Request, found: Sequence[Object]) -> list[Object]:
    try:
        labels, fields = parse_labels(request.option("labelSelector")), parse_fields(request.option("fieldSelector"))
    except BadSelector as error:
        raise bad_request(error.told(OWN)) from error
    except BadFieldSelector as error:
        raise bad_request(str(error)) from error
    return [
        each
        for each in found
        if labels.matches(labels_of(each))
        and fields.matches({"metadata.name": name_of(each), "metadata.namespace": namespace_of(each)})
    ]


def _written(request: Request, document: Mapping[str, Any], rows: Sequence[Object]) -> Response:
    if "as=Table" not in request.header("accept"):
        return Response(200, go_json.encode(document) + b"\n")
    columns = [
        {"name": name, "type": kind, "format": "name" if name == "Name" else "", "description": "", "priority": 0}
        for name, kind in _COLUMNS
    ]
    cells = [{"cells": _cells(each), "object": _partial(each)} for each in rows]
    table = {"kind": "Table", "apiVersion": f"{META_GROUP}/v1", "metadata": {}, "columnDefinitions": columns}
    return Response(200, go_json.encode({**table, "rows": cells}) + b"\n")


def _cells(obj: Object) -> list[str]:
    used = [obj["usage"]] if "usage" in obj else [each["usage"] for each in obj["containers"]]
    sums = [sum(parse(each[name]).nano for each in used) for name in ("cpu", "memory")]
    return [name_of(obj), str(Quantity(sums[0])), str(Quantity(sums[1], "BinarySI")), _WINDOW]


def _partial(obj: Object) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/v1", "metadata": obj["metadata"]}


def registration() -> dict[str, Any]:
    """The APIService by which the group is registered."""
    namespace, name = SERVICE
    return {
        "apiVersion": f"{REGISTRATION_GROUP}/v1",
        "kind": "APIService",
        "metadata": {"name": f"{VERSION}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": namespace, "name": name, "port": 443},
        },
    }


def reader_role() -> dict[str, Any]:
    """The role that lets viewers, editors and admins of a namespace read metrics."""
    labels = {f"{RBAC_GROUP}/aggregate-to-{each}": "true" for each in ("view", "edit", "admin")}
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:aggregated-metrics-reader", "labels": labels},
        "rules": [{"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}],
    }
