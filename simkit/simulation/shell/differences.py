"""The differences of two lists of lines, as few as there can be.

References
----------
E. W. Myers, An O(ND) Difference Algorithm and Its Variations, 1986; GNU diffutils 3.8: where a change may stand in
several places, it stands in the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_MOST: Final = 400
"""Changed lines up to which the fewest are looked for; beyond, everything between the first and the last is changed."""


class Change(NamedTuple):
    """Lines of the one list in whose place lines of the other one stand: from a place up to another one, from 0."""

    start: int
    end: int
    other_start: int
    other_end: int


def changes(one: Sequence[str], other: Sequence[str]) -> list[Change]:
    """The changes that make the other list of the one.

    Examples
    --------
    >>> changes(["a", "b", "c"], ["a", "x", "c", "d"])
    [Change(start=1, end=2, other_start=1, other_end=2), Change(start=3, end=3, other_start=3, other_end=4)]
    """
    head = 0
    while head < len(one) and head < len(other) and one[head] == other[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(other)) - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    left, right = one[head : len(one) - tail], other[head : len(other) - tail]
    kept = _kept(left, right)
    removed, added = [True] * len(one), [True] * len(other)
    for first, second in [
        *((at, at) for at in range(head)),
        *((head + first, head + second) for first, second in kept),
        *((len(one) - 1 - at, len(other) - 1 - at) for at in range(tail)),
    ]:
        removed[first] = added[second] = False
    _moved_down(one, removed)
    _moved_down(other, added)
    return list(_grouped(removed, added))


def _kept(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places that stay, by the shortest way through the grid of both lists."""
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for cost in range(min(_MOST, len(one) + len(other)) + 1):
        history.append(dict(reached))
        for diagonal in range(-cost, cost + 1, 2):
            down = diagonal == -cost or (diagonal != cost and reached[diagonal - 1] < reached[diagonal + 1])
            at = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            while at < len(one) and at - diagonal < len(other) and one[at] == other[at - diagonal]:
                at += 1
            reached[diagonal] = at
            if at >= len(one) and at - diagonal >= len(other):
                return _traced(history, len(one), len(other))
    return []


def _traced(history: Sequence[dict[int, int]], at: int, beside: int) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for cost in range(len(history) - 1, -1, -1):
        reached, diagonal = history[cost], at - beside
        down = diagonal == -cost or (diagonal != cost and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1))
        before = diagonal + 1 if down else diagonal - 1
        start = reached.get(before, 0)
        while at > start + (not down) and at > 0 and beside > 0 and at > max(0, start if down else start + 1):
            at, beside = at - 1, beside - 1
            kept.append((at, beside))
        at, beside = start, start - before
    return kept[::-1]


def _moved_down(lines: Sequence[str], changed: list[bool]) -> None:
    """Have each run of changed lines stand as late as it may."""
    start = 0
    while start < len(lines):
        if not changed[start]:
            start += 1
            continue
        end = start
        while end < len(lines) and changed[end]:
            end += 1
        while end < len(lines) and not changed[end] and lines[start] == lines[end]:
            changed[start], changed[end] = False, True
            start, end = start + 1, end + 1
            while end < len(lines) and changed[end]:
                end += 1
        start = end


def _grouped(removed: Sequence[bool], added: Sequence[bool]) -> Iterator[Change]:
    at = beside = 0
    while at < len(removed) or beside < len(added):
        start, other_start = at, beside
        while at < len(removed) and removed[at]:
            at += 1
        while beside < len(added) and added[beside]:
            beside += 1
        if at > start or beside > other_start:
            yield Change(start, at, other_start, beside)
        else:
            at, beside = at + 1, beside + 1
