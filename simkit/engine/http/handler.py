"""Protocols of the HTTP floor: a handler with one synchronous function, and watch streams that are polled."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response


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


class QueuedRequest(Protocol):
    """A request that waits for a seat."""

    @property
    def patience(self) -> float:
        """Seconds after which the wait should be given up."""
        ...

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Register a callback, called in any thread, for when it can go on: there is a seat, or the wait was given
        up."""
        ...

    def give_up(self, *, gone: bool = False) -> None:
        """End the wait; ``gone`` says that the client has disconnected."""
        ...

    def go_on(self) -> Response:
        """The answer, once ``on_ready`` has called back."""
        ...


class AuthorizedRequest(Protocol):
    """An authorized request whose body is still to come. One of its methods is called, once."""

    def receive(self, body: bytes) -> Response | QueuedRequest:
        """The answer to the request with its body, or its wait for a seat."""
        ...

    def fail(self, error: StatusError) -> Response:
        """The answer to a request whose body did not come, or was too long to be read."""
        ...

    def give_up(self, *, gone: bool = False) -> None:
        """End the request, because the client disconnected."""
        ...


class Handler(Protocol):
    """A server without a network. An implementation must not raise: errors are answers too."""

    def enter(self, request: Request) -> Response | AuthorizedRequest:
        """The refusal of a request before its body is read, or the authorized request, which takes the body."""
        ...

    def answer(self, request: Request) -> Response | QueuedRequest:
        """The answer to one request, or its wait for a seat. May be called from several threads."""
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
