"""Numbers and addresses that are reserved for one write, and the ranges that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from simkit.kinds.parts.validation.ip import family, network
from simkit.meta.clock import NameSource
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.seams import NumberRanges

# Numbers of a range, allocated one at a time.
# Upstream: pkg/registry/core/service/allocator/bitmap.go and pkg/registry/core/service/portallocator/allocator.go,
# release 1.30.

_GUESSES: Final = 32


class NotAvailable(Exception):
    """A number that cannot be allocated; ``outside`` if it is not in the range."""

    def __init__(self, *, outside: bool = False) -> None:
        super().__init__("outside" if outside else "taken")
        self.outside = outside


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

    __slots__ = ("_count", "_names", "_shared", "_static", "_what", "first", "first_shown", "pending", "text", "used")

    def __init__(
        self, first: int, last: int, *, first_shown: int = 0, static: int = 0, what: str = "", text: str = ""
    ) -> None:
        self.text = text
        self.first, self._count, self._static, self._what = first, last - first + 1, static, what
        self.first_shown = first_shown or first
        self.used = self.pending = 0
        self._shared: NumberRanges | None = None
        self._names = ("", "")

    def fork(self) -> BitmapAllocator:
        """An independent allocator with the same numbers in use, and none reserved."""
        other = BitmapAllocator.__new__(BitmapAllocator)
        other.first, other._count, other._static, other._what = self.first, self._count, self._static, self._what
        other.first_shown, other.used, other.pending, other.text = self.first_shown, self.used, 0, self.text
        other._shared, other._names = None, ("", "")
        return other

    def share(self, ranges: NumberRanges, name: str, text: str) -> None:
        """Share the range with other servers under a name."""
        self._shared, self._names = ranges, (name, text)

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
        if self._shared is not None and not self._shared.claim(*self._names, number - self.first):
            raise NotAvailable
        self.pending |= bit

    def reserve_any(self, name_source: NameSource) -> int:
        """Reserve a free number. Raises NotAvailable if there is none."""
        while True:
            taken = self.used | self.pending | (self._shared.known(self._names[0]) if self._shared is not None else 0)
            index = self._guess(taken, name_source)
            if index is None:
                index = self._search(taken, name_source)
            if self._shared is None or self._shared.claim(*self._names, index):
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
            self._shared.release(*self._names, index)

    def repair(self, refresh: Callable[[], None]) -> None:
        """Make what is shared agree with the stored objects, all of which are known after ``refresh``."""

        def used() -> int:
            refresh()
            return self.used | self.pending

        if self._shared is not None:
            self._shared.repair(*self._names, used)

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


# Reservations of one write of a Service, and the objects that stand for its addresses

_ABOVE_PORTS: Final = 32768


class AddressRecords(Protocol):
    """The objects of the addresses that are given out. An implementation must not call the allocation."""

    def create(self, text: str, family: str, service: Object) -> bool:
        """Make the object of an address for a Service; False if there is one of this name."""
        ...

    def delete(self, text: str) -> None:
        """Remove the object of an address, if there is one."""
        ...


class Given(NamedTuple):
    """An address for a place among a Service's addresses; ``asked`` if the Service named it."""

    place: int
    family: str
    text: str
    asked: bool


@dataclass(slots=True)
class Reservation:
    """The addresses and ports that one write has reserved, as pairs of an allocator and a number."""

    dry_run: bool
    taken: list[tuple[BitmapAllocator, int]] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    """The addresses for which an object was made."""
    shown: list[int] = field(default_factory=list)
    """The ports of a dry run, which belong to nobody."""

    def take(self, pool: BitmapAllocator, number: int) -> None:
        """Reserve a number. Raises NotAvailable; a dry run only checks that it is in the range."""
        pool.check(number)
        if not self.dry_run:
            pool.reserve(number)
            self.taken.append((pool, number))

    def take_any(self, pool: BitmapAllocator, name_source: NameSource) -> int:
        """Reserve a free number. Raises NotAvailable if there is none; a dry run gives the first of the range."""
        if self.dry_run:
            return pool.first_shown
        number = pool.reserve_any(name_source)
        self.taken.append((pool, number))
        return number

    def take_port(self, pool: BitmapAllocator, number: int) -> None:
        """Reserve a port. Raises NotAvailable; a dry run only sees whether somebody has it.

        As ``portAllocationOperation.Allocate`` in pkg/registry/core/service/portallocator, release 1.30.
        """
        if not self.dry_run:
            self.take(pool, number)
            return
        if number in self.shown or pool.is_used(number):
            raise NotAvailable
        self.shown.append(number)

    def take_any_port(self, pool: BitmapAllocator, name_source: NameSource) -> int:
        """Reserve a free port. Raises NotAvailable if there is none; a dry run counts on from the last port that it
        has shown, and begins above the usual range.
        """
        if not self.dry_run:
            return self.take_any(pool, name_source)
        self.shown.append(max(self.shown, default=_ABOVE_PORTS) + 1)
        return self.shown[-1]


