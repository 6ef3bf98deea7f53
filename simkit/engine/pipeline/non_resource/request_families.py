"""The metric families of requests, by route.

Upstream: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.metrics.counters import BYTES, INDICATED, Metrics, Route, Sums
from simkit.engine.pipeline.metrics.families import BODIES, SECONDS
from simkit.engine.pipeline.non_resource.kept_families import add_histogram, histogram_family
from simkit.meta.histogram import Histogram, Labels

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

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
