"""The pages that a simulated kubelet shows at its own port: health, pods, and what they use.

Upstream: pkg/kubelet/server/server.go, pkg/kubelet/server/stats and pkg/kubelet/metrics/collectors/resource_metrics.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.engine.controllers.lister import uid_of
from simkit.meta import go_json
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.meta.quantity import NANO, parse
from simkit.simulation.kubelet.ports import request_line
from simkit.simulation.metrics.usage import UsageModel, Used, node_overhead

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_POD: Final = ("namespace", "pod")
_CONTAINER: Final = ("container", *_POD)


class _Running(NamedTuple):
    """A running container: what it uses, and since when it runs."""

    pod: Object
    name: str
    used: Used
    since: str


class KubeletPages:
    """The answers of a kubelet to requests of HTTP.

    Parameters
    ----------
    pods
        Those of the node.
    usage
        What containers use.

    Notes
    -----
    Usage over time is the present one since the start: what containers used before is not kept.
    """

    def __init__(self, node: Object, pods: Sequence[Object], usage: UsageModel, clock: Clock) -> None:
        self._node, self._pods, self._usage, self._clock = node, pods, usage, clock
        self._pages: Mapping[str, tuple[str, Callable[[], bytes]]] = {
            "/healthz": (_TEXT, lambda: b"ok"),
            "/pods": (_JSON, lambda: _listed(self._pods)),
            "/runningpods": (_JSON, self._running_pods),
            "/stats/summary": (_JSON, lambda: go_json.encode(self._summary()) + b"\n"),
            "/metrics/resource": (_METRICS, self._resource_metrics),
        }

    def __call__(self, data: bytes) -> bytes:
        """The answer to one whole request."""
        asked = request_line(data)
        if asked is None:
            return _response("400 Bad Request", _TEXT, b"400 Bad Request")
        method, target = asked
        kind, page = self._pages.get(target.partition("?")[0].rstrip("/"), (_TEXT, None))
        if page is None:
            return _response("404 Not Found", kind, b"404 page not found\n")
        if method not in ("GET", "HEAD"):
            return _response("405 Method Not Allowed", _TEXT, b"405: Method Not Allowed")
        return _response("200 OK", kind, page(), shown=method == "GET")

    def _running(self) -> Iterator[_Running]:
        for pod in self._pods:
            states = {
                each["name"]: at(each, "state", "running", "startedAt") or ""
                for told in ("initContainerStatuses", "containerStatuses")
                for each in at(pod, "status", told) or ()
            }
            for name, used in self._usage.containers(pod):
                yield _Running(pod, name, used, states[name])

    def _running_pods(self) -> bytes:
        """The pods that have running containers, as the container runtime knows them."""
        found: dict[str, dict[str, Any]] = {}
        for each in self._running():
            meta = {name: metadata(each.pod).get(name) for name in ("name", "namespace", "uid")}
            made = found.setdefault(uid_of(each.pod), {"metadata": meta, "spec": {"containers": []}, "status": {}})
            specs = [*(at(each.pod, "spec", "initContainers") or ()), *(at(each.pod, "spec", "containers") or ())]
            image = next(spec.get("image", "") for spec in specs if spec.get("name") == each.name)
            made["spec"]["containers"].append({"name": each.name, "image": image, "resources": {}})
        return _listed(found.values())

    def _summary(self) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        sums: dict[str, Used] = {}
        for each in self._running():
            uid = uid_of(each.pod)
            reference = {"name": name_of(each.pod), "namespace": namespace_of(each.pod), "uid": uid}
            since = str(at(each.pod, "status", "startTime") or each.since)
            made = found.setdefault(uid, {"podRef": reference, "startTime": since, "containers": []})
            made["containers"].append(
                {"name": each.name, "startTime": each.since, **self._stats(each.used, each.since)}
            )
            sums[uid] = sums.get(uid, Used(0, 0)).plus(each.used)
        pods = [{**made, **self._stats(sums[uid], made["startTime"])} for uid, made in found.items()]
        used, start = self._total(sums.values()), str(metadata(self._node).get("creationTimestamp") or "")
        stats = self._stats(used, start)
        capacity = at(self._node, "status", "capacity", "memory")
        if capacity is not None:
            stats["memory"]["availableBytes"] = max(0, parse(str(capacity)).nano - used.memory) // NANO
        return {"node": {"nodeName": name_of(self._node), "startTime": start, **stats}, "pods": pods}

    def _total(self, pods: Iterable[Used]) -> Used:
        total = node_overhead(self._node)
        for each in pods:
            total = total.plus(each)
        return total

    def _stats(self, used: Used, since: str) -> dict[str, Any]:
        now, held = timestamp(self._clock.now()), used.memory // NANO
        cpu = {"time": now, "usageNanoCores": used.cpu, "usageCoreNanoSeconds": int(used.cpu * self._seconds(since))}
        return {"cpu": cpu, "memory": {"time": now, "usageBytes": held, "workingSetBytes": held, "rssBytes": held}}

    def _seconds(self, since: str) -> float:
        return max(0.0, self._clock.now() - moment(since)) if since else 0.0

    def _resource_metrics(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest

        registry, pages = CollectorRegistry(auto_describe=False), self

        class Families:
            def collect(self) -> Iterator[Metric]:
                yield from pages._families()

        registry.register(Families())
        return generate_latest(registry)

    def _families(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        cpu = CounterMetricFamily("container_cpu_usage_seconds", "CPU time of a container.", labels=_CONTAINER)
        memory = GaugeMetricFamily("container_memory_working_set_bytes", "Memory of a container.", labels=_CONTAINER)
        started = GaugeMetricFamily("container_start_time_seconds", "Start of a container.", labels=_CONTAINER)
        pod_cpu = CounterMetricFamily("pod_cpu_usage_seconds", "CPU time of a pod.", labels=_POD)
        pod_memory = GaugeMetricFamily("pod_memory_working_set_bytes", "Memory of a pod.", labels=_POD)
        sums: dict[tuple[str, str], tuple[float, int]] = {}
        used = node_overhead(self._node)
        seconds = used.cpu / NANO * self._seconds(str(metadata(self._node).get("creationTimestamp") or ""))
        for each in self._running():
            pod, used = (namespace_of(each.pod), name_of(each.pod)), used.plus(each.used)
            spent, held = each.used.cpu / NANO * self._seconds(each.since), each.used.memory // NANO
            cpu.add_metric((each.name, *pod), spent)
            memory.add_metric((each.name, *pod), held)
            started.add_metric((each.name, *pod), moment(each.since))
            before = sums.get(pod, (0.0, 0))
            sums[pod], seconds = (before[0] + spent, before[1] + held), seconds + spent
        for pod, (spent, held) in sums.items():
            pod_cpu.add_metric(pod, spent)
            pod_memory.add_metric(pod, held)
        yield from (cpu, memory, started, pod_cpu, pod_memory)
        yield CounterMetricFamily("node_cpu_usage_seconds", "CPU time of the node.", value=seconds)
        yield GaugeMetricFamily("node_memory_working_set_bytes", "Memory of the node.", value=used.memory // NANO)
        yield GaugeMetricFamily("resource_scrape_error", "1 if something could not be measured, else 0.", value=0)


def _listed(pods: Iterable[Object]) -> bytes:
    items = [{name: part for name, part in pod.items() if name not in ("kind", "apiVersion")} for pod in pods]
    return go_json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}) + b"\n"


def _response(status: str, kind: str, body: bytes, *, shown: bool = True) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + (body if shown else b"")
