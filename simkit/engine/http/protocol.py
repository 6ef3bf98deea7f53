"""uvicorn's HTTP protocol with two additions: it reads the peer's certificates, and it answers short requests itself.

Most requests are answered by one call of the engine. For those no task, no ASGI scope and no messages are made: the
answer is written where the last byte of the request was read. Whatever may wait (streams, blocking requests, large
answers to compress, pipelined requests behind a stream, clients that do not read) goes the ordinary way.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httptools

from simkit.engine.authn.bearer import asks_for_websocket
from simkit.engine.http import request_state
from simkit.engine.http.asgi import LARGE_HEAD, Application
from simkit.engine.http.connection_reader import HEAD_LIMIT, LITTLE, ConnectionReader
from simkit.engine.http.message import (
    KnownHead,
    KnownHeads,
    RawHeaders,
    RequestLine,
    error_response,
    has_broken_path,
    host_refusal,
    message_refusal,
    parse_headers,
    parse_query,
    refusal,
    response_bytes,
)
from simkit.engine.http.request_state import Next, RequestState
from simkit.engine.http.tls import peer_chain
from simkit.meta.errors import StatusError
from simkit.meta.message import DROPPED, Request, Response, Sender

if TYPE_CHECKING:
    import asyncio

    from uvicorn.config import Config
    from uvicorn.server import ServerState

_SWITCH: Final = "simkit.engine.http.upgrade.switch"
"""The module that changes protocols: it is loaded when another one is wanted first."""


_END_OF_HEAD: Final = b"\r\n\r\n"

_LARGE_UPGRADE: Final = 32 * 1024
"""Bytes of the head of a request for another protocol, such as one with a long token, which is answered here."""
_UNREAD: Final = 64 * 1024
"""Bytes that wait for a slow client before no more are written, as without TLS: asyncio's own limit is eight times as
much, for each of thousands of watches that nobody reads."""


class HTTPConnection(ConnectionReader):
    """One connection of a client."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        application = config.loaded_app
        assert isinstance(application, Application)
        self._application = application
        self._chain: tuple[bytes, ...] = ()
        self._peer = ""
        self._extensions: dict[str, Any] = {}
        self._raw_headers: RawHeaders = []
        self._known_headers: Mapping[str, Sequence[str]] = {}
        self._headers_size = 0
        self._sender = Sender()
        self._method = "GET"
        self._heads = KnownHeads()
        self._dropping = False
        self._state: RequestState | None = None
        """The request whose body is collected here; None if uvicorn handles it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._chain = peer_chain(tls)
            chain = [ssl.DER_cert_to_PEM_cert(der) for der in self._chain]
            self._extensions = {"tls": {"client_cert_chain": chain, "tls_version": tls.version()}}
            transport.set_write_buffer_limits(high=_UNREAD)
        self._start_read_timer(request_state.HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        state, self._state = self._state, None
        if state is not None:
            state.gone()
        super().connection_lost(exc)

    def _read_timed_out(self) -> None:
        if self._state is not None and not self.transport.is_closing():
            self._read_timer = None
            self._end_early(self._state.expired())
        else:
            super()._read_timed_out()

    def _received(self, data: bytes) -> None:
        """Read what has come. Any number of requests may be in it: when they take too long, others come first."""
        if len(data) <= LITTLE and data.count(_END_OF_HEAD) <= 1:
            known = self._heads.find(data) if self._head_size == 0 else None
            if known is not None and self._is_idle():
                self._answer_known(*known)
                return
            self._whole = data if self._head_size == 0 else None
            self._read(data)
        else:
            self._read_in_pieces(data)
        state = self._state
        if state is not None and not state.begun and not self.transport.is_closing():
            self._begin(state)

    def _is_idle(self) -> bool:
        """True if no request is under way, and answers can be written."""
        busy = self.pipeline or self.flow.write_paused or self.transport.is_closing() or self._dropping
        return not busy and (self.cycle is None or self.cycle.response_complete)

    def _answer_known(self, line: RequestLine, head: KnownHead, body: bytes) -> None:
        """Answer a request whose headers were parsed before, byte for byte."""
        self._stop_read_timer()
        self._unset_keepalive_if_required()
        self._method, self.url, self.headers = line.method, line.url, head.raw
        self.expect_100_continue = False
        request = Request(
            *(line.method, line.path, line.query, head.headers, body, self._chain, self._peer),
            *(len(line.url) + head.size, head.sender),
        )
        self._answer(request, self._application.new_state(), keep_alive=True)

    # What the parser calls, in this order.

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._head_size = self._head_size or 1  # it has begun, perhaps behind the end of another

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Trailers are ignored, since no proxy in front has checked them."""
        if self._head_size is None:
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # read once more, without the wish for another protocol
        if self._given is not None:
            self.headers, self._given = self._given, None
        self._stop_read_timer()
        size, self._head_size = self._head_size or 0, None
        self._method = (self._unlisted_method or self.parser.get_method()).decode("ascii")
        self._unlisted_method = None
        if (
            size > HEAD_LIMIT
            and len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_LIMIT
        ):
            self._refuse(431)
        elif has_broken_path(self.url):
            self._refuse(400)
        elif self.headers != self._raw_headers or not self.headers or self.parser.get_http_version() != "1.1":
            self._check_head()  # the same headers as before were fine
        if self.transport.is_closing():
            self._dropping = True
            return
        idle = self.cycle is None or self.cycle.response_complete
        waits = self.expect_100_continue or self.flow.write_paused
        here = size <= LARGE_HEAD or (size <= _LARGE_UPGRADE and any(name == b"upgrade" for name, _ in self.headers))
        if idle and not self.pipeline and not waits and here:
            self._state = self._application.new_state()
        else:
            self._start_asgi_cycle()

    def _check_head(self) -> None:
        hosts, version = [value for name, value in self.headers if name == b"host"], self.parser.get_http_version()
        refused = host_refusal(self.parser.get_method(), version, hosts)
        answer = message_refusal(version, self.headers) if refused is None else refusal(*refused)
        if answer is not None:
            self._refuse_with(answer)

    def _begin(self, state: RequestState) -> None:
        """Authorize the request whose body is still to come. The body of a refused request is dropped."""
        request = self._request()
        begun = state.begin(request)
        if isinstance(begun, Response):
            self._state, self._dropping = None, True
            self._write(request, begun, keep_alive=self.parser.should_keep_alive(), close=False)
        elif begun is not None:
            self._state = None
            self._continue_in_asgi(self._application.begin, state, begun)

    def on_body(self, body: bytes) -> None:
        if self._dropping:
            return
        if self._state is None:
            super().on_body(body)
        elif not self._state.take(body) and not self.transport.is_closing():
            self._end_early(self._state.refuse_length())

    def _end_early(self, response: Response) -> None:
        """Answer a request whose body is not read to its end."""
        self._state, self._dropping = None, True
        self._write(self._request(), response, keep_alive=False)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._stop_read_timer()
        self._head_size = 0
        if self._dropping:
            self._dropping = False
            if not self.parser.should_keep_alive():
                self._close()
            return
        state, self._state = self._state, None
        if state is None:
            super().on_message_complete()
        elif not self.transport.is_closing():
            request = self._request()
            if self._whole is not None:
                self._heads.learn(self._whole, request, self.headers)
            self._answer(request, state, keep_alive=self.parser.should_keep_alive())

    def _answer(self, request: Request, state: RequestState, *, keep_alive: bool) -> None:
        then = self._application.at_once(request) or state.end(request)
        if isinstance(then, Response) and _switches(request, then) and _SWITCH in sys.modules:
            self._switch(request, then)
        elif isinstance(then, Response) and then.status == DROPPED:
            self.transport.abort()
        elif isinstance(then, Response) and then.upgrade is None and self._application.is_brief(request, then):
            self._write(request, then, keep_alive=keep_alive)
        else:
            self._continue_in_asgi(self._drive if request.header("upgrade") else self._application.drive, state, then)
            super().on_message_complete()

    async def _drive(self, state: RequestState, then: Next, receive: Any, send: Any, *, cut: Any = None) -> None:
        """Drive a request that wants another protocol, and may have to wait for it."""
        response, request = await self._application.settle(state, then, receive), state.request
        if request is None or not _switches(request, response):
            await self._application.drive(state, response, receive, send, cut=cut)
        else:
            await self._application.load(_SWITCH)
            self.cycle.disconnected = True  # uvicorn has nothing more to say
            self._switch(request, response)

    def _switch(self, request: Request, response: Response) -> None:
        """Change the protocol of the connection, or say why it is not changed."""
        self._write_gathered()
        if response.stream is not None:
            self._watch_by_messages(request, response)
            return
        from simkit.engine.http.upgrade.switch import switch  # other protocols are loaded when one is wanted

        try:
            switch(request, response.upgrade, self.transport, self.connection_lost, self.loop)
            self._unset_keepalive_if_required()
        except StatusError as error:
            self._write(request, error_response(error), keep_alive=False)

    def _watch_by_messages(self, request: Request, response: Response) -> None:
        """Go on as a WebSocket that gets the events of a watch, or refuse that."""
        from simkit.engine.http.upgrade.switch import UpgradedConnection, WatchSocket, watch_handshake

        answer, agreed = watch_handshake(request)
        if not self.transport.is_closing():
            self.transport.write(answer)
        if not agreed or self.transport.is_closing():
            response.stream.close()
            self.transport.close()
            return
        connection = UpgradedConnection(self.transport, self.connection_lost, self.loop)
        socket = connection.link = WatchSocket(connection, text=response.content_type == "application/json")
        self.transport.set_protocol(connection)
        self._unset_keepalive_if_required()
        delivered = self._application.deliver_messages(
            response.stream, socket.receive, socket.send, self.transport.abort
        )
        self._watch = self.loop.create_task(delivered)
        self._watch.add_done_callback(lambda _: socket.close())

    def _request(self) -> Request:
        """The request of the head that was read, without its body."""
        path, query = _parts(self.url)
        if self.headers != self._raw_headers:  # most clients send the same headers again and again
            if _but_length(self.headers) != _but_length(self._raw_headers):
                self._sender = Sender()
            self._raw_headers, self._known_headers = self.headers, parse_headers(self.headers)
            self._headers_size = sum(len(name) + len(value) for name, value in self.headers)
        return Request(
            self._method,
            path.decode("ascii"),
            parse_query(query),
            self._known_headers,
            b"",
            self._chain,
            self._peer,
            len(self.url) + self._headers_size,
            self._sender,
        )

    def _write(self, request: Request, response: Response, *, keep_alive: bool, close: bool = True) -> None:
        """Send an answer. A connection that is not kept alive is closed at once unless the request is still being
        read."""
        parts = response_bytes(request, response, self.server_state.default_headers, keep_alive=keep_alive)
        self._send(parts)
        if keep_alive or not close:
            self.on_response_complete()
        else:
            self._close()

    def _continue_in_asgi(self, drive: Any, state: RequestState, then: Next) -> None:
        """Leave the rest of a request to the driver that can wait."""
        usual, self.app = self.app, partial(_after, partial(drive, cut=self.transport.abort), state, then)
        try:
            self._start_asgi_cycle()
        finally:
            self.app = usual

    def _start_asgi_cycle(self) -> None:
        """Do uvicorn's own work at the end of the headers, with the scope that was left out at the beginning."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = b"/", headers, expects
        super().on_headers_complete()  # which would decode a path that nobody asks it for
        self.url = url
        path, query = _parts(url)
        self.scope["method"] = self._method
        self.scope["raw_path"], self.scope["query_string"] = path, query
        self.scope["headers"], self.scope["extensions"] = headers, self._extensions


def _but_length(headers: RawHeaders) -> RawHeaders:
    """The headers without the length of the body."""
    return [header for header in headers if header[0] != b"content-length"]


def _switches(request: Request, response: Response) -> bool:
    """True if a connection goes on in another protocol: a command's or port's, or a watch by messages."""
    if response.stream is None:
        return response.upgrade is not None
    return asks_for_websocket(request.headers)


def _parts(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request's target."""
    if url.startswith(b"/"):
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""


async def _after(drive: Any, state: RequestState, then: Next, _: Any, receive: Any, send: Any) -> None:
    """An ASGI application that goes on with a request, which it knows already."""
    await drive(state, then, receive, send)
