"""Metrics of the state of a server, and of its priority and fairness."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.api_services import SERVICES, is_available
from simkit.engine.pipeline.flowcontrol.controller import WAITS, FlowControl
from simkit.engine.pipeline.flowcontrol.priority_level import PriorityLevel, Ticket
from simkit.engine.pipeline.metrics.families import BY_RESOURCE
from simkit.engine.pipeline.non_resource.kept_families import histogram_family
from simkit.meta.histogram import Histogram
from simkit.meta.objects import name_of
from simkit.schema.feature_gates import known
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.core import HistogramMetricFamily
    from prometheus_client.metrics_core import Metric

    from simkit.engine.pipeline.engine import Engine

# Metrics of the state of a server: feature gates, stored objects, registered servers.
# Upstream: k8s.io/component-base/metrics/prometheus/feature/metrics.go, k8s.io/apiserver/pkg/storage/etcd3/metrics and
# k8s.io/kube-aggregator/pkg/controllers/status/metrics, release 1.36.

_SHOWN: Final = 10**15
"""Of a revision, fifteen digits are told: more, a float does not hold."""


def state_families(engine: Engine) -> Iterator[Metric]:
    """The families of an engine's state. O(stored resources, feature gates and registered servers)."""
    yield _features(engine)
    yield _objects(engine)
    yield _objects_by_group(engine)
    yield _unavailable(engine)
    yield from _allocated(engine)
    yield from _watch_cache(engine)
    yield _version(engine)


