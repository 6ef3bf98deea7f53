"""Sets of completion indexes as text, such as ``1,3-5``.

They are kept as spans, so that ``0-2147483646`` costs no more than ``7``.

pkg/controller/job/indexed_job_utils.go, release 1.30.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Set
from itertools import chain

from simkit.meta.integers import is_digits, saturating_int

_Span = tuple[int, int]
"""The first index, and the one after the last."""


class Indexes(Set[int]):
    """A set of indexes, as ascending spans that do not touch."""

    def __init__(self, spans: Iterable[_Span] = ()) -> None:
        self._spans: list[_Span] = []
        for first, end in sorted(spans):
            if self._spans and first <= self._spans[-1][1]:
                self._spans[-1] = (self._spans[-1][0], max(end, self._spans[-1][1]))
            elif first < end:
                self._spans.append((first, end))

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and self.end_of_span(index) > index

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(first, end) for first, end in self._spans)

    def __len__(self) -> int:
        return sum(end - first for first, end in self._spans)

    def end_of_span(self, index: int) -> int:
        """The first index, from a given one on, that is not in the set."""
        place = bisect_right(self._spans, index, key=lambda span: span[0]) - 1
        return max(index, self._spans[place][1]) if place >= 0 else index

    def with_all(self, indexes: Iterable[int]) -> Indexes:
        """This set with further indexes."""
        return Indexes([*self._spans, *((index, index + 1) for index in indexes)])

    def __str__(self) -> str:
        parts = ((first, end - 1) for first, end in self._spans)
        return ",".join(str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in parts)


def parse(text: str, *, below: int) -> Indexes:
    """The indexes in a text, below a bound.

    Examples
    --------
    >>> sorted(parse("1,3-5,9-4000000000", below=11))
    [1, 3, 4, 5, 9, 10]
    """
    return Indexes(_spans(text, below))


def _spans(text: str, below: int) -> Iterator[_Span]:
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if is_digits(first):
            end = saturating_int(last if is_digits(last) else first) or 0
            yield saturating_int(first) or 0, min(end + 1, below)


def write(indexes: Iterable[int]) -> str:
    """The shortest text for some indexes: two in a row are listed, three or more are a range.

    Examples
    --------
    >>> write([5, 1, 3, 4, 8, 9])
    '1,3-5,8,9'
    """
    return str(indexes if isinstance(indexes, Indexes) else Indexes().with_all(indexes))
