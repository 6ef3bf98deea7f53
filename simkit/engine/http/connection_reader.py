"""The reading side of a connection: bytes go to the parser in small pieces, within limits of time and size.

uvicorn's protocol owns the transport, the parser and the flow of writing. This class decides how fast it is fed, when a
client has taken too long, and when a connection ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from simkit.engine.http import request_state
from simkit.engine.http.loop_turns import SLICE, reading_turns
from simkit.engine.http.message import UNSUPPORTED_VERSION, RawHeaders, is_other_version, message_refusal, refusal

if TYPE_CHECKING:
    import asyncio

    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.server import ServerState

GRACE: Final = 5
"""Seconds that requests get to finish when a server stops; watches are ended at once."""
_LINGER: Final = 0.1
HEAD_LIMIT: Final = 1024 * 1024
"""The most bytes of a request line and its headers together."""
_HEAD_PIECE: Final = 512
_BODY_PIECE: Final = 64 * 1024
"""Bytes that are parsed at once, between requests and within a body; then others may get their turn."""
_METHOD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= )")
"""A method at the start of a request: any token (RFC 9110, section 9.1), as Go's server takes it."""
LITTLE: Final = 4 * 1024
"""Bytes that are read in one go."""
_TOGETHER: Final = 64 * 1024
"""Bytes of answers to requests that came together, which are written at once."""


