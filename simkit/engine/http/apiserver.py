"""Adapter of the handler chain to the HTTP floor.

References
----------
k8s.io/apiserver/pkg/server/handler.go (``APIServerHandler``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.flowcontrol.priority_level import LONGEST_WAIT
from simkit.engine.pipeline.handler_chain import HandledRequest
from simkit.engine.pipeline.non_resource.health import ENDPOINTS
from simkit.meta.errors import StatusError, unexplained
from simkit.meta.integers import is_digits, saturating_int
from simkit.meta.message import Request, Response

_HEALTH: Final = tuple(f"/{endpoint}" for endpoint in ENDPOINTS)
_LEAVING: Final = b"The apiserver is shutting down, please try again later.\n"


class QueuedRequest:
    """A request that waits for a seat of priority and fairness."""

    patience: Final = LONGEST_WAIT

    def __init__(self, handled: HandledRequest) -> None:
        assert handled.context.ticket is not None
        self._handled, self._ticket = handled, handled.context.ticket

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Have a callback called, in any thread, once there is room or the wait is given up."""
        self._ticket.on_settled(callback)

    def give_up(self, *, gone: bool = False) -> None:
        """Wait no longer; ``gone`` says that the client does not either."""
        self._ticket.give_up("cancelled" if gone else "time-out")

    def go_on(self) -> Response:
        """The answer, after the wait."""
        response = self._handled.serve()
        assert response is not None
        return response


class AuthorizedRequest:
    """A request that its sender may make, whose body is still to come. It has no room yet."""

    def __init__(self, handled: HandledRequest) -> None:
        self._handled = handled

    def receive(self, body: bytes) -> Response | QueuedRequest:
        """The answer to the request with its body, or what has to be waited for."""
        self._handled.receive_body(body)
        return self._handled.serve() or QueuedRequest(self._handled)

    def fail(self, error: StatusError) -> Response:
        """The answer to a request whose body did not come as it should."""
        return self._handled.fail(error)

    def give_up(self, *, gone: bool = False) -> None:
        """The client went away in the midst of its request."""
        self._handled.fail(unexplained("unexpected EOF"))


class APIServerHandler:
    """Answers requests through the whole handler chain of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._refusing = False

    def prepare(self) -> None:
        """Tell by the health checks that the server is about to end."""
        self._engine.stopping = True

    def refuse(self) -> None:
        """Answer requests from now on with the advice to come again, but for those about health."""
        self._refusing = True

    @property
    def busy(self) -> bool:
        """Whether requests are under way."""
        return bool(self._engine.limits.reading or self._engine.limits.mutating)

    def answer(self, request: Request) -> Response | QueuedRequest:
        """The answer to a request, or the wait for a seat. Authentication is part of it."""
        if self._refuses(request):
            return _leaving()
        handled = HandledRequest(self._engine, request)
        return handled.serve() or QueuedRequest(handled)

    def enter(self, request: Request) -> Response | AuthorizedRequest:
        """The refusal of an unauthenticated or forbidden request, or what takes its body."""
        if self._refuses(request):
            return _leaving()
        handled = HandledRequest(self._engine, request)
        return handled.serve_headers() or AuthorizedRequest(handled)

    def _refuses(self, request: Request) -> bool:
        return self._refusing and not request.path.startswith(_HEALTH)

    def blocking(self, request: Request) -> bool:
        """Whether the request waits for a service outside, or for a revision that has not come yet."""
        if self._engine.leaves_process or self._engine.request_leaves_process(request):
            return True
        if not request.query:
            return False
        version = request.option("resourceVersion")
        return is_digits(version) and self._engine.is_future(saturating_int(version) or 0)


def _leaving() -> Response:
    return Response(429, _LEAVING, "text/plain; charset=utf-8", [("Retry-After", "5"), ("Connection", "close")])
