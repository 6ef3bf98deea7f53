"""Metrics of lists and watches.

Upstream: k8s.io/apiserver/pkg/storage/cacher/metrics, k8s.io/apiserver/pkg/storage/etcd3/metrics and
k8s.io/apiserver/pkg/endpoints/handlers/metrics, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Final

from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.meta.behaviour import served_minor
from simkit.meta.names import GroupResource

_RESOURCES_TOLD: Final = 34
"""The release since which events are told by resource, not by kind."""


class WatchMeter:
    """Counts the events that one watch sends, and their bytes.

    Notes
    -----
    The histogram of sizes counts the events too.
    """

    def __init__(self, metrics: Metrics, scope: RequestScope, scope_label: str) -> None:
        resource = scope.resource
        word = resource.resource if served_minor() >= _RESOURCES_TOLD else resource.kind
        self._metrics, self._began = metrics, perf_counter()
        self._sizes = metrics.histograms.of("apiserver_watch_events_sizes", resource.group, resource.version, word)
        self._list_labels = (resource.group, resource.version, resource.resource, scope_label)

    def sent(self, frames: Sequence[bytes]) -> None:
        """Count events."""
        sizes = self._sizes
        self._metrics.histograms.record_all((sizes, len(frame)) for frame in frames)

    def listed(self) -> None:
        """Count the end of the initial events."""
        seconds = perf_counter() - self._began
        self._metrics.record("apiserver_watch_list_duration_seconds", *self._list_labels, value=seconds)


class ListMeter:
    """Counts one list, and the objects that are read and returned for it.

    Attributes
    ----------
    fetched
        The objects that were read.
    """

    __slots__ = ("_labels", "_metrics", "fetched")

    def __init__(self, metrics: Metrics, resource: GroupResource) -> None:
        self._metrics, self._labels, self.fetched = metrics, (resource.group, resource.resource), 0

    def listed(self, returned: int, *, cached: bool) -> None:
        """Count a list that is served from the watch cache, or from the store."""
        sums, labels, index = self._metrics.sum, self._labels, ("",)
        if cached:
            sums("apiserver_cache_list_total", (*labels, *index), 1)
            sums("apiserver_cache_list_fetched_objects_total", (*labels, *index), self.fetched)
            sums("apiserver_cache_list_returned_objects_total", labels, returned)
            return
        sums("apiserver_storage_list_total", labels, 1)
        sums("apiserver_storage_list_fetched_objects_total", labels, self.fetched)
        sums("apiserver_storage_list_evaluated_objects_total", labels, self.fetched)
        sums("apiserver_storage_list_returned_objects_total", labels, returned)
