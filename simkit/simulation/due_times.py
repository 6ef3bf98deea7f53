"""The times at which objects are looked at again without a change."""

from __future__ import annotations

from functools import partial
from heapq import heapify, heappop, heappush

from simkit.meta.names import Key


class DueTimes:
    """One time for each key; a later one replaces it."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []

    def copy_from(self, other: DueTimes) -> None:
        """Have the same times."""
        self._due = dict(other._due)
        self._heap = [(when, key) for key, when in self._due.items()]
        heapify(self._heap)

    @property
    def first(self) -> float | None:
        """The earliest time."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def set(self, key: Key, when: float | None) -> None:
        """Look at a key at a time; None: leave it as it is."""
        if when is not None:
            self._due[key] = when
            heappush(self._heap, (when, key))

    def drop(self, key: Key) -> None:
        """Do not look at a key any more."""
        self._due.pop(key, None)

    def take(self, now: float) -> Key | None:
        """The next key whose time has come; it stays until it is dropped or set again. None: there is none."""
        while self._heap and self._heap[0][0] <= now:
            when, key = heappop(self._heap)
            if self._due.get(key) == when:
                return key
        return None

    def overdue(self, now: float) -> list[Key]:
        """All keys whose time has come, in order, as ``take`` gives them."""
        return list(iter(partial(self.take, now), None))
