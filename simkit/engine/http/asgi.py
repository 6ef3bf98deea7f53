"""The ASGI application: the only asynchronous code of the engine."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from simkit.engine.http import compression
from simkit.engine.http.broadcaster import LoopBroadcaster, resolve
from simkit.engine.http.exchange import Exchange
from simkit.engine.http.handler import Handler, QueuedRequest
from simkit.engine.http.message import (
    audit_id,
    error_response,
    parse_headers,
    parse_query,
    response_headers,
    too_late,
)
from simkit.engine.http.watch_server import SHORTEST_WATCH, Receive, Send, WatchServer, disconnected
from simkit.meta.duration import seconds
from simkit.meta.message import Request, Response

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Cut = Callable[[], None] | None
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})


class Application:
    """Answers HTTP requests from an engine.

    Parameters
    ----------
    engine
        Called inline, in the event loop's thread, unless it says that a request may block.
    compress
        Whether large answers are compressed for clients that take it (the feature gate APIResponseCompression).
    threads
        How many blocking requests may run at once: more than there are seats, since seats are given out by priority
        and fairness, and threads to whoever comes first.
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
        threads: int = 704,
        patience: float = 60.0,
        shortest_watch: float = SHORTEST_WATCH,
    ) -> None:
        self.engine = engine
        self._compress, self._patience, self._shortest_watch = compress, patience, shortest_watch
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="simkit-blocking")
        self._wakers: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopBroadcaster] = WeakKeyDictionary()
        self._deliveries: set[WatchServer] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of an ASGI server."""
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} connections here")
        request = _request(scope)
        if not _may_have_body(request):
            await receive()
            await self.reply(request, partial(self.engine.answer, request), receive, send)
            return
        exchange = Exchange(self.engine)
        begun = await self._step(request, partial(exchange.begin, request))
        if isinstance(begun, Response):
            if "expect" in request.headers:
                begun.headers.append(("Connection", "close"))  # whether its body comes, nobody can tell
            await self.finish(request, begun, receive, send)
        elif not await _read(exchange, receive):
            await self._step(request, partial(exchange.give_up, gone=True))
        else:
            await self.reply(request, partial(exchange.finish, request), receive, send)

    async def reply(
        self,
        request: Request,
        step: Callable[[], Response | QueuedRequest],
        receive: Receive,
        send: Send,
        *,
        cut: Cut = None,
    ) -> None:
        """Run a step of the engine, on a worker thread where it may block, and send its answer."""
        response = await self._step(request, step)
        if isinstance(response, Response):
            await self.finish(request, response, receive, send, cut=cut)
        else:
            await self.resume(request, response, receive, send, cut=cut)

    async def resume(
        self, request: Request, waiting: QueuedRequest, receive: Receive, send: Send, *, cut: Cut = None
    ) -> None:
        """Wait for a seat without a thread, then run the request."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()

        def wake() -> None:
            loop.call_soon_threadsafe(resolve, ready)

        waiting.on_ready(wake)
        timer = loop.call_later(waiting.patience, waiting.give_up)
        gone = asyncio.ensure_future(disconnected(receive))
        gone.add_done_callback(lambda _: waiting.give_up(gone=True))
        try:
            await ready
        finally:
            timer.cancel()
            gone.cancel()
        response = await self._step(request, waiting.go_on)
        await self.finish(request, response, receive, send, cut=cut)

    async def _step(self, request: Request, step: Callable[[], T]) -> T | Response:
        """The result of a step of the engine, on a worker thread where it may block."""
        return await self._elsewhere(request, step) if self.engine.blocking(request) else step()

    async def _elsewhere(self, request: Request, step: Callable[[], T]) -> T | Response:
        """The result of a step on a worker thread, or the refusal of a request that takes too long."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, step)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._patience_with(request))
        except TimeoutError:
            future.add_done_callback(_let_go)
            return error_response(too_late())

    def _patience_with(self, request: Request) -> float:
        """Seconds that a request may take: its own timeout, if that is less than the default."""
        wanted = _timeout(request.option("timeout")) if "timeout" in request.query else 0
        return min(wanted, self._patience) if wanted > 0 else self._patience

    async def finish(
        self, request: Request, response: Response, receive: Receive, send: Send, *, cut: Cut = None
    ) -> None:
        """Send an answer of the engine; ``cut`` ends the connection of a client that does not read it."""
        if response.stream is not None:
            await self._deliver(request, response, receive, send, cut)
            return
        if self.compresses(request, response):
            response = compression.replace_body(response, await self._compressed(response.body))
        headers = response_headers(response, audit_id(request), length=len(response.body))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        body = b"" if request.method == "HEAD" else response.body
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def compresses(self, request: Request, response: Response) -> bool:
        """True if the body of this answer is compressed."""
        return self._compress and compression.wanted(request, response)

    async def _compressed(self, body: bytes) -> bytes:
        if len(body) <= compression.INLINE:
            return compression.compressed(body)
        return await asyncio.get_running_loop().run_in_executor(self._threads, compression.compressed, body)

    async def _deliver(self, request: Request, response: Response, receive: Receive, send: Send, cut: Cut) -> None:
        delivery = WatchServer(response.stream, self._waker(), shortest=self._shortest_watch, cut=cut)
        self._deliveries.add(delivery)
        headers = response_headers(response, audit_id(request), length=None)
        try:
            if self._stopping:
                delivery.stop()
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            if await delivery.run(receive, send):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._deliveries.discard(delivery)
            response.stream.close()

    def _waker(self) -> LoopBroadcaster:
        loop = asyncio.get_running_loop()
        return self._wakers.get(loop) or self._wakers.setdefault(loop, LoopBroadcaster(loop))

    def end_streams(self, over: float = 0.0) -> None:
        """End all watches over some seconds, from the loop's thread, because the server stops."""
        self._stopping = True
        deliveries = tuple(self._deliveries)
        for number, delivery in enumerate(deliveries):
            if over:
                asyncio.get_running_loop().call_later(over * number / len(deliveries), delivery.stop)
            else:
                delivery.stop()

    def close(self) -> None:
        """Release the worker threads without waiting for requests that still run on them."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _timeout(text: str) -> float:
    """Seconds of a duration text; 0 for a text that is no duration, which the engine refuses."""
    try:
        return seconds(text)
    except ValueError:
        return 0.0


def _let_go(future: asyncio.Future[Any]) -> None:
    """Close a stream that came after its reader had gone."""
    if future.cancelled() or future.exception() is not None:
        return
    late = future.result()
    if not isinstance(late, Response):
        late.give_up(gone=True)
    elif late.stream is not None:
        late.stream.close()


def _request(scope: Scope) -> Request:
    """The request without its body."""
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return Request(
        scope["method"],
        raw_path.partition(b"?")[0].decode("latin-1"),
        parse_query(scope.get("query_string", b"")),
        parse_headers(scope["headers"]),
        b"",
        _chain(scope.get("extensions") or {}),
        (scope.get("client") or ("",))[0],
    )


def _may_have_body(request: Request) -> bool:
    """True if a body may follow the headers; not every version of HTTP announces it in them."""
    return request.method not in _READING or not _LENGTHS.isdisjoint(request.headers)


def _chain(extensions: Mapping[str, Any]) -> tuple[bytes, ...]:
    """The peer's certificates in DER form; the protocol's extension holds them as PEM texts."""
    chain: Iterable[str] = (extensions.get("tls") or {}).get("client_cert_chain") or ()
    return tuple(ssl.PEM_cert_to_DER_cert(pem) for pem in chain)


async def _read(exchange: Exchange, receive: Receive) -> bool:
    """Read the body into an exchange, of a too long one only the beginning; True if the client is still connected."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return False
        more = exchange.take(message.get("body", b""))
        if not more or not message.get("more_body", False):
            return True
