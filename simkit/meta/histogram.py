"""Histograms: how many values fell below each bound, and their sum."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

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


def _unbounded(family: str) -> Sequence[float]:
    return ()


class Histograms:
    """Histograms by family and label values. Several threads may record.

    Parameters
    ----------
    bounds
        The bounds of a family.
    """

    def __init__(self, bounds: Callable[[str], Sequence[float]] = _unbounded) -> None:
        self._bounds, self._lock = bounds, Lock()
        self.families: dict[str, dict[Labels, Histogram]] = {}

    def of(self, family: str, *labels: str) -> Histogram:
        """The histogram of a family with some values of its labels, made at first use."""
        rows = self.families.get(family)
        if rows is None:
            rows = self.families.setdefault(family, {})
        found = rows.get(labels)
        if found is None:
            found = rows.setdefault(labels, Histogram(self._bounds(family)))
        return found

    def record(self, histogram: Histogram, value: float) -> None:
        """Count a value in one of the histograms."""
        with self._lock:
            histogram.add(value)

    def record_all(self, values: Iterable[tuple[Histogram, float]]) -> None:
        """Count several values, each in its histogram."""
        with self._lock:
            for histogram, value in values:
                histogram.counts[bisect_left(histogram.bounds, value)] += 1
                histogram.total += value

    def clear(self) -> None:
        """Forget all values; who holds a histogram goes on with it."""
        with self._lock:
            for rows in list(self.families.values()):
                for histogram in list(rows.values()):
                    histogram.clear()
