"""Values that a list has more than once, found in one pass."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


def repeats(values: Iterable[Hashable]) -> frozenset[int]:
    """The positions of values that are equal to one before them.

    Examples
    --------
    >>> sorted(repeats(["a", "b", "a", "a"]))
    [2, 3]
    """
    seen: set[Hashable] = set()
    found: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            found.add(index)
        seen.add(value)
    return frozenset(found)
