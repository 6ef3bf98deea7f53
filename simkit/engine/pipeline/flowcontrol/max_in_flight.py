"""Limits on the requests in flight: read-only and mutating ones.

References
----------
``k8s.io/apiserver/pkg/server/filters/maxinflight.go``, release 1.30.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, Protocol

from simkit.engine.pipeline.request_context import Flow, RequestContext
from simkit.engine.pipeline.request_info import is_long_running
from simkit.meta.errors import PlainError
from simkit.meta.identity import MASTERS

READING: Final = frozenset({"get", "list", "watch"})
"""Read-only verbs."""


class TooManyRequests(PlainError):
    """A request for which there is no seat."""

    def __init__(self) -> None:
        super().__init__(429, "Too many requests, please try again later.\n", [("Retry-After", "1")])


class ConcurrencyLimiter(Protocol):
    """A limiter of concurrent requests."""

    @property
    def reading(self) -> int:
        """The number of read-only requests in flight."""
        ...

    @property
    def mutating(self) -> int:
        """The number of mutating requests in flight."""
        ...

    def enter(self, context: RequestContext) -> None:
        """Take seats, or give the request a ticket to wait with; ``leave`` must follow. Raises TooManyRequests."""
        ...

    def leave(self, context: RequestContext) -> None:
        """Release the seats of the request, if it has any."""
        ...

    def passes(self, flow: Flow | None, *, mutating: bool = False) -> bool:
        """Count a short request that takes a seat for next to no time; False if it has to ``enter``."""
        ...


class InFlight:
    """Counts read-only and mutating requests in flight."""

    def __init__(self) -> None:
        self._running = {False: 0, True: 0}
        self._lock = Lock()

    @property
    def reading(self) -> int:
        """The number of read-only requests in flight."""
        return self._running[False]

    @property
    def mutating(self) -> int:
        """The number of mutating requests in flight."""
        return self._running[True]


class MaxInFlight(InFlight):
    """Counts requests in flight, and rejects those above the limits for read-only and mutating ones.

    Parameters
    ----------
    requests, mutating_requests
        0 for no limit.

    Notes
    -----
    Watches and other long requests are not counted. Members of ``system:masters`` always get an answer. This is what
    kube-apiserver does with ``--enable-priority-and-fairness=false``.
    """

    def __init__(self, requests: int = 0, mutating_requests: int = 0) -> None:
        super().__init__()
        self._limits = {False: requests, True: mutating_requests}

    def enter(self, context: RequestContext) -> None:
        """Count a request; ``leave`` must follow. Raises TooManyRequests."""
        if is_long_running(context.info):
            return
        kind = context.info.verb not in READING
        limit = self._limits[kind]
        with self._lock:
            if limit and self._running[kind] >= limit:
                if MASTERS not in context.actor().groups:
                    raise TooManyRequests
                return
            self._running[kind] += 1
        context.request_kind = kind

    def passes(self, flow: Flow | None, *, mutating: bool = False) -> bool:
        """True if there is room for one more request, read-only or mutating."""
        limit = self._limits[mutating]
        return not limit or self._running[mutating] < limit

    def leave(self, context: RequestContext) -> None:
        """Count a request out, if it was counted."""
        if context.request_kind is None:
            return
        with self._lock:
            self._running[context.request_kind] -= 1
        context.request_kind = None
