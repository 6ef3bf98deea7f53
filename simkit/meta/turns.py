"""Turns of threads that compute, so that a thread that is short of time meets one of them at most.

Python's interpreter serves one thread at a time. A thread that wants it from one that computes gets it a fraction of a
millisecond later; where several compute, they take it from each other meanwhile, and it waits several times as long,
each time it reads or writes. An event loop reads and writes some ten times a turn. So of the threads that work beside
it one computes, and passes its turn on where it looks at its deadline (see ``deadline``).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
SLICE: Final = 0.01
"""Seconds after which a thread lets another one compute."""
PATIENCE: Final = 1.0
"""Seconds after which a thread goes on without a turn: whoever has it may be waiting for what this thread holds. At
each later look it waits for the length of a turn."""


class _Mine(threading.local):
    until: float | None = None
    """The time at which the turn of this thread is over; None if it has none."""
    without: bool = False
    """True if it goes on without a turn."""


class Turns:
    """One turn, which threads pass on in the order in which they asked for it.

    Parameters
    ----------
    length
        Seconds of a turn while others wait.
    patience
        Seconds for which a thread waits at first; then it computes without a turn, and asks again.
    """

    def __init__(self, length: float = SLICE, patience: float = PATIENCE) -> None:
        self._length, self._patience = length, patience
        self._lock, self._taken, self._mine = threading.Lock(), False, _Mine()
        self.waiting: deque[threading.Lock] = deque()
        """A lock for each thread that waits, which is released when its turn has come."""
        self.crowded = 0
        """Threads that compute without a turn."""

    def within(self, step: Callable[[], T]) -> T:
        """The result of a step, during which this thread computes in turns with others."""
        self._take(self._patience)
        try:
            return step()
        finally:
            self._give()

    def pass_on(self) -> None:
        """Let others compute if this thread's turn is over; worth a call only where somebody waits, or has no turn."""
        until = self._mine.until
        if self._mine.without:
            self._give()
            self._take(self._length)
        elif until is not None and time.monotonic() > until:
            self._give()
            self._take(self._patience)

    def _take(self, patience: float) -> None:
        if self._is_next(patience):
            self._mine.until = time.monotonic() + self._length
        else:
            self._mine.without = True
            with self._lock:
                self.crowded += 1

    def _is_next(self, patience: float) -> bool:
        """True once it is this thread's turn; False if that takes too long."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            called = threading.Lock()
            called.acquire()
            self.waiting.append(called)
        if called.acquire(timeout=patience):
            return True
        with self._lock:
            if called not in self.waiting:
                return True
            self.waiting.remove(called)
        return False

    def _give(self) -> None:
        mine = self._mine
        without, mine.without = mine.without, False
        until, mine.until = mine.until, None
        with self._lock:
            if without:
                self.crowded -= 1
            elif until is None:
                return
            elif self.waiting:
                self.waiting.popleft().release()
            else:
                self._taken = False


TURNS: Final = Turns()
"""Those of this process's interpreter."""
