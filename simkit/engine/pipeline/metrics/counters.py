"""The counters of the server: cheap sums, converted to Prometheus families on demand."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.engine.pipeline.metrics.families import BODY_BYTES, SECONDS, bounds_of
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.histogram import Histogram, Histograms, Labels
from simkit.meta.message import Response

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

INDICATED: Final = SECONDS[2:]
"""Those of the indicator of service levels."""
BYTES: Final = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
"""Upper bounds of the buckets of response sizes."""
_VERBS: Final = {"get": "GET", "list": "LIST", "watch": "WATCH", "deletecollection": "DELETE"}
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_COUNTED: Final = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", f"system:serviceaccount:{SYSTEM_NAMESPACE}:default"}
)
_APPLY: Final = "application/apply-patch+yaml"


class Route(NamedTuple):
    """The labels that most metric families of requests share."""

    verb: str
    dry_run: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str


@dataclass(slots=True)
class Sums:
    """The sums and histograms of responses with one code on one route."""

    count: int = 0
    seconds: float = 0.0
    bytes: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    sizes: list[int] = field(default_factory=lambda: [0] * (len(BYTES) + 1))
    bodies: Histogram | None = None
    """The bodies of requests that are not empty."""

    def add(self, seconds: float, size: int, received: int = 0) -> None:
        """Add a response of some bytes to a request with a body of some."""
        self.count += 1
        self.seconds += seconds
        self.bytes += size
        self.durations[bisect_left(SECONDS, seconds)] += 1
        self.sizes[bisect_left(BYTES, size)] += 1
        if received:
            if self.bodies is None:
                self.bodies = Histogram(BODY_BYTES)
            self.bodies.add(received)

    def clear(self) -> None:
        """Forget all responses."""
        self.count, self.seconds, self.bytes = 0, 0.0, 0
        self.durations[:] = [0] * len(self.durations)
        self.sizes[:] = [0] * len(self.sizes)
        self.bodies = None


Counter = tuple[str, Labels]
"""A family and the values of its labels."""


class Metrics:
    """The counters of one engine. Several threads may count.

    Parameters
    ----------
    show_hidden_for
        The release before the served one: deprecated metrics that are hidden since then are shown.
    """

    def __init__(self, show_hidden_for: str = "") -> None:
        self.show_hidden_for = show_hidden_for
        self.told: set[str] = set()
        """Deprecated metrics that have been logged."""
        self.requests: dict[tuple[Route, int], Sums] = {}
        self.deprecated: set[Labels] = set()
        """Group, version, resource, subresource and removal release of requested deprecated versions."""
        self.counts: defaultdict[str, defaultdict[Labels, int]] = defaultdict(lambda: defaultdict(int))
        """Other counters, by family and label values."""
        self.gauges: dict[str, dict[Labels, float]] = defaultdict(dict)
        """Values that are set, by family and label values."""
        self.histograms = Histograms(bounds_of)
        """Durations and sizes, by family and label values."""
        self.sources: list[Callable[[], Iterable[Metric]]] = []
        """Makers of families of parts that the pipeline does not know."""
        self.lasting: dict[Route, int] = {}
        """The number of long-running requests under way, by route."""
        self._lock = Lock()

    def observe(self, context: RequestContext, response: Response, seconds: float) -> None:
        """Count a response, and what its request is to be counted for.

        Requests without a handler (401, 403, unknown paths) are no requests in the metrics, as in kube-apiserver.
        """
        key = (context.route or route(context), response.status) if context.matched_path is not None else None
        size, received = response.size, len(context.request.body)
        with self._lock:
            for family, labels in context.counted:
                self.counts[family][labels] += 1
            if key is None:
                return
            self._sums(key).add(seconds, size, received)

    def _sums(self, key: tuple[Route, int]) -> Sums:
        sums = self.requests.get(key)
        if sums is None:
            sums = self.requests[key] = Sums()
        return sums

    def sums_of(self, context: RequestContext, status: int) -> Sums:
        """The sums to which a response with a status belongs, for ``repeat``."""
        with self._lock:
            return self._sums((route(context), status))

    def repeat(self, counted: Sequence[Counter], sums: Sums, size: int, seconds: float, *, received: int = 0) -> None:
        """Count a response as an equal one before it."""
        with self._lock:
            for family, labels in counted:
                self.counts[family][labels] += 1
            sums.add(seconds, size, received)

    def count(self, family: str, *labels: str) -> None:
        """Add one to another counter."""
        with self._lock:
            self.counts[family][labels] += 1

    def sum(self, family: str, labels: Labels, amount: int) -> None:
        """Add some to another counter."""
        with self._lock:
            self.counts[family][labels] += amount

    def record(self, family: str, *labels: str, value: float) -> None:
        """Count a value, such as seconds, in a histogram."""
        histograms = self.histograms
        histograms.record(histograms.of(family, *labels), value)

    def reset(self) -> None:
        """Begin to count anew. What is under way goes on, and so do values that are set."""
        with self._lock:
            for sums in self.requests.values():  # in place: answers that are repeated know theirs
                sums.clear()
            self.counts.clear()
            self.deprecated.clear()
        self.histograms.clear()

    def last(self, route: Route, change: int) -> None:
        """Count a long-running request, such as a watch, in or out."""
        with self._lock:
            self.lasting[route] = self.lasting.get(route, 0) + change

    def set(self, family: str, *labels: str, value: float) -> None:
        """Set a gauge."""
        self.gauges[family][labels] = value


def route(context: RequestContext) -> Route:
    """The route of a request, as kube-apiserver labels it."""
    info, request = context.info, context.request
    dry_run = ""
    if "dryRun" in request.query:
        dry_run = "All" if set(request.query["dryRun"]) == {"All"} else "invalid"
    if not info.is_resource:
        return Route(_method(request.method), "", "", "", "", context.matched_path or "", "")
    return Route(
        reported_verb(context),
        dry_run,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        scope_label(info),
    )


def reported_verb(context: RequestContext) -> str:
    """The HTTP method, with LIST, WATCH and APPLY as verbs of their own."""
    method = context.request.method
    if method == "PATCH" and context.request.header("content-type") == _APPLY:
        return "APPLY"
    return _VERBS.get(context.info.verb) or _method(method)


def _method(method: str) -> str:
    return method if method in _METHODS else "other"


def counted_name(user: str) -> str:
    """The user name in the metrics: only few are distinguished, since there may be any number.

    Examples
    --------
    >>> counted_name("admin"), counted_name("ann@example.com"), counted_name("ann")
    ('admin', 'email_id', 'other')
    """
    if user in _COUNTED:
        return user
    return "email_id" if "@" in user else "other"


def scope_label(info: RequestInfo) -> str:
    """The label ``scope`` of a request: resource, namespace, cluster, or empty for non-resource paths."""
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource else ""
