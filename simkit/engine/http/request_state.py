"""The handler of requests as the HTTP floor sees it, and one request as a state machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Final, Protocol

from simkit.engine.http.message import error_response, no_room
from simkit.meta.deadline import Deadline, too_late
from simkit.meta.duration import seconds
from simkit.meta.errors import StatusError, too_large
from simkit.meta.message import BODY_LIMIT, Request, Response

# Protocols of the HTTP floor: a handler with one synchronous function, and watch streams that are polled


class ExecutionMode(Enum):
    """The threads on which a request is worked on, which depends on what it may cost."""

    INLINE = "inline"
    """That of the event loop: it takes no longer than a few milliseconds."""
    REFRESHED = "refreshed"
    """That of the event loop too, after ``Handler.refresh``."""
    REFRESHED_WAITING = "refreshed-waiting"
    """As WAITING, after ``Handler.refresh``."""
    PAUSING = "pausing"
    """That of the event loop, which goes on with others while the request waits for a store outside."""
    REFRESHED_PAUSING = "refreshed-pausing"
    """As PAUSING, after ``Handler.refresh``."""
    COMPUTING = "computing"
    """A few threads that share the interpreter with the loop: it may compute for long."""
    WAITING = "waiting"
    """One of many threads: it may wait for a service outside, or for what is to come."""
    WAITING_AND_COMPUTING = "waiting-and-computing"
    """Some threads of their own, so that whoever waits does not keep others from computing."""

    @property
    def waits(self) -> bool:
        """True if it is for requests that may wait."""
        return self in (ExecutionMode.WAITING, ExecutionMode.WAITING_AND_COMPUTING)

    @classmethod
    def of(cls, *, computes: bool, waits: bool) -> ExecutionMode:
        """The execution mode of a request that may compute for long, wait, both or neither."""
        if computes:
            return cls.WAITING_AND_COMPUTING if waits else cls.COMPUTING
        return cls.WAITING if waits else cls.INLINE


class WatchStream(Protocol):
    """A watch from the engine, in ``Response.stream``. An implementation must not queue for its reader."""

    @property
    def closed(self) -> bool:
        """True if no more frames will come; frames that are ready can still be polled."""
        ...

    @property
    def deadline(self) -> float | None:
        """Seconds from the start after which the stream ends; None: the server decides."""
        ...

    @property
    def blocks(self) -> bool:
        """True if ``poll`` may wait for a service outside, so that it must not run in an event loop's thread."""
        ...

    @property
    def computes(self) -> bool:
        """True if ``poll`` makes each frame anew, which may take long."""
        ...

    @property
    def behind(self) -> bool:
        """True if ``poll`` stopped before it had looked at all that there is, so as not to take long."""
        ...

    def poll(self, limit: int = 512) -> list[bytes]:
        """Encoded frames that are ready, without waiting; an empty list if there are none."""
        ...

    def bookmark(self) -> list[bytes]:
        """A bookmark frame, if the reader asked for them and the resource version has advanced."""
        ...

    def on_change(self, callback: Callable[[], None]) -> object:
        """Register a callback, called in the writer's thread, for when there may be something to poll.

        An implementation should call equal callbacks of several streams once for a batch of writes.
        """
        ...

    def close(self) -> None:
        """End the stream; closing twice does nothing."""
        ...


class AuthorizedRequest(Protocol):
    """An authorized request whose body is still to come. One of its methods is called, once."""

    def receive(self, body: bytes) -> Response:
        """The answer to the request with its body."""
        ...

    def fail(self, error: StatusError) -> Response:
        """The answer to a request whose body did not come, or was too long to be read."""
        ...

    def give_up(self) -> None:
        """End the request, because the client disconnected."""
        ...


class Handler(Protocol):
    """A server without a network. An implementation must not raise: errors are answers too."""

    def enter(self, request: Request) -> Response | AuthorizedRequest:
        """The refusal of a request before its body is read, or the authorized request, which takes the body."""
        ...

    def answer(self, request: Request) -> Response:
        """The answer to one request. May be called from several threads."""
        ...

    def at_once(self, request: Request) -> Response | None:
        """The answer to a request that takes next to no time, since all that it needs is known; None: ``answer`` has
        to be called. Only called in the thread of an event loop."""
        ...

    def refresh(self) -> None:
        """Catch up with what other servers have written, for requests whose execution mode says so.

        Waits. Raises StatusError where that fails; then ``answer`` tries again, and tells the client.
        """
        ...

    def execution_mode(self, request: Request) -> ExecutionMode:
        """The threads that must be used for a request, with its body or without, judged by cheap measures."""
        ...


# One request as a state machine without input, output, threads and clocks.
# A driver brings what happens, and does what the machine asks for in turn::
#     begin(request) ── Response: refused            end(request) ── Response: write it
#          │         ── Work: run it, then done()         │       ── Work: run it, then done() or expired()
#          │         ── None: read on                     │       ── Refresh: have the store catch up, take its step
#     take(part) ─ ... ─ end(request)                None: never
# The body of a request that was begun is read after its sender was found to be allowed to make it; a request whose body
# came together with its head is only ended. Whoever drives a machine asks ``patience`` how long what it does may take.
# The drivers are ``protocol`` (bytes of a connection, as long as nothing has to be waited for) and ``asgi`` (messages).
# References: k8s.io/apiserver/pkg/server/filters/timeout.go (``WithTimeoutForNonLongRunningRequests``), release 1.30.

