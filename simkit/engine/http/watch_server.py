"""Delivery of watches to clients: one wake-up of an event loop for all of them."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

from simkit.engine.http.request_state import WatchStream

# One wake-up of an event loop for all its waiting watches, for any number of writes

Signal = asyncio.Future[None]
SLICE: Final = 0.004
"""Seconds of a turn of the loop that its watches take together."""
_MOST: Final = 64
"""Watches that go on in one turn of the loop, however little each of them does."""


class LoopBroadcaster:
    """The wake-ups of one event loop. ``wake`` may be called from any thread; the rest only from the loop's own.

    However many streams wait and however often ``wake`` is called, the loop is interrupted once until it has run them.
    It runs a portion of them in each of its turns, so that thousands of watches keep no other request waiting.

    Parameters
    ----------
    clock
        Seconds, by which turns of the loop are measured.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = perf_counter) -> None:
        self._loop, self._clock = loop, clock
        self._due = False
        self._waiting: dict[Signal, None] = {}
        self._called: deque[Signal] = deque()
        """Those that go on in one of the next turns, in their order."""
        self._scheduled = False
        self._portion = 1
        self._began = 0.0
        """The time at which the last portion was let go on."""

    def wake(self) -> None:
        """Make every waiting stream poll soon."""
        if self._due:
            return
        self._due = True
        try:
            self._loop.call_soon_threadsafe(self._fire)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._due = False

    def _fire(self) -> None:
        self._due = False  # before anybody looks: what a writer announces from here on wakes the loop again
        waiting, self._waiting = self._waiting, {}
        self._call(waiting)

    def _call(self, signals: Iterable[Signal]) -> None:
        self._called.extend(signals)
        if self._called and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._let_go_on)

    def _next(self) -> None:
        """Let the next portion go on, which is as large as what the last one took allows."""
        taken = self._clock() - self._began
        if taken > SLICE:
            self._portion = max(1, self._portion // 2)
        elif taken < SLICE / 2:
            self._portion = min(_MOST, 2 * self._portion)
        self._let_go_on()

    def _let_go_on(self) -> None:
        for _ in range(min(self._portion, len(self._called))):
            resolve(self._called.popleft())
        self._scheduled = bool(self._called)
        if self._scheduled:
            self._began = self._clock()
            self._loop.call_soon(self._next)  # behind those that go on now

    async def turn(self) -> None:
        """Return in one of the loop's next turns, behind the streams that go on before."""
        signal = self._loop.create_future()
        self._call((signal,))
        await signal

    async def news(self, signal: Signal, timeout: float) -> None:
        """Return at the next wake-up, or after some seconds."""
        self._waiting[signal] = None
        timer = self._loop.call_later(timeout, self._call, (signal,))
        try:
            await signal
        finally:
            timer.cancel()
            self._waiting.pop(signal, None)


def resolve(signal: Signal) -> None:
    """Wake the coroutine that awaits the signal."""
    if not signal.done():
        signal.set_result(None)


# Delivery of one watch to one client: polled while the client reads, ended when either side has enough.
# References: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (``WatchServer``), release 1.30.

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]

BATCH: Final = 512
"""The most frames taken from a stream at once."""
CHUNK: Final = 64 * 1024
"""The most bytes sent at once: small frames are joined, and a larger one is sent in pieces, as the client reads."""
SHORTEST_WATCH: Final = 1800
"""The least seconds of a watch without a timeout; at most twice as long, so that not all end at once."""
BOOKMARK_EVERY: Final = 60.0
LAST_BOOKMARK: Final = 2.0
"""Seconds before the end of a watch at which it gets a last bookmark, from which the next one can start."""

LINGER: Final = 1.0
"""Seconds after its end that a watch waits for the client to read."""


