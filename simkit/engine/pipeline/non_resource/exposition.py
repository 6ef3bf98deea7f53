"""The counters in the text format of Prometheus. prometheus_client is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.metrics import families as flow_families
from simkit.engine.pipeline.metrics.counters import BYTES, INDICATED, SECONDS, Labels, Metrics, Sums
from simkit.engine.pipeline.metrics.stability import registered
from simkit.engine.pipeline.non_resource import health, version
from simkit.engine.pipeline.non_resource.state_families import state_families
from simkit.meta.behaviour import applies
from simkit.schema.health_checks import ENDPOINTS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import HistogramMetricFamily
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


def content_type() -> str:
    """The media type of the exposition."""
    return f"{_TEXT}; escaping=underscores" if applies("metrics-escaping") else _TEXT


COMPONENT: Final = "apiserver"
_ROUTE: Final = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
_ANSWER: Final = ("verb", "group", "version", "resource", "subresource", "scope", "component")

COUNTERS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "apiserver_request_terminations_total": (
        "Requests that were answered by the server itself to protect itself.",
        ("component", "verb", "group", "version", "resource", "subresource", "scope", "code"),
    ),
    "authentication_attempts": ("Attempts to authenticate by their result.", ("result",)),
    "authenticated_user_requests": ("Authenticated requests by user.", ("username",)),
    "authorization_attempts_total": ("Authorization decisions by their result.", ("result",)),
    "apiserver_authorization_decisions_total": (
        "Decisions that authorizers made finally, by authorizer and decision.",
        ("type", "name", "decision"),
    ),
    "apiserver_authorization_webhook_evaluations_total": ("Calls of authorization webhooks.", ("name", "result")),
    "apiserver_authorization_webhook_evaluations_fail_open_total": (
        "Calls of authorization webhooks that failed and were passed over.",
        ("name", "result"),
    ),
    "apiserver_authorization_match_condition_evaluation_errors_total": (
        "Match conditions of authorizers that could not be evaluated.",
        ("type", "name"),
    ),
    "apiserver_authorization_match_condition_exclusions_total": (
        "Requests that match conditions kept from an authorizer.",
        ("type", "name"),
    ),
    "apiserver_authorization_config_controller_automatic_reloads_total": (
        "Reloads of the authorization configuration by result.",
        ("apiserver_id_hash", "status"),
    ),
    "apiserver_authentication_config_controller_automatic_reloads_total": (
        "Reloads of the authentication configuration by result.",
        ("apiserver_id_hash", "status"),
    ),
    "apiserver_audit_event_total": ("Audit events that were made.", ()),
    "apiserver_audit_level_total": ("Requests by the audit level that applied.", ("level",)),
    "apiserver_audit_error_total": ("Audit events that a backend could not take.", ("plugin",)),
    "kubernetes_healthchecks_total": ("Results of health checks.", ("name", "status", "type")),
}
"""Counters besides those of requests: their help texts and labels."""

GAUGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds": (
        "When the authorization configuration was last reloaded, by result.",
        ("apiserver_id_hash", "status"),
    ),
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds": (
        "When the authentication configuration was last reloaded, by result.",
        ("apiserver_id_hash", "status"),
    ),
}
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
        yield from _requests(metrics)
        yield from _counters(metrics, (name for name in COUNTERS if name not in _INDICATORS))
        yield from _gauges(metrics)
        yield from self._state()
        if isinstance(self._engine.limits, FlowControl):
            yield from flow_families(self._engine.limits)

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
            "apiserver_longrunning_requests", "Requests that last and are under way, by route.", labels=_ANSWER
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
        yield from _counters(self._engine.metrics, _INDICATORS)


def _registered(engine: Engine, families: Iterable[Metric]) -> Iterator[Metric]:
    metrics = engine.metrics
    return registered(families, engine.catalogue.release, metrics.show_hidden_for, metrics.told)


def exposed(engine: Engine, *, indicators: bool = False) -> bytes:
    """The text of ``/metrics``, or of its page of health indicators."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Indicators(engine) if indicators else Collector(engine))
    return generate_latest(registry) + (b"" if indicators else generate_latest(_of_process()))


