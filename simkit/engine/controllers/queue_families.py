"""The metric families of work queues.

Upstream: k8s.io/component-base/metrics/prometheus/workqueue/metrics.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from simkit.client.work_queue import WorkQueue
from simkit.engine.controllers.controller_manager import ControllerManager
from simkit.engine.pipeline.non_resource.kept_families import histogram_family

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_Value = Callable[[WorkQueue[Any]], float]


def _running(queue: WorkQueue[Any]) -> float:
    """Seconds of the work under way."""
    began = queue.began
    return perf_counter() - began if began is not None else 0.0


_COUNTERS: Final[tuple[tuple[str, str, _Value], ...]] = (
    ("adds", "Keys that were taken for work.", lambda queue: queue.adds),
    ("retries", "Keys that came again after a failure.", lambda queue: queue.retries),
)
_GAUGES: Final[tuple[tuple[str, str, _Value], ...]] = (
    ("depth", "Keys whose time has come.", lambda queue: len(queue.due())),
    ("unfinished_work_seconds", "Seconds of the work under way.", _running),
    ("longest_running_processor_seconds", "Seconds of the longest work under way.", _running),
)


def queue_source(controllers: ControllerManager) -> Callable[[], Iterator[Metric]]:
    """A function that makes the families of controllers as long as there are these: it does not keep them."""
    known = ref(controllers)

    def made() -> Iterator[Metric]:
        present = known()
        if present is not None:
            yield from queue_families(present)

    return made


def queue_families(controllers: ControllerManager) -> Iterator[Metric]:
    """The families of the work queues of controllers, by the name of the controller."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    queues = controllers.queues()
    for name, text, value in _COUNTERS:
        counter = CounterMetricFamily(f"workqueue_{name}_total", text, labels=("name",))
        for queue in queues:
            counter.add_metric((queue.name,), value(queue))
        yield counter
    for name, text, value in _GAUGES:
        gauge = GaugeMetricFamily(f"workqueue_{name}", text, labels=("name",))
        for queue in queues:
            gauge.add_metric((queue.name,), value(queue))
        yield gauge
    text = "Seconds of the work on a key."
    rows = [((queue.name,), queue.work) for queue in queues]
    yield histogram_family("workqueue_work_duration_seconds", text, ("name",), rows)