# The ranges that the addresses of Services come from: those of the server's flags, and those of ServiceCIDR objects.
# Upstream: pkg/registry/core/service/ipallocator/cidrallocator.go, release 1.36.

SERVICE_CIDRS: Final = GroupResource(api_group("networking"), "servicecidrs")


@dataclass(frozen=True, slots=True)
class _Named:
    """One ServiceCIDR: its ranges, and whether addresses are given out of them."""

    ranges: tuple[str, ...]
    ready: bool


class ServiceRanges:
    """The allocators of all ranges. Not thread-safe.

    ``primary`` has one of each family, the first of the default family; others come and go with ServiceCIDR objects,
    several of which may name the same range.
    """

    def __init__(self, ranges: Sequence[str]) -> None:
        self.texts = tuple(str(network(text)) for text in ranges)
        self.primary: Mapping[str, BitmapAllocator] = {_family(text): allocator_of(text) for text in ranges}
        self._named: dict[str, _Named] = {}
        self._more: dict[str, BitmapAllocator] = {}

    def fork(self) -> ServiceRanges:
        """Independent allocators of the same ranges, with the same addresses in use."""
        other = ServiceRanges.__new__(ServiceRanges)
        other.texts = self.texts
        other.primary = {name: pool.fork() for name, pool in self.primary.items()}
        other._named = dict(self._named)
        other._more = {text: pool.fork() for text, pool in self._more.items()}
        return other

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(self.primary)

    def put(self, obj: Object) -> list[BitmapAllocator]:
        """Follow a new or changed ServiceCIDR; the allocators that are new with it, in which nothing is in use."""
        ranges = tuple(str(found) for text in at(obj, "spec", "cidrs") or () if (found := network(text)) is not None)
        self._named[name_of(obj)] = _Named(ranges, _is_ready(obj))
        fresh = [text for text in ranges if text not in self.texts and text not in self._more]
        for text in fresh:
            self._more[text] = allocator_of(text)
        return [self._more[text] for text in fresh]

    def remove(self, name: str) -> None:
        """Follow the removal of a ServiceCIDR; its ranges go unless others name them."""
        self._named.pop(name, None)
        left = {text for named in self._named.values() for text in named.ranges}
        self._more = {text: pool for text, pool in self._more.items() if text in left}

    def given_out(self, name: str) -> Iterator[BitmapAllocator]:
        """The allocators of a family that give out addresses, that of the flags first."""
        if name in self.primary:
            yield self.primary[name]
        ready = {text for named in self._named.values() if named.ready for text in named.ranges}
        yield from (pool for text, pool in self._more.items() if text in ready and _family(text) == name)

    def holding(self, name: str, number: int) -> Iterator[BitmapAllocator]:
        """The allocators in whose range an address of a family is."""
        pools = [pool for text, pool in self._more.items() if _family(text) == name]
        if name in self.primary:
            pools.insert(0, self.primary[name])
        yield from (pool for pool in pools if pool.holds(number))


def allocator_of(text: str) -> BitmapAllocator:
    """The allocator of a range of addresses, of which the lower part is for Services that ask for an address.

    Raises
    ------
    SimkitError
        For a text that is no range.
    """
    found = network(text)
    if found is None:
        raise SimkitError(f"{text!r} is no range of addresses, such as 10.96.0.0/16")
    first, last = int(found.network_address), int(found.broadcast_address)
    low, high = first + 1, last - 1 if found.version == 4 else min(last, first + 2**16)
    static = min(max(16, (high - low) // 16), 256)
    return BitmapAllocator(low, high, first_shown=first, static=static, what=f"IPs is {found}", text=str(found))


def _family(text: str) -> str:
    return family(text.partition("/")[0])


def _is_ready(obj: Object) -> bool:
    """True if a ServiceCIDR is in use: it is not being deleted, and no condition says that it is not ready yet."""
    conditions = at(obj, "status", "conditions") or ()
    waiting = any(each.get("type") == "Ready" and each.get("status") != "True" for each in conditions)
    return not waiting and not metadata(obj).get("deletionTimestamp")
