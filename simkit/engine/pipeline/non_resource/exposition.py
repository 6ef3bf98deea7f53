"""The counters in the text format of Prometheus. prometheus_client is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.metrics.counters import BYTES, INDICATED, Metrics, Route, Sums
from simkit.engine.pipeline.metrics.families import (
    BODIES,
    COUNTERS,
    SECONDS,
    UNUSUAL,
    registered,
)
from simkit.engine.pipeline.non_resource import documents, pages
from simkit.engine.pipeline.non_resource.kept_families import (
    add_histogram,
    counter_families,
    gauge_families,
    histogram_families,
    histogram_family,
)
from simkit.engine.pipeline.non_resource.state_families import flow_families, state_families
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.histogram import Histogram, Labels
from simkit.schema.health_checks import ENDPOINTS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

# The metric families of requests, by route.
# Upstream: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, release 1.36.

COMPONENT: Final = "apiserver"
_ROUTE: Final = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
ANSWER: Final = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_WRITTEN: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "APPLY": "patch", "DELETE": "delete"}
"""The verbs whose bodies are measured."""
_CONNECTIONS: Final = frozenset({"exec", "attach", "portforward", "proxy"})


def request_families(metrics: Metrics, release: str) -> Iterator[Metric]:
    """The families of requests by route, and of deprecated ones."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    answered = {key: sums for key, sums in list(metrics.requests.items()) if sums.count}
    counter = CounterMetricFamily(
        "apiserver_request_total", "Requests by route and code of the answer.", labels=(*_ROUTE, "code")
    )
    for (route, code), sums in answered.items():
        counter.add_metric((*route, COMPONENT, str(code)), sums.count)
    yield counter
    yield from _histograms(answered.items())
    yield _bodies(answered.items(), release)
    gauge = GaugeMetricFamily(
        "apiserver_requested_deprecated_apis",
        "Deprecated resources that were asked for, and the release without them.",
        labels=("group", "version", "resource", "subresource", "removed_release"),
    )
    for labels in sorted(metrics.deprecated):
        gauge.add_metric(labels, 1)
    yield gauge


def _histograms(answered: Iterable[tuple[tuple[Route, int], Sums]]) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily

    durations = HistogramMetricFamily(
        "apiserver_request_duration_seconds", "Seconds until the answer, by route.", labels=_ROUTE
    )
    indicator = HistogramMetricFamily(
        "apiserver_request_sli_duration_seconds", "Seconds until the answer, by route.", labels=ANSWER
    )
    sizes = HistogramMetricFamily("apiserver_response_sizes", "Bytes of answers, by route.", labels=ANSWER)
    timed: dict[Labels, list[Sums]] = {}
    indicated: dict[Labels, list[Sums]] = {}
    sized: dict[Labels, list[Sums]] = {}
    for (route, _), sums in answered:
        timed.setdefault((*route, COMPONENT), []).append(sums)
        indicated.setdefault((route[0], *route[2:], COMPONENT), []).append(sums)
        if route[0] in ("GET", "LIST"):
            sized.setdefault((route[0], *route[2:], COMPONENT), []).append(sums)
    for labels, found in timed.items():
        add_histogram(
            durations, labels, SECONDS, [each.durations for each in found], sum(each.seconds for each in found)
        )
    for labels, found in indicated.items():
        counts = [_joined(each.durations) for each in found]
        add_histogram(indicator, labels, INDICATED, counts, sum(each.seconds for each in found))
    for labels, found in sized.items():
        add_histogram(sizes, labels, BYTES, [each.sizes for each in found], sum(each.bytes for each in found))
    yield durations
    yield indicator
    yield sizes


def _joined(counts: Sequence[int]) -> list[int]:
    """The counts of durations in the buckets of the indicator, which has none for the shortest ones."""
    left_out = len(SECONDS) - len(INDICATED)
    return [sum(counts[: left_out + 1]), *counts[left_out + 1 :]]


