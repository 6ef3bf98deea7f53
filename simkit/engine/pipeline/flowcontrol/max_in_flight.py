"""Limits on the requests in flight: reading and mutating ones.

References
----------
``k8s.io/apiserver/pkg/server/filters/maxinflight.go``, release 1.30.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, Protocol

from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import is_long_running
from simkit.meta.errors import PlainError
from simkit.meta.identity import MASTERS

READING: Final = frozenset({"get", "list", "watch"})
"""Verbs that change nothing."""


class TooManyRequests(PlainError):
    """The refusal of a request for which there is no room."""

    def __init__(self) -> None:
        super().__init__(429, "Too many requests, please try again later.\n", [("Retry-After", "1")])


class ConcurrencyLimiter(Protocol):
    """Says whether there is room for a request, or when."""

    @property
    def reading(self) -> int:
        """Requests under way that change nothing."""
        ...

    @property
    def mutating(self) -> int:
        """Requests under way that change something."""
        ...

    def enter(self, context: RequestContext) -> None:
        """Make room, or give the request a ticket that waits for it; ``leave`` must follow. Raises TooManyRequests."""
        ...

    def leave(self, context: RequestContext) -> None:
        """Give back the room that the request took, if any."""
        ...


class InFlight:
    """Counts requests under way: those that change nothing and those that do."""

    def __init__(self) -> None:
        self._running = {False: 0, True: 0}
        self._lock = Lock()

    @property
    def reading(self) -> int:
        """Requests under way that change nothing."""
        return self._running[False]

    @property
    def mutating(self) -> int:
        """Requests under way that change something."""
        return self._running[True]


class MaxInFlight(InFlight):
    """Counts requests under way, and refuses some above two limits: for reading ones and for those that change.

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
        """Make room for a request; ``leave`` must follow. Raises TooManyRequests."""
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

    def leave(self, context: RequestContext) -> None:
        """Give the room of a request back, where it took some."""
        if context.request_kind is None:
            return
        with self._lock:
            self._running[context.request_kind] -= 1
        context.request_kind = None