@cache
def _of_process() -> CollectorRegistry:
    """The metrics of this process: memory, file descriptors, processor time."""
    from prometheus_client import CollectorRegistry, ProcessCollector

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def _requests(metrics: Metrics) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    answered = {key: sums for key, sums in list(metrics.requests.items()) if sums.count}
    counter = CounterMetricFamily(
        "apiserver_request_total", "Requests by route and code of the answer.", labels=(*_ROUTE, "code")
    )
    for (route, code), sums in answered.items():
        counter.add_metric((*route, COMPONENT, str(code)), sums.count)
    yield counter
    yield from _histograms(answered.items())
    gauge = GaugeMetricFamily(
        "apiserver_requested_deprecated_apis",
        "Deprecated resources that were asked for, and the release without them.",
        labels=("group", "version", "resource", "subresource", "removed_release"),
    )
    for labels in sorted(metrics.deprecated):
        gauge.add_metric(labels, 1)
    yield gauge


def _histograms(answered: Iterable[tuple[tuple[Labels, int], Sums]]) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily

    durations = HistogramMetricFamily(
        "apiserver_request_duration_seconds", "Seconds until the answer, by route.", labels=_ROUTE
    )
    indicator = HistogramMetricFamily(
        "apiserver_request_sli_duration_seconds", "Seconds until the answer, by route.", labels=_ANSWER
    )
    sizes = HistogramMetricFamily("apiserver_response_sizes", "Bytes of answers, by route.", labels=_ANSWER)
    timed: dict[Labels, list[Sums]] = {}
    indicated: dict[Labels, list[Sums]] = {}
    sized: dict[Labels, list[Sums]] = {}
    for (route, _), sums in answered:
        timed.setdefault((*route, COMPONENT), []).append(sums)
        indicated.setdefault((route[0], *route[2:], COMPONENT), []).append(sums)
        if route[0] in ("GET", "LIST"):
            sized.setdefault((route[0], *route[2:], COMPONENT), []).append(sums)
    for labels, found in timed.items():
        _add(durations, labels, SECONDS, [each.durations for each in found], sum(each.seconds for each in found))
    for labels, found in indicated.items():
        counts = [_joined(each.durations) for each in found]
        _add(indicator, labels, INDICATED, counts, sum(each.seconds for each in found))
    for labels, found in sized.items():
        _add(sizes, labels, BYTES, [each.sizes for each in found], sum(each.bytes for each in found))
    yield durations
    yield indicator
    yield sizes


def _joined(counts: Sequence[int]) -> list[int]:
    """The counts of durations in the buckets of the indicator, which has none for the shortest ones."""
    left_out = len(SECONDS) - len(INDICATED)
    return [sum(counts[: left_out + 1]), *counts[left_out + 1 :]]


def _add(
    family: HistogramMetricFamily, labels: Labels, bounds: Sequence[float], counts: Sequence[list[int]], total: float
) -> None:
    buckets, running = [], 0
    for bound, *column in zip((*map(str, bounds), "+Inf"), *counts, strict=True):
        running += sum(column)
        buckets.append((bound, running))
    family.add_metric(labels, buckets, total)


def _counters(metrics: Metrics, names: Iterable[str]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily
    from prometheus_client.metrics_core import UntypedMetricFamily

    for name in names:
        text, labels = COUNTERS[name]
        # Two counters of kube-apiserver do not end in _total; the library gives every counter that ending.
        maker = CounterMetricFamily if name.endswith("_total") else UntypedMetricFamily
        family = maker(name, text, labels=labels)
        for values, count in list(metrics.counts[name].items()) if name in metrics.counts else ():
            family.add_metric(values, count)
        yield family


def _gauges(metrics: Metrics) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    for name, (text, labels) in GAUGES.items():
        family = GaugeMetricFamily(name, text, labels=labels)
        for values, value in list(metrics.gauges[name].items()) if name in metrics.gauges else ():
            family.add_metric(values, value)
        yield family
