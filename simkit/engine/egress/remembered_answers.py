"""Answers of services that are remembered for a time, in a bounded number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

from simkit.meta.clock import Clock

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of the questions and answers of one service together."""
LARGEST: Final = 1024 * 1024
"""Bytes of a question and its answer that are remembered."""
T = TypeVar("T")


class RememberedAnswers(Generic[T]):
    """Answers by their questions, each until its time; the oldest make room for new ones.

    Parameters
    ----------
    clock
        On which answers are forgotten.
    most
        How many there may be.

    Notes
    -----
    Threads may share it. Each operation is in constant time.

    Examples
    --------
    >>> from simkit.meta.clock import SimulatedClock
    >>> answers = RememberedAnswers[str](SimulatedClock(), 2)
    >>> for question in "abc":
    ...     answers.keep(question, question.upper(), seconds=10, size=2)
    >>> answers.get("a"), answers.get("c")
    (None, ('C',))
    """

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock, self._most = clock, most
        self._kept: OrderedDict[Hashable, tuple[float, int, T]] = OrderedDict()
        self._lock = Lock()
        self.size = 0
        """Bytes that are remembered."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, question: Hashable) -> tuple[T] | None:
        """The answer, by itself in a tuple; None if there is none, or its time has passed."""
        known = self._kept.get(question)
        return (known[2],) if known is not None and self._clock.now() < known[0] else None

    def keep(self, question: Hashable, answer: T, *, seconds: float, size: int) -> None:
        """Remember an answer, unless it is too large. ``size`` is in bytes, its question included."""
        with self._lock:
            self._forget(question)
            if size > LARGEST:
                return
            self._kept[question] = (self._clock.now() + seconds, size, answer)
            self.size += size
            while len(self._kept) > self._most or self.size > MOST_BYTES:
                self._forget(next(iter(self._kept)))

    def _forget(self, question: Hashable) -> None:
        known = self._kept.pop(question, None)
        if known is not None:
            self.size -= known[1]
