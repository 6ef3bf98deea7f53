"""Turns in which the connections of one event loop go on with what they have received, one behind the other.

However many clients send more than can be answered in a millisecond, a turn of the loop spends a few on all of them
together. So clients that send one request wait no longer for a hundred such clients than for one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final
from weakref import WeakKeyDictionary

SLICE: Final = 0.001
"""Seconds for which requests of one connection are answered, one behind the other; those of all that wait likewise."""


class ReadingTurns:
    """The connections of one loop that have received more than was parsed. Used in the loop's thread.

    Parameters
    ----------
    clock
        Seconds, by which slices are measured.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    @property
    def crowded(self) -> bool:
        """True if others wait already, behind whom whoever comes with much has to wait."""
        return bool(self._waiting)

    def later(self, loop: asyncio.AbstractEventLoop, go_on: Callable[[], None]) -> None:
        """Have a connection go on in one of the loop's next turns, behind those that wait already."""
        self._waiting.append(go_on)
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let those that wait go on: at least one of them, and none twice."""
        enough = self._clock() + SLICE
        try:
            for _ in range(len(self._waiting)):
                self._waiting.popleft()()
                if self._clock() > enough:
                    break
        finally:
            self._scheduled = bool(self._waiting)
            if self._scheduled:
                loop.call_soon(self._turn, loop)


_OF_LOOPS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, ReadingTurns]] = WeakKeyDictionary()


def reading_turns(loop: asyncio.AbstractEventLoop) -> ReadingTurns:
    """The turns of the connections of a loop."""
    return _OF_LOOPS.get(loop) or _OF_LOOPS.setdefault(loop, ReadingTurns())