def _features(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(
        "kubernetes_feature_enabled", "Whether a feature gate is on (1) or not (0).", labels=("name", "stage")
    )
    for name, gate in sorted(known(engine.catalogue.release).items()):
        stage = "" if gate.stage == "GA" else gate.stage
        family.add_metric((name, stage), float(engine.gates.get(name, gate.default)))
    return family


def _objects(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("apiserver_storage_objects", "Objects that are stored.", labels=("resource",))
    for resource in engine.catalogue.stored():
        family.add_metric((str(resource.storage),), engine.store.count(resource.storage))
    return family


def _objects_by_group(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily("apiserver_resource_objects", "Objects that are stored.", labels=("group", "resource"))
    for resource in engine.catalogue.stored():
        storage = resource.storage
        family.add_metric((storage.group, storage.resource), engine.store.count(storage))
    return family


def _unavailable(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(
        "aggregator_unavailable_apiservice",
        "Whether a registered server cannot be used (1) or can (0).",
        labels=("name",),
    )
    for entry in engine.store.scan(SERVICES):
        family.add_metric((name_of(entry.object),), float(not is_available(entry.object)))
    return family


def _allocated(engine: Engine) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    ranges, ports = engine.registry.allocation.present()
    for index, (word, text) in enumerate((("allocated", "that services have"), ("available", "that are left"))):
        family = GaugeMetricFamily(
            f"kube_apiserver_clusterip_allocator_{word}_ips", f"Addresses {text}.", labels=("cidr",)
        )
        for cidr, numbers in ranges.items():
            family.add_metric((cidr,), numbers[index])
        yield family
        yield GaugeMetricFamily(f"kube_apiserver_nodeport_allocator_{word}_ports", f"Ports {text}.", ports[index])


def _watch_cache(engine: Engine) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    release, cache = engine.catalogue.release, engine.watch_cache
    labels = BY_RESOURCE.labels_at(release)
    initialized = CounterMetricFamily(
        "apiserver_watch_cache_initializations_total", "Starts of the watch cache.", labels=labels
    )
    received = CounterMetricFamily(
        "apiserver_watch_cache_events_received_total", "Changes that the watch cache was told of.", labels=labels
    )
    newest = GaugeMetricFamily(
        "apiserver_watch_cache_resource_version", "The revision of the watch cache.", labels=labels
    )
    for resource in engine.catalogue.stored():
        told = BY_RESOURCE.values_at(release, (resource.storage.group, resource.storage.resource))
        initialized.add_metric(told, 1)
        received.add_metric(told, cache.received(resource.storage))
        newest.add_metric(told, cache.revision % _SHOWN)
    yield initialized
    yield received
    yield newest


def _version(engine: Engine) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    release = engine.catalogue.release
    family = GaugeMetricFamily(
        "version_info", "The release that is served.", labels=("binary", "component", "emulation", "min_compat")
    )
    family.add_metric((release, "kube", release, f"1.{minor_of(release) - 1}"), 1)
    return family


# The metric families of priority and fairness.
# Upstream: k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go, release 1.36.

_PREFIX: Final = "apiserver_flowcontrol_"
_SEATS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0)
_FORMER_SEATS: Final = (1.0, 2.0, 4.0, 10.0)
_MORE_SEATS: Final = 34
"""The release that tells more widths apart."""
_FLOW: Final = ("priority_level", "flow_schema")
_OF_LEVELS: Final[tuple[tuple[str, str, Callable[[PriorityLevel], float]], ...]] = (
    ("nominal_limit_seats", "Seats that are a level's own part.", lambda level: level.nominal),
    ("lower_limit_seats", "Seats that a level keeps whatever others need.", lambda level: level.floor),
    ("upper_limit_seats", "Seats that a level may have when others need less.", lambda level: level.ceiling),
    ("request_concurrency_limit", "The older name of nominal_limit_seats.", lambda level: level.nominal),
)
_Tickets = Callable[[PriorityLevel], Iterator[Ticket]]


def _running(level: PriorityLevel) -> Iterator[Ticket]:
    yield from list(level.running)


def _waiting(level: PriorityLevel) -> Iterator[Ticket]:
    for _, queue in level.queues.each() if level.queues is not None else ():
        yield from [item for _, _, item in list(queue.waiting)]


def _one(ticket: Ticket) -> int:
    return 1


def _seats(ticket: Ticket) -> int:
    return ticket.seats


_OF_TICKETS: Final[tuple[tuple[str, str, _Tickets, Callable[[Ticket], int]], ...]] = (
    ("current_executing_requests", "Requests that have room.", _running, _one),
    ("current_executing_seats", "Seats that requests take.", _running, _seats),
    ("current_inqueue_requests", "Requests that wait.", _waiting, _one),
    ("current_inqueue_seats", "Seats that waiting requests want.", _waiting, _seats),
    ("request_concurrency_in_use", "The older name of current_executing_seats.", _running, _seats),
)


def flow_families(control: FlowControl, release: str) -> Iterator[Metric]:
    """The families of one server, by priority level, and by flow schema where requests are counted."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    levels = list(control.levels.values())
    for name, text, value in _OF_LEVELS:
        gauge = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=("priority_level",))
        for level in levels:
            gauge.add_metric((level.name,), value(level))
        yield gauge
    for name, text, tickets, amount in _OF_TICKETS:
        gauge = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=_FLOW)
        for flow, total in _totals(levels, tickets, amount, control.dispatched).items():
            gauge.add_metric(flow, total)
        yield gauge
    dispatched = CounterMetricFamily(f"{_PREFIX}dispatched_requests_total", "Requests that got room.", labels=_FLOW)
    for labels, count in list(control.dispatched.items()):
        dispatched.add_metric(labels, count)
    yield dispatched
    rejected = CounterMetricFamily(
        f"{_PREFIX}rejected_requests_total", "Requests that got no room, and why.", labels=(*_FLOW, "reason")
    )
    for reasons, count in list(control.rejected.items()):
        rejected.add_metric(reasons, count)
    yield rejected
    yield _waits(control)
    yield _widths(control, release)


def _totals(
    levels: list[PriorityLevel],
    tickets: _Tickets,
    amount: Callable[[Ticket], int],
    known: Mapping[tuple[str, str], int],
) -> Mapping[tuple[str, str], int]:
    """Sums over tickets, by the levels and schemas that have had any."""
    found = Counter(dict.fromkeys(list(known), 0))
    for level in levels:
        for ticket in tickets(level):
            found[level.name, ticket.flow.schema.name] += amount(ticket)
    return found


def _waits(control: FlowControl) -> HistogramMetricFamily:
    """Seconds in queues. Those that found room at once are counted as dispatched alone."""
    rows = {labels: _copy(histogram) for labels, histogram in list(control.waits.items())}
    for (level, schema), count in list(control.dispatched.items()):
        known = control.levels.get(level)
        if known is not None and known.queues is not None:
            made = rows.setdefault((level, schema, "true"), Histogram(WAITS))
            made.counts[0] += max(0, count - made.count)
    text = "Seconds that requests waited for room."
    return histogram_family(f"{_PREFIX}request_wait_duration_seconds", text, (*_FLOW, "execute"), rows.items())


def _widths(control: FlowControl, release: str) -> HistogramMetricFamily:
    """Seats of requests. All but lists take one, and are counted as dispatched alone."""
    bounds = _SEATS if minor_of(release) >= _MORE_SEATS else _FORMER_SEATS
    rows: dict[tuple[str, str], Histogram] = {}
    wide = list(control.widths.items())
    for labels, count in list(control.dispatched.items()):
        made = rows[labels] = Histogram(bounds)
        for (level, schema, seats), requests in wide:
            if (level, schema) == labels:
                made.counts[bisect_left(bounds, seats)] += requests
                made.total += seats * requests
        single = max(0, count - made.count)
        made.counts[0] += single
        made.total += single
    text = "Seats that requests were taken to need."
    return histogram_family(f"{_PREFIX}work_estimated_seats", text, _FLOW, rows.items())


def _copy(histogram: Histogram) -> Histogram:
    made = Histogram(histogram.bounds)
    made.counts, made.total = list(histogram.counts), histogram.total
    return made
