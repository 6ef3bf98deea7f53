"""The families of counters, gauges and histograms that the metrics of a server keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.metrics.families import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    UNUSUAL,
    Family,
)
from simkit.meta.histogram import Histogram, Labels

if TYPE_CHECKING:
    from prometheus_client.core import HistogramMetricFamily
    from prometheus_client.metrics_core import Metric


_EVENTS: Final = "apiserver_watch_events_total"
_EVENT_SIZES: Final = "apiserver_watch_events_sizes"
_ATTEMPTS: Final = (
    ("authentication_duration_seconds", "authentication_attempts"),
    ("authorization_duration_seconds", "authorization_attempts_total"),
)
"""Durations, and the counters of what lasted."""


def counter_families(metrics: Metrics, release: str, names: Iterable[str]) -> Iterator[Metric]:
    """The families of some counters."""
    from prometheus_client.core import CounterMetricFamily
    from prometheus_client.metrics_core import UntypedMetricFamily

    for name in names:
        maker = UntypedMetricFamily if name in UNUSUAL else CounterMetricFamily
        family = COUNTERS[name]
        made = maker(name, family.text, labels=family.labels_at(release))
        rows = dict(metrics.counts[name]) if name in metrics.counts else {}
        if name == _EVENTS:
            sizes = metrics.histograms.families.get(_EVENT_SIZES, {})
            rows = {labels: histogram.count for labels, histogram in list(sizes.items())}
        for values, count in rows.items() if family.labels else [((), rows.get((), 0))]:
            made.add_metric(family.values_at(release, values), count)
        yield made


def gauge_families(metrics: Metrics, release: str) -> Iterator[Metric]:
    """The families of all gauges that are set."""
    from prometheus_client.core import GaugeMetricFamily

    for name, family in GAUGES.items():
        made = GaugeMetricFamily(name, family.text, labels=family.labels_at(release))
        for values, value in list(metrics.gauges[name].items()) if name in metrics.gauges else ():
            made.add_metric(family.values_at(release, values), value)
        yield made


def histogram_families(metrics: Metrics, release: str) -> Iterator[Metric]:
    """The families of all histograms but those of requests by route."""
    unmeasured = {family: _unmeasured(metrics, family, counter) for family, counter in _ATTEMPTS}
    for name, family in HISTOGRAMS.items():
        rows = dict(metrics.histograms.families.get(name, {}))
        for labels, count in unmeasured.get(name, {}).items():
            rows[labels] = _with_shortest(rows.get(labels), family, count)
        if not family.labels:
            rows.setdefault((), Histogram(family.bounds))
        yield histogram_family(
            name,
            family.text,
            family.labels_at(release),
            ((family.values_at(release, labels), histogram) for labels, histogram in rows.items()),
        )


def _unmeasured(metrics: Metrics, family: str, counter: str) -> dict[Labels, int]:
    """The attempts whose seconds nobody looked at, by their labels: those of callers and questions that are known take
    less than the lowest bound."""
    known = metrics.histograms.families.get(family, {})
    counts: Mapping[Labels, int] = metrics.counts.get(counter) or {}
    found = {labels: count - (known[labels].count if labels in known else 0) for labels, count in list(counts.items())}
    return {labels: count for labels, count in found.items() if count > 0}


def _with_shortest(known: Histogram | None, family: Family, count: int) -> Histogram:
    """A histogram with more values below its lowest bound."""
    made = Histogram(family.bounds)
    if known is not None:
        made.counts, made.total = list(known.counts), known.total
    made.counts[0] += count
    return made


def histogram_family(
    name: str, text: str, labels: Sequence[str], rows: Iterable[tuple[Sequence[str], Histogram]]
) -> HistogramMetricFamily:
    """A family of histograms, each with the values of its labels."""
    from prometheus_client.core import HistogramMetricFamily

    made = HistogramMetricFamily(name, text, labels=labels)
    for values, histogram in rows:
        add_histogram(made, values, histogram.bounds, [histogram.counts], histogram.total)
    return made


def add_histogram(
    family: HistogramMetricFamily,
    labels: Sequence[str],
    bounds: Sequence[float],
    counts: Sequence[Sequence[int]],
    total: float,
) -> None:
    """Add the sum of several histograms with the same bounds to a family."""
    buckets, running = [], 0
    for bound, *column in zip((*map(str, bounds), "+Inf"), *counts, strict=True):
        running += sum(column)
        buckets.append((bound, running))
    family.add_metric(labels, buckets, total)
