"""The ASGI application: the only asynchronous code of the engine."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from simkit.engine.http import message
from simkit.engine.http.loop_turns import COMPUTING, Refreshing, WorkerThreads, pausing
from simkit.engine.http.message import audit_id, error_response, no_room, parse_headers, parse_query, response_headers
from simkit.engine.http.request_state import (
    REQUEST_SECONDS,
    ExecutionMode,
    Handler,
    Next,
    Refresh,
    RequestState,
    WatchStream,
    Work,
    release,
)
from simkit.engine.http.watch_server import (
    SHORTEST_WATCH,
    LoopBroadcaster,
    Receive,
    Send,
    WatchServer,
    disconnected,
)
from simkit.meta.deadline import Deadline, too_late
from simkit.meta.errors import StatusError, bad_request
from simkit.meta.message import DROPPED, Request, Response

Scope = MutableMapping[str, Any]
Cut = Callable[[], None] | None
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})
LARGE_HEAD: Final = 4096
"""Bytes of a request line and headers above which they are not taken apart in the loop's thread."""
PIECE: Final = 256 * 1024
"""Bytes of an answer that are handed on at once: to encrypt all of a long one would take the loop for too long."""
MOST_UNREAD: Final = 512 * 1024 * 1024
"""Bytes of long answers that are being sent at once, to all clients together; beyond that, further ones get 429."""


