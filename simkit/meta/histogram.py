"""Histograms: how many values fell below each bound, and their sum."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

Labels = tuple[str, ...]


class Histogram:
    """Counts of values by the first bound that is not below them, and the sum of the values.

    Examples
    --------
    >>> seen = Histogram((0.1, 1.0))
    >>> for value in (0.1, 0.2, 5.0):
    ...     seen.add(value)
    >>> seen.counts, seen.count, seen.total
    ([1, 1, 1], 3, 5.3)
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.total = bounds, 0.0
        self.counts = [0] * (len(bounds) + 1)

    def add(self, value: float) -> None:
        """Count a value. Not thread-safe."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)

    def clear(self) -> None:
        """Forget all values."""
        self.counts[:], self.total = [0] * len(self.counts), 0.0
