"""Reservations of one write of a Service, and the objects that stand for its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, NamedTuple, Protocol

from simkit.engine.registry.bitmap_allocator import BitmapAllocator, NotAvailable
from simkit.engine.seams import Meter, Unmetered
from simkit.meta.clock import NameSource
from simkit.meta.objects import Object

_ADDRESSES: Final = "kube_apiserver_clusterip_allocator_allocation"
_PORTS: Final = "kube_apiserver_nodeport_allocator_allocation"
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
    meter: Meter = field(default_factory=Unmetered)
    taken: list[tuple[BitmapAllocator, int]] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    """The addresses for which an object was made."""
    shown: list[int] = field(default_factory=list)
    """The ports of a dry run, which belong to nobody."""

    def take(self, pool: BitmapAllocator, number: int) -> None:
        """Reserve a number. Raises NotAvailable; a dry run only checks that it is in the range."""
        with self._counted(pool, "static"):
            pool.check(number)
            if not self.dry_run:
                pool.reserve(number)
                self.taken.append((pool, number))

    def take_any(self, pool: BitmapAllocator, name_source: NameSource) -> int:
        """Reserve a free number. Raises NotAvailable if there is none; a dry run gives the first of the range."""
        if self.dry_run:
            return pool.first_shown
        with self._counted(pool, "dynamic"):
            number = pool.reserve_any(name_source)
        self.taken.append((pool, number))
        return number

    @contextmanager
    def _counted(self, pool: BitmapAllocator, scope: str) -> Iterator[None]:
        """A context in which an address or a port is reserved."""
        began, labels = perf_counter(), (pool.text, scope) if pool.text else (scope,)
        family = _ADDRESSES if pool.text else _PORTS
        try:
            yield
        except NotAvailable:
            if not self.dry_run:
                self.meter.count(f"{family}_errors_total", *labels)
            raise
        if not self.dry_run:
            self.meter.count(f"{family}_total", *labels)
            if pool.text:
                self.meter.record(f"{family}_duration_seconds", pool.text, value=perf_counter() - began)

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