class Application:
    """Answers HTTP requests from an engine.

    Parameters
    ----------
    engine
        Called inline, in the event loop's thread, unless it says that a request belongs elsewhere.
    compress
        Whether large answers are compressed for clients that take it (the feature gate APIResponseCompression).
    patience
        Seconds that a request may take which is neither a watch nor a connection.
    shortest_watch
        Seconds that a watch without a time of its own lasts at least.

    Notes
    -----
    Runs under any ASGI server; client certificates are taken from the TLS extension of the protocol.
    """

    def __init__(
        self,
        engine: Handler,
        *,
        compress: bool = True,
        patience: float = REQUEST_SECONDS,
        shortest_watch: float = SHORTEST_WATCH,
    ) -> None:
        self.engine = engine
        self._compress, self._patience, self._shortest_watch = compress, patience, shortest_watch
        self._threads = WorkerThreads(COMPUTING)
        self._wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopBroadcaster] = WeakKeyDictionary()
        self._refreshes: WeakKeyDictionary[asyncio.AbstractEventLoop, Refreshing] = WeakKeyDictionary()
        self._deliveries: set[WatchServer] = set()
        self._unread = 0
        """Bytes of long answers that are being sent."""
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of an ASGI server."""
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} connections here")
        state = self.new_state()
        request = await self._request(scope)
        if not _may_have_body(request):
            await receive()
            await self.drive(state, state.end(request), receive, send)
            return
        await self.begin(state, state.begin(request), receive, send)

    async def _request(self, scope: Scope) -> Request:
        """The request without its body; taking a large head apart is a work by itself."""
        size = _head_size(scope)
        if size <= LARGE_HEAD:
            return _request(scope, size)
        return await self._threads.run(ExecutionMode.COMPUTING, partial(_request, scope, size))

    def at_once(self, request: Request) -> Response | None:
        """The answer to a request that takes next to no time; None if it needs a state machine."""
        return self.engine.at_once(request)

    def new_state(self) -> RequestState:
        """The state machine of a new request."""
        return RequestState(self.engine, self._patience)

    async def begin(self, state: RequestState, then: Next, receive: Receive, send: Send, *, cut: Cut = None) -> None:
        """Find out whether a request may be made whose body is still to come, read it, and have it answered."""
        request = state.request
        assert request is not None
        if isinstance(then, Work):
            then = await self._run(state, then)
        if isinstance(then, Response):
            if "expect" in request.headers:
                then.headers.append(("Connection", "close"))  # whether its body comes, nobody can tell
            await self._finish(request, then, receive, send, cut)
        elif not await _read(state, receive):
            state.gone()
        else:
            await self.drive(state, state.end(request), receive, send, cut=cut)

    async def drive(self, state: RequestState, then: Next, receive: Receive, send: Send, *, cut: Cut = None) -> None:
        """Do what a request whose body was read asks for, until it is answered.

        Parameters
        ----------
        cut
            Ends the connection of a client that does not read its watch.
        """
        response = await self.settle(state, then, receive)
        assert state.request is not None
        await self._finish(state.request, response, receive, send, cut)

    async def settle(self, state: RequestState, then: Next, receive: Receive) -> Response:
        """The answer to a request whose body was read, once all that it asks for is done."""
        if isinstance(then, Refresh):
            then = then.then() if await self._refreshing().refreshed() else then.otherwise
        if isinstance(then, Work):
            then = await self._watched(state, then, receive)
        assert isinstance(then, Response)
        return then

    async def _watched(self, state: RequestState, work: Work, receive: Receive) -> Next:
        """Have a piece of work done, which ends early if the client leaves; one that pauses in the loop goes on."""
        if work.execution_mode is ExecutionMode.PAUSING:
            return await self._run(state, work)
        gone = asyncio.ensure_future(disconnected(receive))
        gone.add_done_callback(partial(_end, work.deadline))
        try:
            return await self._run(state, work)
        finally:
            gone.cancel()

    async def _run(self, state: RequestState, work: Work) -> Next:
        """Have a piece of work done where it belongs; gives what is next, a refusal where it takes too long."""
        if work.execution_mode is ExecutionMode.PAUSING:
            return state.done(await pausing(work.step, work.seconds, too_late))
        future = self._threads.start(work)
        if future is None:
            return state.crowded()
        try:
            outcome = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), work.seconds)
        except TimeoutError:
            work.deadline.end()
            if not future.cancel():
                future.add_done_callback(_let_go)
            return state.expired()
        except StatusError as error:  # nobody waited any more when its turn came
            return state.fail(error)
        return state.done(outcome)

    async def load(self, module: str) -> None:
        """Have a module loaded that is needed now, without keeping others waiting."""
        await self._threads.run(ExecutionMode.COMPUTING, partial(import_module, module))

    async def _finish(self, request: Request, response: Response, receive: Receive, send: Send, cut: Cut) -> None:
        """Send an answer that the engine has given."""
        if response.upgrade is not None:  # who serves this connection cannot change its protocol
            response = error_response(bad_request("unable to upgrade this connection"))
        if response.status == DROPPED and cut is not None:
            cut()
            await disconnected(receive)
            return
        if response.stream is not None:
            await self._deliver(request, response, receive, send, cut)
            return
        if self._compresses(request, response):
            response = message.replace_body(response, await self._compressed(response.body))
        if len(response.body) > PIECE and self._unread and self._unread + len(response.body) > MOST_UNREAD:
            response = error_response(no_room())
        headers = response_headers(response, audit_id(request), length=len(response.body))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        body = memoryview(b"" if request.method == "HEAD" else response.body)
        with self._held(len(body), cut) if len(body) > PIECE else nullcontext():
            while len(body) > PIECE:  # each waits until the client has read the ones before: others are served
                await send({"type": "http.response.body", "body": body[:PIECE], "more_body": True})
                body = body[PIECE:]
            await send({"type": "http.response.body", "body": bytes(body), "more_body": False})

    @contextmanager
    def _held(self, size: int, cut: Cut) -> Iterator[None]:
        """Count a long answer while it is sent, which may take no longer than a request."""
        self._unread += size
        timer = asyncio.get_running_loop().call_later(self._patience, cut) if cut is not None else None
        try:
            yield
        finally:
            self._unread -= size
            if timer is not None:
                timer.cancel()

    def is_brief(self, request: Request, response: Response) -> bool:
        """True if an answer can be written at once, as it is."""
        return response.stream is None and len(response.body) <= PIECE and not self._compresses(request, response)

    def _compresses(self, request: Request, response: Response) -> bool:
        return self._compress and message.wanted(request, response)

    async def _compressed(self, body: bytes) -> bytes:
        if len(body) <= message.INLINE:
            return message.compressed(body)
        return await self._threads.run(ExecutionMode.COMPUTING, partial(message.compressed, body))

    async def _deliver(self, request: Request, response: Response, receive: Receive, send: Send, cut: Cut) -> None:
        headers = response_headers(response, audit_id(request), length=None)
        with self._delivery(response.stream, cut) as delivery:
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            if await delivery.run(receive, send):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def deliver_messages(
        self, stream: WatchStream, receive: Receive, send: Send, cut: Callable[[], None]
    ) -> None:
        """Deliver a watch whose events are messages, until it ends or the client is gone."""
        with self._delivery(stream, cut, together=False) as delivery:
            await delivery.run(receive, send)

    @contextmanager
    def _delivery(self, stream: WatchStream, cut: Cut, *, together: bool = True) -> Iterator[WatchServer]:
        execution_mode = ExecutionMode.of(computes=stream.computes, waits=stream.blocks)
        run = None if execution_mode is ExecutionMode.INLINE else partial(self._threads.run, execution_mode)
        shortest = self._shortest_watch
        delivery = WatchServer(stream, self._waker(), shortest=shortest, cut=cut, run=run, together=together)
        self._deliveries.add(delivery)
        try:
            if self._stopping:
                delivery.stop()
            yield delivery
        finally:
            self._deliveries.discard(delivery)
            stream.close()

    def _refreshing(self) -> Refreshing:
        loop = asyncio.get_running_loop()
        known = self._refreshes
        return known.get(loop) or known.setdefault(loop, Refreshing(self.engine.refresh, self._patience))

    def _waker(self) -> LoopBroadcaster:
        loop = asyncio.get_running_loop()
        return self._wakers.get(loop) or self._wakers.setdefault(loop, LoopBroadcaster(loop))

    def end_streams(self) -> None:
        """End all watches, from the loop's thread, because the server stops."""
        self._stopping = True
        for delivery in tuple(self._deliveries):
            delivery.stop()

    def close(self) -> None:
        """Let go of the worker threads; requests that still run on them are not waited for."""
        self._threads.close()


