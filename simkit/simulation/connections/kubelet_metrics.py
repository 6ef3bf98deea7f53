"""The pages ``/metrics`` and ``/metrics/cadvisor`` of a simulated kubelet: what it knows of its pods and containers.

Upstream: pkg/kubelet/metrics/metrics.go, release 1.30, and metrics/prometheus.go of cadvisor 0.49.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.engine.controllers.lister import uid_of
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.meta.quantity import NANO, parse
from simkit.simulation.kubelet.probes import Probes

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_CONTAINER: Final = ("container", "id", "image", "name", "namespace", "pod")
_PROBE: Final = ("probe_type", "result", "container", "pod", "namespace", "pod_uid")
_PERIOD: Final = 100_000
_STATES: Final = {"running": "running", "terminated": "exited", "waiting": "created"}


class Measured(NamedTuple):
    """A running container: CPU time in billionths of seconds, bytes of memory, and its start in seconds."""

    pod: Object
    name: str
    cpu_time: int
    memory: int
    started: float


def exposed(families: Callable[[], Iterable[Metric]]) -> bytes:
    """Families of metrics in the text form of Prometheus."""
    from prometheus_client import CollectorRegistry, generate_latest

    class Families:
        def collect(self) -> Iterable[Metric]:
            return families()

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families())
    return generate_latest(registry)


def of_kubelet(node: Object, pods: Sequence[Object]) -> Iterator[Metric]:
    """The families of a kubelet itself that a simulated one knows."""
    from prometheus_client.core import GaugeMetricFamily

    yield _one("kubelet_node_name", "The node's name. The count is always 1.", ("node",), (name_of(node),))
    version = str(at(node, "status", "nodeInfo", "kubeletVersion") or "")
    major, _, minor = version.lstrip("v").partition(".")
    told = (major, minor.partition(".")[0], version)
    yield _one("kubernetes_build_info", "The version of the kubelet.", ("major", "minor", "git_version"), told)
    counts = dict.fromkeys(_STATES.values(), 0)
    running = 0
    for pod in pods:
        states = [
            next(iter(each.get("state") or {"waiting": {}})) for each in at(pod, "status", "containerStatuses") or ()
        ]
        running += "running" in states
        for state in states:
            counts[_STATES[state]] += 1
    yield GaugeMetricFamily("kubelet_running_pods", "Number of pods that have a running pod sandbox", value=running)
    family = GaugeMetricFamily(
        "kubelet_running_containers", "Number of containers currently running", labels=["container_state"]
    )
    for state, count in counts.items():
        family.add_metric([state], count)
    yield family


def _one(name: str, text: str, labels: Sequence[str], values: Sequence[str]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=labels)
    family.add_metric(values, 1)
    return family


def of_probes(pods: Iterable[Object], probes: Probes) -> Iterator[Metric]:
    """The tries of probes of pods by their results."""
    from prometheus_client.core import CounterMetricFamily

    text = "Cumulative number of a liveness, readiness or startup probe for a container by result."
    family = CounterMetricFamily("prober_probe", text, labels=_PROBE)
    for pod in pods:
        for (container, kind, passed), count in sorted(probes.counted(pod).items()):
            result = "successful" if passed else "failed"
            what = kind.removesuffix("Probe").capitalize()
            family.add_metric([what, result, container, name_of(pod), namespace_of(pod), uid_of(pod)], count)
    yield family


def of_cadvisor(node: Object, measured: Sequence[Measured], now: float) -> Iterator[Metric]:
    """The families of cadvisor that a simulated node knows: no traffic, no disks."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    cpu = CounterMetricFamily(
        "container_cpu_usage_seconds", "Cumulative cpu time consumed in seconds.", labels=[*_CONTAINER, "cpu"]
    )
    gauges = {
        name: GaugeMetricFamily(name, text, labels=_CONTAINER)
        for name, text in (
            ("container_memory_usage_bytes", "Current memory usage in bytes."),
            ("container_memory_working_set_bytes", "Current working set in bytes."),
            ("container_memory_rss", "Size of RSS in bytes."),
            ("container_start_time_seconds", "Start time of the container since unix epoch in seconds."),
            ("container_last_seen", "Last time a container was seen by the exporter."),
            ("container_spec_memory_limit_bytes", "Memory limit for the container."),
            ("container_spec_cpu_period", "CPU period of the container."),
            ("container_spec_cpu_quota", "CPU quota of the container."),
        )
    }
    for each in measured:
        labels = _labels(each)
        cpu.add_metric([*labels, "total"], each.cpu_time / NANO)
        for name in ("container_memory_usage_bytes", "container_memory_working_set_bytes", "container_memory_rss"):
            gauges[name].add_metric(labels, each.memory)
        gauges["container_start_time_seconds"].add_metric(labels, each.started)
        gauges["container_last_seen"].add_metric(labels, now)
        limits = at(_spec(each.pod, each.name), "resources", "limits") or {}
        gauges["container_spec_memory_limit_bytes"].add_metric(labels, _nano(limits, "memory") // NANO)
        gauges["container_spec_cpu_period"].add_metric(labels, _PERIOD)
        if "cpu" in limits:
            gauges["container_spec_cpu_quota"].add_metric(labels, _nano(limits, "cpu") * _PERIOD // NANO)
    yield from (cpu, *gauges.values())
    capacity = at(node, "status", "capacity") or {}
    yield GaugeMetricFamily("machine_cpu_cores", "Number of logical CPU cores.", value=_nano(capacity, "cpu") // NANO)
    memory = _nano(capacity, "memory") // NANO
    yield GaugeMetricFamily("machine_memory_bytes", "Amount of memory installed on the machine.", value=memory)


def _labels(each: Measured) -> list[str]:
    statuses = [
        status
        for field in ("initContainerStatuses", "containerStatuses")
        for status in at(each.pod, "status", field) or ()
    ]
    number = next((str(own.get("containerID") or "") for own in statuses if own.get("name") == each.name), "")
    number = number.rpartition("/")[2]
    path = f"/kubepods/pod{at(each.pod, 'metadata', 'uid')}/{number}"
    image = str(_spec(each.pod, each.name).get("image", ""))
    return [each.name, path, image, number, namespace_of(each.pod), name_of(each.pod)]


def _spec(pod: Object, name: str) -> Mapping[str, Any]:
    every = [*(at(pod, "spec", "initContainers") or ()), *(at(pod, "spec", "containers") or ())]
    return next((each for each in every if each.get("name") == name), {})


def _nano(amounts: Mapping[str, Any], name: str) -> int:
    return parse(str(amounts[name])).nano if name in amounts else 0
