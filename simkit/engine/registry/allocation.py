"""Allocation of unique cluster IPs and node ports to Services.

What is given out is kept as a whole number with a bit for each address, so that a fork shares it and the first write on
a fork costs what every write costs. It is read from the store when it is first needed, and then follows the store:
whatever removes a Service, its addresses are free again. What a write under way has taken is reserved until it ends.

Upstream: pkg/registry/core/service/storage/alloc.go, release 1.30.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from simkit.client.resources import SERVICES
from simkit.engine.registry.ip_families import addresses_of, as_address, settle_families
from simkit.engine.registry.reservation import (
    SERVICE_CIDRS,
    AddressRecords,
    BitmapAllocator,
    Given,
    NotAvailable,
    Reservation,
    ServiceRanges,
)
from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.service.cluster_ips import (
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_headless,
    needs_health_port,
    normalize_cluster_ips,
    patch_allocated_values,
    strings,
    type_of,
)
from simkit.kinds.parts.service.validation import TRAFFIC_POLICIES
from simkit.kinds.parts.validation.ip import address, family
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import NameSource
from simkit.meta.errors import StatusError, internal, invalid, unexplained
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.names import GroupKind
from simkit.meta.objects import Draft, Object, at, name_of
from simkit.seams import Change, Store

_KIND: Final = GroupKind("", "Service")
DEFAULT_RANGE: Final = "10.96.0.0/16"
DEFAULT_PORTS: Final = (30000, 32767)
_SHARED_NAMES: Final = ("serviceips", "secondaryserviceips")
"""The names under which servers share the ranges of addresses."""
_SERVER_ERRORS: Final = 500
_TAKEN: Final = "provided IP is already allocated"


class ServiceAllocation:
    """The addresses and ports of one server's Services.

    Parameters
    ----------
    store
        Where the Services are.
    name_source
        Chooses among what is free.
    ranges
        One range of addresses, or one of each family; the first is the default one.
    """

    def __init__(
        self,
        store: Store,
        name_source: NameSource,
        behaviour: ServedBehaviour,
        ranges: Sequence[str] = (DEFAULT_RANGE,),
        ports: tuple[int, int] = DEFAULT_PORTS,
    ) -> None:
        self._behaviour = behaviour
        found = ServiceRanges(ranges)
        span = BitmapAllocator(ports[0], ports[1], what=f"ports is {ports[0]}-{ports[1]}")
        self._start(store, name_source, found, span)
        if store.number_ranges is not None:
            for name, text, pool in zip(_SHARED_NAMES, found.texts, found.primary.values(), strict=False):
                pool.share(store.number_ranges, name, text)
            span.share(store.number_ranges, "servicenodeports", f"{ports[0]}-{ports[1]}")
            store.number_ranges.repair_regularly(self.repair)

    def fork(self, store: Store, name_source: NameSource, behaviour: ServedBehaviour) -> ServiceAllocation:
        """The same over a fork of the store, in constant time."""
        other = ServiceAllocation.__new__(ServiceAllocation)
        other._behaviour = behaviour
        with self._lock:
            other._start(store, name_source, self._ranges.fork(), self._ports.fork())
            other._known = self._known
        return other

    def _start(self, store: Store, name_source: NameSource, ranges: ServiceRanges, ports: BitmapAllocator) -> None:
        self._store, self._name_source, self._ranges, self._ports = store, name_source, ranges, ports
        self._records: AddressRecords | None = None
        self._lock = threading.RLock()
        self._known = False
        store.listen(self._follow, (SERVICES, SERVICE_CIDRS))

    def record_in(self, records: AddressRecords) -> None:
        """Keep an object for each address, and give out addresses of the ranges that ServiceCIDR objects name."""
        self._records = records

    @property
    def ranges(self) -> tuple[str, ...]:
        """The ranges of the server's flags, the default one first."""
        return self._ranges.texts

    def first_address(self) -> str:
        """The first address of the default range: the server's own."""
        name, pool = next(iter(self._ranges.primary.items()))
        return str(as_address(pool.first, name))

    @contextmanager
    def reserved(self, draft: Draft, live: Object | None, *, dry_run: bool) -> Iterator[None]:
        """A context in which a Service's addresses and ports are allocated, and reserved during its write.

        Raises the 422 or 500 that kube-apiserver gives for what cannot be given out.
        """
        reservation, settled = Reservation(dry_run), True
        try:
            with self._lock:
                self._learn()
                self._complete(draft, live, reservation)
            self._record(draft, reservation)
            yield
            reservation.recorded.clear()  # from now on they are the Service's
        except StatusError as error:
            settled = error.code < _SERVER_ERRORS  # otherwise nobody knows whether the Service was stored
            raise
        finally:
            if settled and self._records is not None:
                for text in reservation.recorded:
                    self._records.delete(text)
            with self._lock:
                for pool, number in reservation.taken:
                    pool.release(number, settled=settled)
        if live is not None and not dry_run:
            self.give_back(live, kept=addresses_of(draft))

    def give_back(self, service: Object, *, kept: Collection[str] = ()) -> None:
        """Let others have what a Service had, and has no more, or was deleted with; ``kept`` are its addresses now."""
        if self._records is not None:
            for text in addresses_of(service):
                if text not in kept:
                    self._records.delete(text)
        if self._store.number_ranges is not None:
            with self._lock:
                for pool, number in self._numbers(service):
                    pool.give_back(number)

    def repair(self) -> None:
        """Make what servers share agree with the Services, as kube-apiserver does every three minutes."""
        with self._lock:
            self._learn()
        for pool in (*self._ranges.primary.values(), self._ports):
            pool.repair(self._store.refresh)

    def _complete(self, draft: Draft, live: Object | None, reservation: Reservation) -> None:
        spec = own_copy(draft, "spec")
        own_items(spec, "ports")
        if type_of(draft) == EXTERNAL_NAME and spec.get("internalTrafficPolicy") in TRAFFIC_POLICIES:
            del spec["internalTrafficPolicy"]  # which nobody reads
        if live is not None:
            patch_allocated_values(draft, live)
        normalize_cluster_ips(draft, live)
        errors = settle_families(self._behaviour, draft, live, self._ranges.families)
        if errors:
            raise invalid(self._behaviour, _KIND, name_of(draft), errors)
        self._give_addresses(draft, live, reservation)
        self._give_ports(draft, live, reservation)
        self._give_health_port(draft, live, reservation)

    # Addresses

    def _give_addresses(self, draft: Draft, live: Object | None, reservation: Reservation) -> None:
        """Allocate an address of each family to new Services; old ones keep theirs, and may get a second."""
        if type_of(draft) == EXTERNAL_NAME or is_headless(draft):
            return
        spec, families = draft["spec"], draft["spec"].get("ipFamilies") or []
        fresh = live is None or type_of(live) == EXTERNAL_NAME
        if not fresh and live is not None and is_headless(live):
            return
        given = list(spec.get("clusterIPs") or [])
        had = [] if fresh or live is None else list(at(live, "spec", "clusterIPs") or [])
        if not fresh and (given[:1] != had[:1] or len(families) <= len(had)):
            return
        for index, name in enumerate(families):
            if index < len(had):
                continue
            if index < len(given):
                self._give_address(draft, name, index, reservation)
            else:
                given.append(self._any_address(name, index, reservation))
        spec["clusterIPs"], spec["clusterIP"] = given, given[0]

    def _give_address(self, draft: Draft, name: str, index: int, reservation: Reservation) -> None:
        text = draft["spec"]["clusterIPs"][index]
        found = address(text)
        if found is None or name not in self._ranges.primary or family(text) != name:
            return  # validation has more to say about it
        pools = self._pools_of(name)
        pool = next((each for each in pools if each.holds(int(found))), pools[0])
        try:
            reservation.take(pool, int(found))
        except NotAvailable as why:
            raise self._not_given(draft, text, self._why(why, pool, text, reservation)) from None
        if not reservation.dry_run:
            reservation.given.append(Given(index, name, text, asked=True))

    def _why(self, error: NotAvailable, pool: BitmapAllocator, text: str, reservation: Reservation) -> str:
        """The reason for a refused address; a dry run looks at one range only, and names it."""
        if not error.outside:
            return _TAKEN
        if self._behaviour.applies("addresses-of-service-ranges") and not reservation.dry_run:
            return "the provided network does not match the current range"
        return pool.out_of_range(text)

    def _not_given(self, draft: Draft, text: str, why: str) -> StatusError:
        detail = f"failed to allocate IP {text}: {why}"
        if not self._behaviour.applies("services-kept-by-the-store"):
            why = why if why == _TAKEN else why.replace(f"the provided IP ({text})", "provided IP")
            detail = f"failed to allocated ip:{text} with error:{why}"
        return self._refused(draft, invalid_value("spec.clusterIPs", strings(draft["spec"]["clusterIPs"]), detail))

    def _any_address(self, name: str, index: int, reservation: Reservation) -> str:
        for pool in self._pools_of(name):
            try:
                text = str(as_address(reservation.take_any(pool, self._name_source), name))
            except NotAvailable:
                continue
            if not reservation.dry_run:
                reservation.given.append(Given(index, name, text, asked=False))
            return text
        raise internal("failed to allocate a serviceIP: range is full")

    def _pools_of(self, name: str) -> Sequence[BitmapAllocator]:
        """The allocators that give out addresses of a family."""
        return [self._ranges.primary[name]] if self._records is None else list(self._ranges.given_out(name))

    def _record(self, draft: Draft, reservation: Reservation) -> None:
        """Make the objects of the addresses that a write was given. One that exists already has taken its address."""
        if self._records is None:
            return
        for given in reservation.given:  # which grows while others are tried
            if self._records.create(given.text, given.family, draft):
                reservation.recorded.append(given.text)
            elif given.asked:
                raise self._not_given(draft, given.text, _TAKEN)
            else:
                with self._lock:
                    text = self._any_address(given.family, given.place, reservation)
                spec = draft["spec"]
                spec["clusterIPs"] = [*spec["clusterIPs"][: given.place], text, *spec["clusterIPs"][given.place + 1 :]]
                spec["clusterIP"] = spec["clusterIPs"][0]

    # Ports

    def _give_ports(self, draft: Draft, live: Object | None, reservation: Reservation) -> None:
        if type_of(draft) not in (NODE_PORT, LOAD_BALANCER):
            return
        automatic = draft["spec"].get("allocateLoadBalancerNodePorts") is not False or type_of(draft) == NODE_PORT
        ports = draft["spec"].get("ports") or []
        if live is not None:
            kept = {port.get("nodePort") or 0 for port in live.get("spec", {}).get("ports") or ()}
            self._change_ports(draft, [*enumerate(ports)], kept, reservation, automatic=automatic)
            return
        chosen = dict[int, int]()
        asked = {each.get("port") or 0: each["nodePort"] for each in reversed(ports) if each.get("nodePort")}
        for index, port in enumerate(ports):
            number, wanted = port.get("port") or 0, port.get("nodePort") or 0
            if not wanted and not automatic:
                continue
            if number in chosen and wanted in (0, chosen[number]):
                port["nodePort"] = chosen[number]
                continue
            wanted = wanted or asked.get(number, 0)
            if not wanted:
                wanted = self._any_port(reservation)
            else:
                self._give_port(draft, f"spec.ports[{index}].nodePort", wanted, reservation)
            port["nodePort"] = wanted
            chosen.setdefault(number, wanted)

    def _change_ports(
        self,
        draft: Draft,
        ports: Sequence[tuple[int, Draft]],
        kept: Collection[int],
        reservation: Reservation,
        *,
        automatic: bool,
    ) -> None:
        """Give the ports of a changed service their numbers. Raises the 500 of a number that a protocol has twice."""
        given, pairs = set[int](), set[tuple[str, int]]()
        for index, port in ports:
            wanted = port.get("nodePort") or 0
            if not wanted and not automatic:
                continue
            if not wanted:
                wanted = self._any_port(reservation)
            elif wanted not in kept and wanted not in given:
                self._give_port(draft, f"spec.ports[{index}].nodePort", wanted, reservation)
                given.add(wanted)
            port["nodePort"] = wanted
            pair = (port.get("protocol") or "", wanted)
            if pair in pairs:
                raise unexplained(f"duplicate nodePort: {{{pair[0]} {wanted}}}")
            pairs.add(pair)

    def _give_port(self, draft: Draft, path: str, number: int, reservation: Reservation) -> None:
        try:
            reservation.take_port(self._ports, number)
        except NotAvailable as why:
            detail = self._ports.port_out_of_range() if why.outside else "provided port is already allocated"
            raise self._refused(draft, invalid_value(path, number, detail)) from None

    def _any_port(self, reservation: Reservation) -> int:
        try:
            return reservation.take_any_port(self._ports, self._name_source)
        except NotAvailable:
            raise internal("failed to allocate a nodePort: range is full") from None

    def _give_health_port(self, draft: Draft, live: Object | None, reservation: Reservation) -> None:
        if not needs_health_port(draft) or (live is not None and needs_health_port(live)):
            return
        number = draft["spec"].get("healthCheckNodePort") or 0
        if not number:
            draft["spec"]["healthCheckNodePort"] = self._any_port(reservation)
            return
        try:
            reservation.take_port(self._ports, number)
        except NotAvailable as why:
            detail = self._ports.port_out_of_range() if why.outside else "provided port is already allocated"
            raise internal(f"failed to allocate requested HealthCheck NodePort {number}: {detail}") from None

    def _refused(self, draft: Draft, error: FieldError) -> StatusError:
        return invalid(self._behaviour, _KIND, name_of(draft), [error])

    # What is in use

    def _learn(self) -> None:
        if not self._known:
            self._known = True
            for entry in self._store.scan(SERVICE_CIDRS):
                self._ranges.put(entry.object)
            for entry in self._store.scan(SERVICES):
                self._mark(entry.object, BitmapAllocator.use)

    def _follow(self, changes: Sequence[Change]) -> None:
        """Apply changes of the store; called in the writer's thread, in the order of the changes."""
        concerned = [change for change in changes if change.entry.key.resource in (SERVICES, SERVICE_CIDRS)]
        if not concerned or not self._known:
            return
        with self._lock:
            for change in concerned:
                if change.entry.key.resource == SERVICE_CIDRS:
                    self._follow_range(change)
                    continue
                if change.previous is not None:
                    self._mark(change.previous.object, BitmapAllocator.free)
                if change.type != "DELETED":
                    self._mark(change.entry.object, BitmapAllocator.use)

    def _follow_range(self, change: Change) -> None:
        """Add or take away the ranges of a ServiceCIDR. What Services have of a new one is in use from the start."""
        if change.type == "DELETED":
            self._ranges.remove(change.entry.key.name)
            return
        fresh = self._ranges.put(change.entry.object)
        for entry in self._store.scan(SERVICES) if fresh else ():
            for pool, number in self._numbers(entry.object):
                if pool in fresh:
                    pool.use(number)

    def _mark(self, service: Object, mark: Callable[[BitmapAllocator, int], None]) -> None:
        for pool, number in self._numbers(service):
            mark(pool, number)

    def _numbers(self, service: Object) -> Iterator[tuple[BitmapAllocator, int]]:
        """The addresses and ports of a Service, each with the range that it is of."""
        spec = service.get("spec") or {}
        for text in addresses_of(service):
            found = address(text)
            if found is not None:
                yield from ((pool, int(found)) for pool in self._ranges.holding(family(text), int(found)))
        numbers = {port.get("nodePort") for port in spec.get("ports") or ()} | {spec.get("healthCheckNodePort")}
        for number in numbers:
            if number:
                yield self._ports, number