def _end(deadline: Deadline, gone: asyncio.Future[None]) -> None:
    if not gone.cancelled():
        deadline.end()


def _let_go(future: Future[Any]) -> None:
    """Close what came too late for anybody to read it."""
    if not future.cancelled() and future.exception() is None:
        release(future.result())


def _head_size(scope: Scope) -> int:
    sizes = sum(len(name) + len(value) for name, value in scope["headers"])
    return sizes + len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b""))


def _request(scope: Scope, head_size: int) -> Request:
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return Request(
        scope["method"],
        raw_path.partition(b"?")[0].decode("latin-1"),
        parse_query(scope.get("query_string", b"")),
        parse_headers(scope["headers"]),
        b"",
        _chain(scope.get("extensions") or {}),
        (scope.get("client") or ("",))[0],
        head_size,
    )


def _may_have_body(request: Request) -> bool:
    """True if a body may follow the headers; not every version of HTTP announces it in them."""
    return request.method not in _READING or not _LENGTHS.isdisjoint(request.headers)


def _chain(extensions: Mapping[str, Any]) -> tuple[bytes, ...]:
    """The peer's certificates in DER form; the protocol's extension holds them as PEM texts."""
    chain: Iterable[str] = (extensions.get("tls") or {}).get("client_cert_chain") or ()
    return tuple(ssl.PEM_cert_to_DER_cert(pem) for pem in chain)


async def _read(state: RequestState, receive: Receive) -> bool:
    """Read the body of a request; only the beginning of one that is too long; True if the client is still connected."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return False
        more = state.take(message.get("body", b""))
        if not more or not message.get("more_body", False):
            return True
