"""The pages that a simulated kubelet shows at its own port: health, pods, and what they use.

Upstream: pkg/kubelet/server/server.go, pkg/kubelet/server/stats and pkg/kubelet/metrics/collectors/resource_metrics.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.engine.controllers.lister import uid_of
from simkit.meta import go_json
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.meta.quantity import NANO, parse
from simkit.simulation.connections.disk_statistics import Extent, FileSystem, PodUse, pod_use
from simkit.simulation.connections.http_answer import JSON, TEXT, answered, not_allowed
from simkit.simulation.connections.kubelet_configuration import configuration
from simkit.simulation.connections.kubelet_metrics import Measured, exposed, of_cadvisor, of_kubelet, of_probes
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.container_runtime import ContainerRuntime
from simkit.simulation.kubelet.eviction_settings import PROCESS_NUMBERS, EvictionSettings
from simkit.simulation.kubelet.ports import request_line
from simkit.simulation.metrics.usage import UsageModel, Used, node_overhead
from simkit.simulation.pressure.consumption import consumption, image_bytes, used_besides
from simkit.simulation.pressure.thresholds import FILES, PIDS, capacities
from simkit.simulation.scheduler.resource_amounts import STORAGE

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_POD: Final = ("namespace", "pod")
_CONTAINER: Final = ("container", *_POD)


class _Spent(NamedTuple):
    """The present usage, and the nanoseconds of processors that were used so far."""

    used: Used = Used(0, 0)
    cpu_time: int = 0

    def plus(self, other: _Spent) -> _Spent:
        """Both together."""
        return _Spent(self.used.plus(other.used), self.cpu_time + other.cpu_time)


class _Running(NamedTuple):
    """A running container: what it uses, and since when it runs."""

    pod: Object
    name: str
    spent: _Spent
    since: str


class KubeletPages:
    """The answers of a kubelet to requests of HTTP.

    Parameters
    ----------
    pods
        Gives all pods of the cluster.
    behaviours
        What a test says of them.
    runtime
        Knows their files, logs and probes.
    eviction
        The settings of the kubelet.

    Notes
    -----
    Usage over time is the present one since the start: what containers used before is not kept.
    """

    def __init__(
        self,
        node: Object,
        pods: Callable[[], Iterable[Object]],
        behaviours: Behaviours,
        clock: Clock,
        runtime: ContainerRuntime,
        eviction: EvictionSettings,
    ) -> None:
        self._processes = runtime.processes
        self._node, self._pods, self._behaviours, self._clock = node, pods, behaviours, clock
        self._pages: Mapping[str, tuple[str, Callable[[], bytes]]] = {
            "/healthz": (TEXT, lambda: b"ok"),
            "/pods": (JSON, lambda: _listed(self.own())),
            "/runningpods": (JSON, self._running_pods),
            "/stats/summary": (JSON, lambda: go_json.encode(self._summary()) + b"\n"),
            "/metrics/resource": (_METRICS, self._resource_metrics),
            "/metrics": (_METRICS, lambda: exposed(lambda: of_kubelet(node, self.own()))),
            "/metrics/cadvisor": (_METRICS, self._cadvisor),
            "/metrics/probes": (_METRICS, lambda: exposed(lambda: of_probes(self.own(), runtime.probes))),
            "/configz": (JSON, lambda: go_json.encode(configuration(node, eviction))),
        }

    def __call__(self, data: bytes) -> bytes:
        """The answer to one whole request."""
        asked = request_line(data)
        if asked is None:
            return answered("400 Bad Request", TEXT, b"400 Bad Request")
        method, target = asked
        kind, page = self._pages.get(target.partition("?")[0].rstrip("/"), (TEXT, None))
        if page is None:
            return answered("404 Not Found", kind, b"404 page not found\n")
        if method not in ("GET", "HEAD"):
            return not_allowed()
        return answered("200 OK", kind, page(), shown=method == "GET")

    def own(self) -> list[Object]:
        """The pods of the node."""
        return self._own(self._pods())

    def _own(self, pods: Iterable[Object]) -> list[Object]:
        return [pod for pod in pods if at(pod, "spec", "nodeName") == name_of(self._node)]

    def _running(self) -> Iterator[_Running]:
        known = list(self._pods())
        usage = UsageModel(self._behaviours, self._clock, known)
        for pod in self._own(known):
            states = {
                each["name"]: at(each, "state", "running", "startedAt") or ""
                for told in ("initContainerStatuses", "containerStatuses")
                for each in at(pod, "status", told) or ()
            }
            for name, used in usage.containers(pod):
                yield _Running(pod, name, self._spent(used, states[name]), states[name])

    def _spent(self, used: Used, since: str) -> _Spent:
        seconds = max(0.0, self._clock.now() - moment(since)) if since else 0.0
        return _Spent(used, int(used.cpu * seconds))

    def _own_spent(self) -> _Spent:
        """The usage of the node besides its pods."""
        return self._spent(node_overhead(self._node), self._since)

    @property
    def _since(self) -> str:
        return str(metadata(self._node).get("creationTimestamp") or "")

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
        sums: dict[str, _Spent] = {}
        total = self._own_spent()
        for each in self._running():
            uid = uid_of(each.pod)
            reference = {"name": name_of(each.pod), "namespace": namespace_of(each.pod), "uid": uid}
            since = str(at(each.pod, "status", "startTime") or each.since)
            made = found.setdefault(uid, {"podRef": reference, "startTime": since, "containers": []})
            made["containers"].append({"name": each.name, "startTime": each.since, **self._stats(each.spent)})
            sums[uid], total = sums.get(uid, _Spent()).plus(each.spent), total.plus(each.spent)
        used, disk = self._use()
        pods = [{**self._with_disk(made, used.get(uid), disk), **self._stats(sums[uid])} for uid, made in found.items()]
        stats = self._stats(total)
        capacity = at(self._node, "status", "capacity", "memory")
        if capacity is not None:
            stats["memory"]["availableBytes"] = max(0, parse(str(capacity)).nano - total.used.memory) // NANO
        node = {"nodeName": name_of(self._node), "startTime": self._since, **stats, **self._of_node(used, disk)}
        return {"node": node, "pods": pods}

    def _use(self) -> tuple[Mapping[str, PodUse], FileSystem]:
        """The usage of disks by pods that have running containers, and the disk of the node."""
        known = list(self._pods())
        usage = UsageModel(self._behaviours, self._clock, known)
        consumed = [consumption(pod, usage, self._behaviours) for pod in self._own(known)]
        used = {uid_of(each.pod): pod_use(each, self._processes) for each in consumed if each.containers}
        capacity = capacities(at(self._node, "status", "capacity") or {})
        besides, together = used_besides(self._node, capacity), Extent()
        for each in used.values():
            together = together.plus(each.ephemeral)
        taken = Extent(besides.get(STORAGE, 0), besides.get(FILES, 0)).plus(together)
        return used, FileSystem(self._now, capacity, {STORAGE: taken.held, FILES: taken.files})

    def _with_disk(self, made: Mapping[str, Any], used: PodUse | None, disk: FileSystem) -> dict[str, Any]:
        found = {**made, "network": self._network()}
        if used is None:
            return found
        for each in made["containers"]:
            rootfs, logs = used.containers.get(each["name"], (Extent(), Extent()))
            each |= {"rootfs": disk.shown(rootfs), "logs": disk.shown(logs)}
        if used.volumes:
            found["volume"] = [each.shown(disk) for each in used.volumes]
        found["ephemeral-storage"] = disk.shown(used.ephemeral)
        return {**found, "process_stats": {"process_count": used.processes}}

    def _of_node(self, used: Mapping[str, PodUse], disk: FileSystem) -> dict[str, Any]:
        """The network, the disk and the processes of the node; images and containers are on the same disk."""
        images = disk.shown(Extent(image_bytes(self._node), disk.taken[FILES]))
        processes = sum(each.processes for each in used.values())
        processes += used_besides(self._node, disk.capacity).get(PIDS, 0)
        return {
            "network": self._network(),
            "fs": disk.whole,
            "runtime": {"imageFs": images, **({"containerFs": images} if self._tells_containers else {})},
            "rlimit": {"time": self._now, "maxpid": PROCESS_NUMBERS, "curproc": processes},
        }

    @property
    def _tells_containers(self) -> bool:
        """True if the release tells of the disk of written files besides that of images (from 1.29 on)."""
        version = str(at(self._node, "status", "nodeInfo", "kubeletVersion") or "").lstrip("v").split(".")
        return version[0] == "1" and len(version) > 1 and version[1].isdigit() and int(version[1]) >= 29

    def _network(self) -> dict[str, Any]:
        """The traffic, which nobody counts."""
        first = {"name": "eth0", "rxBytes": 0, "rxErrors": 0, "txBytes": 0, "txErrors": 0}
        return {"time": self._now, **first, "interfaces": [first]}

    @property
    def _now(self) -> str:
        return timestamp(self._clock.now())

    def _stats(self, spent: _Spent) -> dict[str, Any]:
        now, held = self._now, spent.used.memory // NANO
        cpu = {"time": now, "usageNanoCores": spent.used.cpu, "usageCoreNanoSeconds": spent.cpu_time}
        return {"cpu": cpu, "memory": {"time": now, "usageBytes": held, "workingSetBytes": held, "rssBytes": held}}

    def _resource_metrics(self) -> bytes:
        return exposed(self._families)

    def _cadvisor(self) -> bytes:
        found = [
            Measured(each.pod, each.name, each.spent.cpu_time, each.spent.used.memory // NANO, moment(each.since))
            for each in self._running()
        ]
        return exposed(lambda: of_cadvisor(self._node, found, self._clock.now()))

    def _families(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        cpu = CounterMetricFamily("container_cpu_usage_seconds", "CPU time of a container.", labels=_CONTAINER)
        memory = GaugeMetricFamily("container_memory_working_set_bytes", "Memory of a container.", labels=_CONTAINER)
        started = GaugeMetricFamily("container_start_time_seconds", "Start of a container.", labels=_CONTAINER)
        pod_cpu = CounterMetricFamily("pod_cpu_usage_seconds", "CPU time of a pod.", labels=_POD)
        pod_memory = GaugeMetricFamily("pod_memory_working_set_bytes", "Memory of a pod.", labels=_POD)
        sums: dict[tuple[str, str], _Spent] = {}
        total = self._own_spent()
        for each in self._running():
            owner = (namespace_of(each.pod), name_of(each.pod))
            cpu.add_metric((each.name, *owner), each.spent.cpu_time / NANO)
            memory.add_metric((each.name, *owner), each.spent.used.memory // NANO)
            started.add_metric((each.name, *owner), moment(each.since))
            sums[owner], total = sums.get(owner, _Spent()).plus(each.spent), total.plus(each.spent)
        for owner, spent in sums.items():
            pod_cpu.add_metric(owner, spent.cpu_time / NANO)
            pod_memory.add_metric(owner, spent.used.memory // NANO)
        yield from (cpu, memory, started, pod_cpu, pod_memory)
        yield CounterMetricFamily("node_cpu_usage_seconds", "CPU time of the node.", value=total.cpu_time / NANO)
        held = total.used.memory // NANO
        yield GaugeMetricFamily("node_memory_working_set_bytes", "Memory of the node.", value=held)
        yield GaugeMetricFamily("resource_scrape_error", "1 if something could not be measured, else 0.", value=0)


def _listed(pods: Iterable[Object]) -> bytes:
    items = [{name: part for name, part in pod.items() if name not in ("kind", "apiVersion")} for pod in pods]
    return go_json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}) + b"\n"
