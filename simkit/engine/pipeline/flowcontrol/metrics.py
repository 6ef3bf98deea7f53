"""The metric families of priority and fairness.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.priority_level import PriorityLevel

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_PREFIX: Final = "apiserver_flowcontrol_"
_OF_LEVELS: Final[tuple[tuple[str, str, Callable[[PriorityLevel], float]], ...]] = (
    ("nominal_limit_seats", "Seats that are a level's own part.", lambda level: level.nominal),
    ("current_executing_requests", "Requests of a level that have room.", lambda level: len(level.running)),
    ("current_executing_seats", "Seats that requests of a level take.", lambda level: level.executing),
    ("current_inqueue_requests", "Requests of a level that wait.", lambda level: level.waiting),
    ("request_concurrency_limit", "The older name of nominal_limit_seats.", lambda level: level.nominal),
    ("request_concurrency_in_use", "The older name of current_executing_seats.", lambda level: level.executing),
)


def families(control: FlowControl) -> Iterator[Metric]:
    """The families of one server, by priority level, and by flow schema where requests are counted."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    for name, text, value in _OF_LEVELS:
        gauge = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=("priority_level",))
        for level in list(control.levels.values()):
            gauge.add_metric((level.name,), value(level))
        yield gauge
    dispatched = CounterMetricFamily(
        f"{_PREFIX}dispatched_requests_total", "Requests that got room.", labels=("priority_level", "flow_schema")
    )
    for labels, count in list(control.dispatched.items()):
        dispatched.add_metric(labels, count)
    yield dispatched
    rejected = CounterMetricFamily(
        f"{_PREFIX}rejected_requests_total",
        "Requests that got no room, and why.",
        labels=("priority_level", "flow_schema", "reason"),
    )
    for reasons, count in list(control.rejected.items()):
        rejected.add_metric(reasons, count)
    yield rejected