HEAD_SECONDS: Final = 32.0
"""Seconds within which the headers of a request must be there, once the connection or its first byte is."""
BODY_SECONDS: Final = 60.0
"""Seconds within which the rest of a request must follow."""
REQUEST_SECONDS: Final = 60.0
"""Seconds that a request may take which is neither a watch nor a connection, unless it says less."""
_AFTER_REFRESH: Final = {
    ExecutionMode.REFRESHED_WAITING: ExecutionMode.WAITING,
    ExecutionMode.REFRESHED_PAUSING: ExecutionMode.PAUSING,
}
"""The execution modes of work that comes after a refresh."""
_REFRESHED: Final = (ExecutionMode.REFRESHED, *_AFTER_REFRESH)
READ_ON: Final = 64 * 1024 * 1024
"""Bytes beyond the limit of a body that are still read and dropped, so that the client can read the refusal."""


@dataclass(slots=True)
class Work:
    """A step of the handler that an event loop must not wait for, and until when somebody waits for it."""

    step: Callable[[], Response | AuthorizedRequest]
    execution_mode: ExecutionMode
    seconds: float
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = Deadline(self.seconds)


@dataclass(slots=True)
class Refresh:
    """The answer once the store has caught up with other servers, and what to do where it cannot catch up."""

    then: Callable[[], Response | Work]
    otherwise: Work


Next = Response | Work | Refresh | None
"""The next action of a driver: write, run, have the store refreshed, or read on."""


class RequestState:
    """The state of one request between its head and its answer.

    Parameters
    ----------
    handler
        Decides and answers; called once or twice, here or where the driver runs a ``Work``.
    patience
        Seconds that a request may take.
    """

    __slots__ = ("_authorized", "_handler", "_parts", "_patience", "_size", "request")

    def __init__(self, handler: Handler, patience: float = REQUEST_SECONDS) -> None:
        self._handler, self._patience = handler, patience
        self._authorized: AuthorizedRequest | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self.request: Request | None = None
        """The head of the request, once it is known."""

    @property
    def begun(self) -> bool:
        """True if the request was authorized before its body arrived."""
        return self._authorized is not None

    def begin(self, request: Request) -> Next:
        """Find out whether a request may be made whose body is still to come."""
        self.request = request
        return self._run(partial(self._handler.enter, request), self._handler.execution_mode(request))

    def take(self, part: bytes) -> bool:
        """Take a part of the body; True if more should be read. Of a too long body only a part is kept."""
        if self._size <= BODY_LIMIT:
            self._parts.append(part)
        self._size += len(part)
        return self._size <= READ_ON

    def end(self, request: Request) -> Next:
        """Have the request answered, whose body was taken, if it has one."""
        body = b"".join(self._parts)
        self._parts = []
        self.request = replace(request, body=body) if body else request
        execution_mode = self._handler.execution_mode(self.request)
        if self._authorized is not None:
            if execution_mode is ExecutionMode.REFRESHED:  # here the engine itself refreshes
                execution_mode = ExecutionMode.WAITING
            return self._run(partial(self._receive, body), execution_mode)
        if execution_mode is ExecutionMode.INLINE:
            return self._handler.answer(self.request)
        step = partial(self._handler.answer, self.request)
        if execution_mode not in _REFRESHED:
            return self._run(step, execution_mode)
        self.request = replace(self.request, refreshed=True)
        then = partial(self._handler.answer, self.request)
        seconds = self._seconds()
        otherwise = Work(step, ExecutionMode.WAITING, seconds)
        if execution_mode is ExecutionMode.REFRESHED:
            return Refresh(then, otherwise)
        return Refresh(partial(Work, then, _AFTER_REFRESH[execution_mode], seconds), otherwise)

    def _receive(self, body: bytes) -> Response:
        authorized, self._authorized = self._authorized, None
        assert authorized is not None
        return authorized.receive(body)

    def _run(self, step: Callable[[], Response | AuthorizedRequest], execution_mode: ExecutionMode) -> Next:
        if execution_mode in (ExecutionMode.INLINE, ExecutionMode.REFRESHED):
            return self.done(step())
        return Work(step, _AFTER_REFRESH.get(execution_mode, execution_mode), self._seconds())

    def done(self, outcome: Response | AuthorizedRequest) -> Next:
        """Take the outcome of a step that was run."""
        if isinstance(outcome, Response):
            return outcome
        self._authorized = outcome
        return None

    def _seconds(self) -> float:
        """Seconds that the request may take: what it asks for, if that is less than what is usual."""
        assert self.request is not None
        wanted = _timeout(self.request.option("timeout")) if "timeout" in self.request.query else 0
        return min(wanted, self._patience) if wanted > 0 else self._patience

    def expired(self) -> Response:
        """The answer to a request that took too long, or whose body came too slowly."""
        return self.fail(too_late())

    def crowded(self) -> Response:
        """The answer to a request for whose work there is no room."""
        return self.fail(no_room())

    def refuse_length(self) -> Response:
        """The answer to a request whose body is not read to its end."""
        return self.fail(too_large(BODY_LIMIT))

    def fail(self, error: StatusError) -> Response:
        """The answer to a request that does not come to its end."""
        authorized, self._authorized, self._parts = self._authorized, None, []
        return error_response(error) if authorized is None else authorized.fail(error)

    def gone(self) -> None:
        """End the request without an answer, since the client went away."""
        authorized, self._authorized = self._authorized, None
        if authorized is not None:
            authorized.give_up()


def release(outcome: Response | AuthorizedRequest) -> None:
    """Let go of what came too late for anybody to read it."""
    if not isinstance(outcome, Response):
        outcome.give_up()
    elif outcome.stream is not None:
        outcome.stream.close()


def _timeout(text: str) -> float:
    """Seconds that a length of time stands for; 0 for a text that is none, which the engine refuses."""
    try:
        return seconds(text)
    except ValueError:
        return 0.0
