"""The counters in the text format of Prometheus. prometheus_client is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.metrics.families import COUNTERS, UNUSUAL
from simkit.engine.pipeline.metrics.stability import registered
from simkit.engine.pipeline.non_resource import health, version
from simkit.engine.pipeline.non_resource.flow_families import flow_families
from simkit.engine.pipeline.non_resource.kept_families import (
    counter_families,
    gauge_families,
    histogram_families,
)
from simkit.engine.pipeline.non_resource.request_families import ANSWER, COMPONENT, request_families
from simkit.engine.pipeline.non_resource.state_families import state_families
from simkit.meta.behaviour import applies
from simkit.schema.health_checks import ENDPOINTS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


def content_type() -> str:
    """The media type of the exposition."""
    return f"{_TEXT}; escaping=underscores" if applies("metrics-escaping") else _TEXT


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
        told = version.of_release(engine.catalogue.release)
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
            for name in health.names(self._engine, endpoint):
                family.add_metric((name, endpoint), float(not health.problem(self._engine, endpoint, name)))
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
