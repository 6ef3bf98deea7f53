"""Turns of the threads that compute for long: one of them at a time, in the order in which they ask.

Threads of one interpreter cannot compute at once. Each further one that wants to makes an event loop wait longer, as it
asks for the interpreter several times for each request. So the threads take turns of some milliseconds, and a loop has
to wait for one of them at most. A turn is a courtesy and no lock: whoever waited for a while goes on without it. So
nobody waits for a thread that itself waits for another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")
PATIENCE: Final = 0.1
"""Seconds after which a thread goes on without its turn."""


class _Own(threading.local):
    turn = False


class Turns:
    """Turns of any number of threads.

    Parameters
    ----------
    patience
        Seconds after which a thread goes on without its turn.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience, self._own = patience, _Own()
        self._lock, self._taken = threading.Lock(), False
        self._waiting: deque[threading.Lock] = deque()

    def take(self, step: Callable[[], T]) -> T:
        """The result of a step that is done in this thread's turn."""
        self._enter()
        try:
            return step()
        finally:
            self._leave()

    def pass_on(self) -> None:
        """Let the threads that wait have their turns before this one goes on."""
        if self._own.turn and self._waiting:
            self._leave()
            self._enter()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A context in which this thread waits for something outside, and others have their turns."""
        had = self._own.turn
        self._leave()
        try:
            yield
        finally:
            if had:
                self._enter()

    def _enter(self) -> None:
        with self._lock:
            if not self._taken:
                self._taken = self._own.turn = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        came = mine.acquire(timeout=self._patience)
        if not came:
            with self._lock:
                came = mine not in self._waiting  # it was given between the two lines
                if not came:
                    self._waiting.remove(mine)
        self._own.turn = came

    def _leave(self) -> None:
        if not self._own.turn:
            return
        self._own.turn = False
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


TURNS: Final = Turns()
"""Those of this process."""
