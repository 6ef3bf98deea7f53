"""Numbers of a range, allocated one at a time.

Upstream: pkg/registry/core/service/allocator/bitmap.go and pkg/registry/core/service/portallocator/allocator.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simkit.engine.seams import NumberRanges
from simkit.meta.clock import NameSource

_GUESSES: Final = 32


class NotAvailable(Exception):
    """A number that cannot be allocated; ``outside`` if it is not in the range."""

    def __init__(self, *, outside: bool = False) -> None:
        super().__init__("outside" if outside else "taken")
        self.outside = outside


@dataclass(frozen=True, slots=True)
class _SharedRange:
    """One range among those that servers share."""

    ranges: NumberRanges
    name: str
    text: str

    def known(self) -> int:
        return self.ranges.known(self.name)

    def claim(self, number: int) -> bool:
        return self.ranges.claim(self.name, self.text, number)

    def release(self, number: int) -> None:
        self.ranges.release(self.name, self.text, number)

    def repair(self, used: Callable[[], int]) -> None:
        self.ranges.repair(self.name, self.text, used)


class BitmapAllocator:
    """A range of numbers, both ends included. Not thread-safe.

    ``used`` and ``pending`` have a bit for each number: what stored objects have, and what writes under way took.
    The lower numbers, ``static`` of them, are given out unasked only when all others are taken. A range that is
    shared (``share``) gives out what no other server has taken either. ``text`` is a range of
    addresses, empty for ports.

    Examples
    --------
    >>> pool = BitmapAllocator(30000, 30001)
    >>> pool.reserve(30000)
    >>> pool.reserve_any(NameSource(1))
    30001
    """

    __slots__ = ("_count", "_shared", "_static", "_what", "first", "first_shown", "pending", "text", "used")

    def __init__(
        self, first: int, last: int, *, first_shown: int = 0, static: int = 0, what: str = "", text: str = ""
    ) -> None:
        self.text = text
        self.first, self._count, self._static, self._what = first, last - first + 1, static, what
        self.first_shown = first_shown or first
        self.used = self.pending = 0
        self._shared: _SharedRange | None = None

    def fork(self) -> BitmapAllocator:
        """An independent allocator with the same numbers in use, and none reserved."""
        other = BitmapAllocator.__new__(BitmapAllocator)
        other.first, other._count, other._static, other._what = self.first, self._count, self._static, self._what
        other.first_shown, other.used, other.pending, other.text = self.first_shown, self.used, 0, self.text
        other._shared = None
        return other

    def share(self, ranges: NumberRanges, name: str, text: str) -> None:
        """Share the range with other servers under a name."""
        self._shared = _SharedRange(ranges, name, text)

    @property
    def taken(self) -> int:
        """The count of numbers that are in use or reserved."""
        return (self.used | self.pending).bit_count()

    @property
    def left(self) -> int:
        """The count of numbers that nobody has."""
        return self._count - self.taken

    def holds(self, number: int) -> bool:
        """True if a number is in the range."""
        return 0 <= number - self.first < self._count

    def is_used(self, number: int) -> bool:
        """True if an object has a number, or a write under way has reserved it."""
        return self.holds(number) and bool((self.used | self.pending) >> (number - self.first) & 1)

    def check(self, number: int) -> None:
        """Raises NotAvailable for a number outside the range."""
        if not self.holds(number):
            raise NotAvailable(outside=True)

    def reserve(self, number: int) -> None:
        """Reserve a number. Raises NotAvailable."""
        self.check(number)
        bit = 1 << (number - self.first)
        if (self.used | self.pending) & bit:
            raise NotAvailable
        if self._shared is not None and not self._shared.claim(number - self.first):
            raise NotAvailable
        self.pending |= bit

    def reserve_any(self, name_source: NameSource) -> int:
        """Reserve a free number. Raises NotAvailable if there is none."""
        while True:
            taken = self.used | self.pending | (self._shared.known() if self._shared is not None else 0)
            index = self._guess(taken, name_source)
            if index is None:
                index = self._search(taken, name_source)
            if self._shared is None or self._shared.claim(index):
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

    def release(self, number: int, *, settled: bool = True) -> None:
        """End a reservation, whether or not the number is now in use; ``settled`` if that is known for sure."""
        self.pending &= ~(1 << (number - self.first))
        if settled:
            self.give_back(number)

    def give_back(self, number: int) -> None:
        """Let other servers have a number again that no object of this one has."""
        index = number - self.first
        if self._shared is not None and 0 <= index < self._count and not (self.used | self.pending) >> index & 1:
            self._shared.release(index)

    def repair(self, refresh: Callable[[], None]) -> None:
        """Make what is shared agree with the stored objects, all of which are known after ``refresh``."""

        def used() -> int:
            refresh()
            return self.used | self.pending

        if self._shared is not None:
            self._shared.repair(used)

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
