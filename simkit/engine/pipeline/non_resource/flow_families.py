"""The metric families of priority and fairness.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go, release 1.36.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import WAITS, FlowControl
from simkit.engine.pipeline.flowcontrol.priority_level import PriorityLevel, Ticket
from simkit.engine.pipeline.non_resource.kept_families import histogram_family
from simkit.meta.histogram import Histogram
from simkit.schema.releases import minor_of

if TYPE_CHECKING:
    from prometheus_client.core import HistogramMetricFamily
    from prometheus_client.metrics_core import Metric

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
