"""Numbers of a range, allocated one at a time.

Upstream: pkg/registry/core/service/allocator/bitmap.go and pkg/registry/core/service/portallocator/allocator.go,
release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.clock import NameSource

_GUESSES: Final = 32


class NotAvailable(Exception):
    """A number that cannot be allocated; ``outside`` if it is not in the range."""

    def __init__(self, *, outside: bool = False) -> None:
        super().__init__("outside" if outside else "taken")
        self.outside = outside


class BitmapAllocator:
    """A range of numbers, both ends included. Not thread-safe.

    ``used`` and ``pending`` have a bit for each number: what stored objects have, and what writes under way took.
    The lower numbers, ``static`` of them, are given out unasked only when all others are taken.

    Examples
    --------
    >>> pool = BitmapAllocator(30000, 30001)
    >>> pool.reserve(30000)
    >>> pool.reserve_any(NameSource(1))
    30001
    """

    __slots__ = ("_count", "_static", "_what", "first", "first_shown", "pending", "used")

    def __init__(self, first: int, last: int, *, first_shown: int = 0, static: int = 0, what: str = "") -> None:
        self.first, self._count, self._static, self._what = first, last - first + 1, static, what
        self.first_shown = first_shown or first
        self.used = self.pending = 0

    def fork(self) -> BitmapAllocator:
        """An independent allocator with the same numbers in use, and none reserved."""
        other = BitmapAllocator.__new__(BitmapAllocator)
        other.first, other._count, other._static, other._what = self.first, self._count, self._static, self._what
        other.first_shown, other.used, other.pending = self.first_shown, self.used, 0
        return other

    def check(self, number: int) -> None:
        """Raises NotAvailable for a number outside the range."""
        if not 0 <= number - self.first < self._count:
            raise NotAvailable(outside=True)

    def reserve(self, number: int) -> None:
        """Reserve a number. Raises NotAvailable."""
        self.check(number)
        bit = 1 << (number - self.first)
        if (self.used | self.pending) & bit:
            raise NotAvailable
        self.pending |= bit

    def reserve_any(self, name_source: NameSource) -> int:
        """Reserve a free number. Raises NotAvailable if there is none."""
        taken = self.used | self.pending
        index = self._guess(taken, name_source)
        if index is None:
            index = self._search(taken, name_source)
        self.pending |= 1 << index
        return self.first + index

    def _guess(self, taken: int, name_source: NameSource) -> int | None:
        span = self._count - self._static
        for _ in range(_GUESSES if span > 0 else 0):
            index = self._static + name_source.below(span)
            if not taken >> index & 1:
                return index
        return None

    def _search(self, taken: int, name_source: NameSource) -> int:
        """The first free number from some position on, in the upper part and then in the lower one."""
        free = ~taken & ((1 << self._count) - 1)
        upper = free >> self._static << self._static
        for part in (upper, free):
            if part:
                start = name_source.below(self._count)
                after = part >> start << start or part
                return (after & -after).bit_length() - 1
        raise NotAvailable

    def release(self, number: int) -> None:
        """End a reservation, whether or not the number is now in use."""
        self.pending &= ~(1 << (number - self.first))

    def use(self, number: int) -> None:
        """Record that a stored object has this number."""
        if 0 <= number - self.first < self._count:
            self.used |= 1 << (number - self.first)

    def free(self, number: int) -> None:
        """Record that no stored object has this number any more."""
        if 0 <= number - self.first < self._count:
            self.used &= ~(1 << (number - self.first))

    def out_of_range(self, text: str) -> str:
        return f"the provided IP ({text}) is not in the valid range. The range of valid {self._what}"

    def port_out_of_range(self) -> str:
        return f"provided port is not in the valid range. The range of valid {self._what}"
