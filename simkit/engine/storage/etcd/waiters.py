"""Threads that wait for a revision: each is woken once, when its revision has come."""

from __future__ import annotations

import threading
from heapq import heappop, heappush
from itertools import count

from simkit.meta.pausing import Waitable, pausable_step


class RevisionWaiters:
    """The waiters of each revision.

    Notes
    -----
    One condition for all would wake every thread at every revision, which costs more the more threads write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reached = 0
        self._waiting: list[tuple[int, int, Waitable]] = []
        self._numbers = count()

    @property
    def reached(self) -> int:
        """The revision that has come last."""
        return self._reached

    @property
    def waiting(self) -> int:
        """The number of threads that wait."""
        return len(self._waiting)

    def reach(self, revision: int) -> None:
        """Wake all who wait for a revision up to this one."""
        with self._lock:
            self._reached = revision
            while self._waiting and self._waiting[0][0] <= revision:
                heappop(self._waiting)[2].set()

    def wait(self, revision: int, seconds: float) -> bool:
        """Wait until a revision has come, at most some seconds; True if it has."""
        step = pausable_step()
        come: Waitable = threading.Event() if step is None else step.event()
        with self._lock:
            if self._reached >= revision:
                return True
            heappush(self._waiting, (revision, next(self._numbers), come))
        if not come.wait(seconds):
            with self._lock:
                self._waiting = sorted(each for each in self._waiting if each[2] is not come)
        return self._reached >= revision

    def wake_all(self) -> None:
        """Wake everybody, since no revision will come any more."""
        with self._lock:
            for _, _, come in self._waiting:
                come.set()
            self._waiting.clear()