class ConnectionReader(HttpToolsProtocol):
    """Feeds the parser of one connection. A subclass takes what the parser finds, and answers it."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._given: RawHeaders | None = None
        """All headers of a request that is parsed without some of them."""
        self._whole: bytes | None = None
        """The received bytes, if they began with the present request."""
        self._idle_since: float | None = None
        """The time of the last answer, while the next request has not begun."""
        self._head_size: int | None = 0  # None while a body is being read
        self._read_timer: asyncio.TimerHandle | None = None
        self._unlisted_method: bytes | None = None
        """The method of a request, if the parser does not know it and reads another in its place."""
        self._unparsed: list[bytes] = []
        """Received bytes that are not parsed yet, so that other connections get their turn."""
        self._took_long = False
        """True if the last requests took more than a slice: the next one waits for its turn."""
        self._reads_on = False
        """True if they will be parsed in the loop's next turn."""
        self._turns = reading_turns(self.loop)
        self._gathered: list[bytes] | None = None
        """Answers to requests that came together, to be written together; None while each is written by itself.

        Each write encrypts, and lets go of the interpreter meanwhile: to get it back may take a millisecond."""
        self._running: RequestResponseCycle | None = None
        """The request that is being answered; ``cycle`` is the last one that was read."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_read_timer()
        super()._unset_keepalive_if_required()  # uvicorn's own, which ends its timer
        super().connection_lost(exc)
        running, self._running = self._running, None
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        self.pipeline.clear()  # requests that nobody waits for refer to this connection, and it to them
        self._unparsed.clear()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _read_timed_out(self) -> None:
        """End the connection of a client that did not send the rest in time."""
        self._read_timer = None
        self.transport.abort()

    def _start_read_timer(self, seconds: float) -> None:
        """Start the timer within which the client must send the rest."""
        self._read_timer = self.loop.call_later(seconds, self._read_timed_out)

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def on_response_complete(self) -> None:
        """Begin the next request that waits, or the time in which the connection may be idle.

        One timer runs for many requests: it looks when the last of them was answered, and waits for the rest.
        """
        if self.pipeline or self.transport.is_closing() or self.timeout_keep_alive_task is None:
            super().on_response_complete()
        else:
            self.server_state.total_requests += 1
            self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self._unparsed:
            self._read_later()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection; abort it if the client does not read its answer."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return  # a request is under way; its answer starts another timer
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        elif self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def data_received(self, data: bytes) -> None:
        """Read what has come. Much of it waits for others that came with much before.

        So does whatever follows a request that took long: however many connections send those, such as requests of a
        user with thousands of bindings, others wait for one of them.
        """
        if self._unparsed:
            self._unparsed.append(data)
        elif self._took_long or (len(data) > LITTLE and self._turns.crowded):
            self._unparsed.append(data)
            self._read_later()
        else:
            began = perf_counter()
            self._received(data)
            self._took_long = perf_counter() - began > SLICE

    def _received(self, data: bytes) -> None:
        """Read what has come, in pieces where it is much. For subclasses, which may know what it is."""
        self._read_in_pieces(data)

    def _read_in_pieces(self, data: bytes) -> None:
        """Parse received bytes, until it takes too long or a request has to wait for the answer to one before."""
        self._whole, self._gathered = None, []
        start, enough = 0, perf_counter() + SLICE
        try:
            while start < len(data):
                if start and (self.pipeline or perf_counter() > enough):
                    self._unparsed.append(data[start:])
                    self._read_later()
                    return
                end = start + (_BODY_PIECE if self._head_size is None else _HEAD_PIECE)
                self._read(data[start:end])
                start = end
        finally:
            self._write_gathered()
            self._gathered = None

    def _send(self, parts: Sequence[bytes]) -> None:
        """Write an answer, or gather it with others."""
        if self._gathered is None:
            self.transport.write(parts[0]) if len(parts) == 1 else self.transport.writelines(parts)
            return
        self._gathered += parts
        if sum(map(len, self._gathered)) > _TOGETHER:
            self._write_gathered()

    def _write_gathered(self) -> None:
        """Write the answers that were gathered."""
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self.transport.write(b"".join(gathered))

    def _close(self) -> None:
        """Close the connection once all answers are written."""
        self._write_gathered()
        self.transport.close()

    def _read_later(self) -> None:
        """Leave what was received for one of the loop's next turns, or until the requests that wait have begun."""
        self.flow.pause_reading()
        if not self._reads_on and not self.pipeline:
            self._reads_on = True
            self._turns.later(self.loop, self._read_on)

    def _read_on(self) -> None:
        """Go on with what was left for later, unless the connection has ended."""
        self._reads_on = False
        data = b"".join(self._unparsed)
        self._unparsed.clear()
        if self.transport.is_closing():
            return
        began = perf_counter()
        self._received(data)
        self._took_long = perf_counter() - began > SLICE
        if not self._unparsed and not self.pipeline:
            self.flow.resume_reading()

    def _read(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head_size is not None:
            self._head_size += len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._head_size is not None and self._head_size > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse(431)
        elif self._read_timer is None and self._head_size != 0:
            self._start_read_timer(
                request_state.BODY_SECONDS if self._head_size is None else request_state.HEAD_SECONDS
            )

    def _parse(self, data: bytes) -> None:
        """Parse the received bytes; anything but HTTP is answered with 400 and ends the connection."""
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserInvalidMethodError:
                line = _METHOD.match(data) if self._head_size == len(data) else None
                if line is None:
                    self._refuse(400)
                    return
                self._unlisted_method = line[0]
                self._renew_parser()
                data = b"PROPFIND" + data[line.end() :]
            except httptools.HttpParserError:
                self._refuse_message(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                if self.parser.get_method() == b"CONNECT":
                    self._refuse(400)
                    return
                data = self._without_upgrade() + data[upgrade.args[0] :]

    def _without_upgrade(self) -> bytes:
        """The head of a request without its upgrade to another protocol.

        The parser passes over the body of such a request, and takes it for what the other protocol says. There is no
        other one here: a body that was read as further requests would be an attack on whoever shares the connection.
        """
        self._given = self.headers
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = (b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade")
        self._renew_parser()
        return b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(kept))

    def _renew_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def shutdown(self) -> None:
        """Close the connection when no request is running. A TLS client's closing alert is not waited for."""
        super().shutdown()
        self.loop.call_later(_LINGER, self._close_when_idle, self.loop.time() + GRACE)

    def _close_when_idle(self, deadline: float) -> None:
        if self not in self.connections:
            return
        answers = self.cycle is not None and not self.cycle.response_complete
        if (answers or self.transport.get_write_buffer_size()) and self.loop.time() < deadline:
            self.loop.call_later(_LINGER, self._close_when_idle, deadline)
        else:
            self.transport.abort()

    def _refuse_message(self, data: bytes) -> None:
        """End the connection after what the parser cannot read."""
        if is_other_version(data) and not self.headers:
            self._refuse(*UNSUPPORTED_VERSION)
        elif self._head_size is None:
            self._refuse(400)
        else:
            self._refuse_with(message_refusal(self.parser.get_http_version(), self.headers) or refusal(400))

    def _refuse_with(self, answer: bytes) -> None:
        """Write an answer that ends the connection."""
        self._send([answer])
        self._close()

    def _refuse(self, status: int, why: str = "") -> None:
        """End the connection in the words of Go's server."""
        self._refuse_with(refusal(status, why))
