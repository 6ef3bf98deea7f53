"""The ranges that the addresses of Services come from: those of the server's flags, and those of ServiceCIDR objects.

Upstream: pkg/registry/core/service/ipallocator/cidrallocator.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.engine.registry.bitmap_allocator import BitmapAllocator
from simkit.kinds.parts.validation.ip import family, network
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, name_of

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

    def all(self) -> Iterator[BitmapAllocator]:
        """The allocators of all ranges, those of the flags first."""
        yield from self.primary.values()
        yield from self._more.values()

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
