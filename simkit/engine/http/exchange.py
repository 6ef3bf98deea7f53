"""One request without input and output: a driver brings its bytes, and the exchange gives the answer.

The states follow each other in one order: the head is known, ``begin`` (may the sender make the request), the body
arrives in parts, ``finish`` (the answer, or the wait for a seat). ``fail`` and ``give_up`` end an exchange early.
The drivers are ``protocol`` (bytes of a connection) and ``asgi`` (messages of an ASGI server).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from simkit.engine.http.handler import AuthorizedRequest, Handler, QueuedRequest
from simkit.engine.http.message import error_response
from simkit.meta.errors import StatusError, too_large
from simkit.meta.message import BODY_LIMIT, Request, Response

READ_ON: Final = 64 * 1024 * 1024
"""Bytes beyond the limit of a body that are still read and dropped, so that the client can read the refusal."""


class Exchange:
    """The state of one request between its head and its answer.

    Parameters
    ----------
    handler
        Decides and answers; called once or twice, by whoever drives the exchange.
    """

    __slots__ = ("_authorized", "_handler", "_parts", "_size")

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._authorized: AuthorizedRequest | None = None
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def begun(self) -> bool:
        """True if the request was authorized before its body arrived."""
        return self._authorized is not None

    def begin(self, request: Request) -> Response | Exchange:
        """The refusal of a request whose body is still to come, or this exchange, which takes the body."""
        found = self._handler.enter(request)
        if isinstance(found, Response):
            return found
        self._authorized = found
        return self

    def take(self, part: bytes) -> bool:
        """Take a part of the body; True if more should be read. Of a too long body only a part is kept."""
        if self._size <= BODY_LIMIT:
            self._parts.append(part)
        self._size += len(part)
        return self._size <= READ_ON

    def taken(self) -> list[bytes]:
        """Take the parts of the body so far out of the exchange."""
        parts, self._parts = self._parts, []
        return parts

    def finish(self, request: Request) -> Response | QueuedRequest:
        """The answer to the request with the body that was taken, or its wait for a seat."""
        body = b"".join(self.taken())
        authorized, self._authorized = self._authorized, None
        if authorized is not None:
            return authorized.receive(body)
        return self._handler.answer(replace(request, body=body) if body else request)

    def fail(self, error: StatusError) -> Response:
        """The answer to a request whose body did not arrive, or arrived too slowly."""
        authorized, self._authorized, self._parts = self._authorized, None, []
        return error_response(error) if authorized is None else authorized.fail(error)

    def refuse_length(self) -> Response:
        """The answer to a request whose body is not read to its end."""
        return self.fail(too_large(BODY_LIMIT))

    def give_up(self, *, gone: bool = False) -> None:
        """End the exchange without an answer, because the client disconnected."""
        authorized, self._authorized = self._authorized, None
        if authorized is not None:
            authorized.give_up(gone=gone)