class WatchServer:
    """The delivery of a stream's frames until it ends, times out, the client disconnects, or the server stops.

    Nothing is taken from the stream before the transport has room, so a slow reader holds at most one batch of frames
    and neither delays a writer nor makes memory grow; the stream itself notices when it was overtaken. Who does not
    read when the time is up is told of no end: its connection is cut, where the server under us knows how (``cut``).
    Frames are made in the loop's thread, or by ``run`` on others. They are sent ``together`` or each by itself.
    """

    def __init__(
        self,
        stream: WatchStream,
        waker: LoopBroadcaster,
        *,
        shortest: float = SHORTEST_WATCH,
        cut: Callable[[], None] | None = None,
        run: Callable[[Callable[[], list[bytes]]], Awaitable[list[bytes]]] | None = None,
        together: bool = True,
    ) -> None:
        self._stream, self._waker, self._shortest, self._cut = stream, waker, shortest, cut
        self._run = run
        self._chunks: Callable[[Sequence[bytes]], Iterator[bytes]] = pieces if together else iter
        self._signal: Signal | None = None
        self._over = False

    def stop(self, *_: object) -> None:
        """End the delivery soon; from the loop's thread."""
        self._over = True
        if self._signal is not None:
            resolve(self._signal)

    async def run(self, receive: Receive, send: Send) -> bool:
        """Deliver all frames; True if the client is still connected to read the end."""
        gone = asyncio.ensure_future(disconnected(receive))
        gone.add_done_callback(self.stop)
        try:
            self._stream.on_change(self._waker.wake)
            await self._pump(send)
            return not gone.done()
        finally:
            self._stream.close()
            gone.remove_done_callback(self.stop)
            gone.cancel()

    async def _pump(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        told = self._stream.deadline
        end = loop.time() + (self._shortest * (1 + random.random()) if told is None else told)
        last = loop.call_at(end + LINGER, self._cut) if self._cut is not None else None
        try:
            await self._pump_until(end, send)
        finally:
            if last is not None:
                last.cancel()

    async def _pump_until(self, end: float, send: Send) -> None:
        loop = asyncio.get_running_loop()
        mark = _next_mark(loop.time(), end)
        while not self._over:
            now = loop.time()
            frames = await self._polled()
            if not frames and self._stream.closed:
                return
            if not frames and now >= mark:
                frames, mark = self._stream.bookmark(), _next_mark(now, end)
            if frames:
                await self._write(frames, send)
                await self._waker.turn()
            elif self._stream.behind:
                await self._waker.turn()
            elif now < end:
                self._signal = loop.create_future()
                await self._waker.news(self._signal, min(end, mark) - now)
            if now >= end:
                return

    async def _polled(self) -> list[bytes]:
        if self._run is not None:
            return await self._run(partial(self._stream.poll, BATCH))
        return self._stream.poll(BATCH)

    async def _write(self, frames: Sequence[bytes], send: Send) -> None:
        for chunk in self._chunks(frames):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if self._over:
                return
        # Sending waits until what was sent before has left; an empty message is that wait and nothing else.
        await send({"type": "http.response.body", "body": b"", "more_body": True})


def pieces(frames: Sequence[bytes]) -> Iterator[bytes]:
    """The frames in chunks that are no larger than what is sent at once."""
    for chunk in joined(frames):
        if len(chunk) <= CHUNK:
            yield chunk
        else:
            yield from (chunk[start : start + CHUNK] for start in range(0, len(chunk), CHUNK))


def joined(frames: Sequence[bytes]) -> Iterator[bytes]:
    """The frames joined into chunks.

    Examples
    --------
    >>> list(joined([b"a", b"b"]))
    [b'ab']
    """
    if len(frames) == 1:
        yield frames[0]
        return
    pending: list[bytes] = []
    size = 0
    for frame in frames:
        if pending and size + len(frame) > CHUNK:
            yield b"".join(pending)
            pending, size = [], 0
        pending.append(frame)
        size += len(frame)
    if pending:
        yield b"".join(pending)


def _next_mark(now: float, end: float) -> float:
    """The time of the next bookmark; a watch that had one shortly before its end gets no last one."""
    last = end - LAST_BOOKMARK
    return min(now + BOOKMARK_EVERY, last) if now < last else now + BOOKMARK_EVERY


async def disconnected(receive: Receive) -> None:
    """Return when the client disconnects; further data from it is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
