"""One wake-up of an event loop for all its waiting watches, for any number of writes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final

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
