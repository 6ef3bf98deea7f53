"""The metrics of a server in the text format of Prometheus. prometheus_client is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.metrics.families import COUNTERS, FAMILIES, GAUGES, HEALTH_CHECKS, registered
from simkit.engine.pipeline.non_resource import documents, pages
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.histogram import Histogram, Labels
from simkit.schema.feature_gates import known
from simkit.schema.health_checks import ENDPOINTS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
COMPONENT: Final = "apiserver"
_VERSION: Final = ("major", "minor", "gitVersion", "gitCommit", "buildDate", "goVersion", "platform")


def content_type(behaviour: ServedBehaviour) -> str:
    """The media type of the exposition."""
    return f"{_TEXT}; escaping=underscores" if behaviour.applies("metrics-escaping") else _TEXT


def _server(engine: Engine) -> Iterator[Metric]:
    """All families of a server, from its sums."""
    metrics = engine.metrics
    yield from _requests(engine)
    for name in COUNTERS:
        yield _counter(name, metrics.counts.get(name, {}))
    for name in GAUGES:
        yield _gauge(name, list(metrics.gauges.get(name, {}).items()))
    yield from _state(engine)


def _indicators(engine: Engine) -> Iterator[Metric]:
    """The families of the page of health indicators: the state of each check now, and counts of its states."""
    checks = [(name, endpoint) for endpoint in ENDPOINTS for name in pages.names(engine, endpoint)]
    passing = (((name, endpoint), not pages.problem(engine, endpoint, name)) for name, endpoint in checks)
    yield _gauge("kubernetes_healthcheck", passing)
    yield _counter(HEALTH_CHECKS, engine.metrics.counts.get(HEALTH_CHECKS, {}))


class _Collector:
    """Gives prometheus_client those families of an engine that its release registers."""

    def __init__(self, engine: Engine, families: Callable[[Engine], Iterator[Metric]]) -> None:
        self._engine, self._families = engine, families

    def collect(self) -> Iterator[Metric]:
        metrics, release = self._engine.metrics, self._engine.catalogue.release
        return registered(self._families(self._engine), release, metrics.show_hidden_for, metrics.told)


def exposed(engine: Engine, *, indicators: bool = False) -> bytes:
    """The text of ``/metrics``, or of its page of health indicators."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(engine, _indicators if indicators else _server))
    return generate_latest(registry) + (b"" if indicators else generate_latest(_of_process()))


@cache
def _of_process() -> CollectorRegistry:
    """The metrics of this process: memory, file descriptors, processor time, and those of its interpreter."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def _requests(engine: Engine) -> Iterator[Metric]:
    """The families of requests by route, and of deprecated ones."""
    metrics = engine.metrics
    counts: dict[Labels, int] = {}
    durations: dict[Labels, list[Histogram]] = {}
    for (route, code), histogram in list(metrics.requests.items()):
        if histogram.count:
            counts[(*route, COMPONENT, str(code))] = histogram.count
            durations.setdefault((*route, COMPONENT), []).append(histogram)
    yield _counter("apiserver_request_total", counts)
    yield _histogram("apiserver_request_duration_seconds", durations)
    yield _gauge("apiserver_requested_deprecated_apis", ((labels, 1) for labels in sorted(metrics.deprecated)))
    running = [(("readOnly",), engine.limits.reading), (("mutating",), engine.limits.mutating)]
    yield _gauge("apiserver_current_inflight_requests", running)
    lasting = (((way.verb, *way[2:], COMPONENT), count) for way, count in list(metrics.lasting.items()))
    yield _gauge("apiserver_longrunning_requests", lasting)


def _state(engine: Engine) -> Iterator[Metric]:
    """The families of what is stored and configured. O(stored resources, feature gates)."""
    stored = [(each.storage, engine.store.count(each.storage)) for each in engine.catalogue.stored()]
    yield _gauge("apiserver_storage_objects", (((str(resource),), count) for resource, count in stored))
    yield _gauge("apiserver_resource_objects", ((tuple(resource), count) for resource, count in stored))
    if isinstance(engine.limits, FlowControl):
        seats = [((level.name,), level.nominal) for level in engine.limits.levels.values()]
        yield _gauge("apiserver_flowcontrol_nominal_limit_seats", seats)
        yield _gauge("apiserver_flowcontrol_request_concurrency_limit", seats)
    release = engine.catalogue.release
    gates = (
        ((name, "" if gate.stage == "GA" else gate.stage), engine.gates.get(name, gate.default))
        for name, gate in sorted(known(release).items())
    )
    yield _gauge("kubernetes_feature_enabled", gates)
    version = documents.of_release(engine.behaviour, release)
    yield _gauge("kubernetes_build_info", [(tuple(version[name] for name in _VERSION), 1)])


def _counter(name: str, rows: Mapping[Labels, float]) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    row = FAMILIES[name]
    family = CounterMetricFamily(name, row.text, labels=row.labels)
    for labels, count in list(rows.items()) if row.labels else [((), rows.get((), 0))]:
        family.add_metric(labels, count)
    return family


def _gauge(name: str, rows: Iterable[tuple[Labels, float]]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, FAMILIES[name].text, labels=FAMILIES[name].labels)
    for labels, value in rows:
        family.add_metric(labels, float(value))
    return family


def _histogram(name: str, rows: Mapping[Labels, list[Histogram]]) -> Metric:
    """A family of histograms, each the sum of some with the same bounds."""
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, FAMILIES[name].text, labels=FAMILIES[name].labels)
    for labels, histograms in rows.items():
        buckets, running = [], 0
        bounds = (*map(str, histograms[0].bounds), "+Inf")
        for bound, *column in zip(bounds, *(each.counts for each in histograms), strict=True):
            running += sum(column)
            buckets.append((bound, running))
        family.add_metric(labels, buckets, sum(each.total for each in histograms))
    return family