def _bodies(answered: Iterable[tuple[tuple[Route, int], Sums]], release: str) -> Metric:
    """The sizes of requests' bodies; most deletions have none."""
    rows: dict[Labels, Histogram] = {}
    for (route, _), sums in answered:
        verb = _WRITTEN.get(route.verb)
        if verb is None or not route.resource or route.subresource in _CONNECTIONS:
            continue
        if verb == "delete" and route.scope != "resource":
            verb = "deletecollection"
        labels = (route.group, route.resource, verb)
        made = rows.setdefault(labels, Histogram(BODIES.bounds))
        known = sums.bodies
        if known is not None:
            made.counts[:] = map(sum, zip(made.counts, known.counts, strict=True))
            made.total += known.total
        made.counts[0] += sums.count - (known.count if known is not None else 0)
    told = ((BODIES.values_at(release, labels), histogram) for labels, histogram in rows.items())
    return histogram_family("apiserver_request_body_size_bytes", BODIES.text, BODIES.labels_at(release), told)


_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


def content_type(behaviour: ServedBehaviour) -> str:
    """The media type of the exposition."""
    return f"{_TEXT}; escaping=underscores" if behaviour.applies("metrics-escaping") else _TEXT


_INDICATORS: Final = ("kubernetes_healthchecks_total",)
"""Counters on the page of health indicators."""


class Collector:
    """Makes the families of one engine from its sums."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All families that the release registers."""
        return _registered(self._engine, self._families())

    def _families(self) -> Iterator[Metric]:
        metrics = self._engine.metrics
        release = self._engine.catalogue.release
        yield from request_families(metrics, release)
        yield from counter_families(metrics, release, (name for name in COUNTERS if name not in _INDICATORS))
        yield from gauge_families(metrics, release)
        yield from histogram_families(metrics, release)
        yield from self._state()
        if isinstance(self._engine.limits, FlowControl):
            yield from flow_families(self._engine.limits, release)
        for source in metrics.sources:
            yield from source()

    def _state(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        engine = self._engine
        running = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Requests that are being answered now.", labels=("request_kind",)
        )
        running.add_metric(("readOnly",), engine.limits.reading)
        running.add_metric(("mutating",), engine.limits.mutating)
        yield running
        lasting = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Requests that last and are under way, by route.", labels=ANSWER
        )
        for way, count in list(engine.metrics.lasting.items()):
            lasting.add_metric((way.verb, *way[2:], COMPONENT), count)
        yield lasting
        yield from state_families(engine)
        labels = ("major", "minor", "git_version", "git_commit", "build_date", "go_version", "platform")
        build = GaugeMetricFamily("kubernetes_build_info", "The release that is served.", labels=labels)
        told = documents.of_release(self._engine.behaviour, engine.catalogue.release)
        fields = ("major", "minor", "gitVersion", "gitCommit", "buildDate", "goVersion", "platform")
        build.add_metric([told[name] for name in fields], 1)
        yield build


class Indicators:
    """The page of health indicators: the current state of each check, and counts of its states."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """The families of health checks."""
        return _registered(self._engine, self._families())

    def _families(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        family = GaugeMetricFamily(
            "kubernetes_healthcheck", "Whether a health check passes (1) or not (0).", labels=("name", "type")
        )
        for endpoint in ENDPOINTS:
            for name in pages.names(self._engine, endpoint):
                family.add_metric((name, endpoint), float(not pages.problem(self._engine, endpoint, name)))
        yield family
        yield from counter_families(self._engine.metrics, self._engine.catalogue.release, _INDICATORS)


def _registered(engine: Engine, families: Iterable[Metric]) -> Iterator[Metric]:
    metrics = engine.metrics
    return registered(families, engine.catalogue.release, metrics.show_hidden_for, metrics.told)


def exposed(engine: Engine, *, indicators: bool = False) -> bytes:
    """The text of ``/metrics``, or of its page of health indicators."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Indicators(engine) if indicators else Collector(engine))
    page = generate_latest(registry)
    for name in UNUSUAL:
        page = page.replace(f"# TYPE {name} untyped".encode(), f"# TYPE {name} counter".encode(), 1)
    return page + (b"" if indicators else generate_latest(_of_process()))


@cache
def _of_process() -> CollectorRegistry:
    """The metrics of this process: memory, file descriptors, processor time, and those of its interpreter."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry
