"""One wake-up of an event loop for all its waiting watches, for any number of writes."""

from __future__ import annotations

import asyncio

Signal = asyncio.Future[None]


class LoopBroadcaster:
    """The wake-ups of one event loop. ``wake`` may be called from any thread; the rest only from the loop's own.

    However many streams wait and however often ``wake`` is called, the loop is interrupted once until it has run them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = False
        self._waiting: dict[Signal, None] = {}

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
        for signal in waiting:
            resolve(signal)

    async def news(self, signal: Signal, timeout: float) -> None:
        """Return at the next wake-up, or after some seconds."""
        self._waiting[signal] = None
        timer = self._loop.call_later(timeout, resolve, signal)
        try:
            await signal
        finally:
            timer.cancel()
            self._waiting.pop(signal, None)


def resolve(signal: Signal) -> None:
    """Wake the coroutine that awaits the signal."""
    if not signal.done():
        signal.set_result(None)
