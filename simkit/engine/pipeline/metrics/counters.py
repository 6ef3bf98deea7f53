"""The counters of the server: cheap sums, converted to Prometheus families on demand."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock
from typing import Final, NamedTuple

from simkit.engine.pipeline.metrics.families import SECONDS
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.histogram import Histogram, Labels
from simkit.meta.message import Response

_VERBS: Final = {"get": "GET", "list": "LIST", "watch": "WATCH", "deletecollection": "DELETE"}
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
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
        self.requests: dict[tuple[Route, int], Histogram] = {}
        """Seconds until answers, by route and code."""
        self.deprecated: set[Labels] = set()
        """Group, version, resource, subresource and removal release of requested deprecated versions."""
        self.counts: defaultdict[str, defaultdict[Labels, int]] = defaultdict(lambda: defaultdict(int))
        """Other counters, by family and label values."""
        self.gauges: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        """Values that are set, by family and label values."""
        self.lasting: dict[Route, int] = {}
        """The number of long-running requests under way, by route."""
        self._lock = Lock()

    def observe(self, context: RequestContext, response: Response, seconds: float) -> None:
        """Count a response.

        Requests without a handler (401, 403, unknown paths) are no requests in the metrics, as in kube-apiserver.
        """
        if context.matched_path is not None:
            self.repeat(self.durations(context, response.status), seconds)

    def durations(self, context: RequestContext, status: int) -> Histogram:
        """The seconds until responses with a status on the route of a request, for ``repeat``."""
        key = (context.route or route(context), status)
        return self.requests.get(key) or self.requests.setdefault(key, Histogram(SECONDS))

    def repeat(self, durations: Histogram, seconds: float) -> None:
        """Count a response as an equal one before it."""
        with self._lock:
            durations.add(seconds)

    def count(self, family: str, *labels: str) -> None:
        """Add one to another counter."""
        with self._lock:
            self.counts[family][labels] += 1

    def set(self, family: str, *labels: str, value: float) -> None:
        """Set a gauge."""
        self.gauges[family][labels] = value

    def last(self, route: Route, change: int) -> None:
        """Count a long-running request, such as a watch, in or out."""
        with self._lock:
            self.lasting[route] = self.lasting.get(route, 0) + change

    def reset(self) -> None:
        """Begin to count anew. What is under way goes on, and so do values that are set."""
        with self._lock:
            for durations in list(self.requests.values()):  # in place: answers that are repeated know theirs
                durations.clear()
            self.counts.clear()
            self.deprecated.clear()


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


def scope_label(info: RequestInfo) -> str:
    """The label ``scope`` of a request: resource, namespace, cluster, or empty for non-resource paths."""
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource else ""
