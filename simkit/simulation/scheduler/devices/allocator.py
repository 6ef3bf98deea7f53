"""The search for devices for the claims of a pod on one node: the first solution in the order of the requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, at
from simkit.meta.quantity import Quantity, parse
from simkit.simulation.scheduler.devices.pools import Device, Pool
from simkit.simulation.scheduler.devices.requests import (
    MOST_DEVICES,
    AllocatedDevices,
    AllocationError,
    ClassOf,
    Request,
    SharedCapacity,
    Surroundings,
    alternatives,
    selected,
    shown,
)

# Constraints of a claim: devices whose attribute has to be the same, or has to differ.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``matchAttributeConstraint``), release 1.34, and
# ``distinctAttributeConstraint``, releases 1.36 and 1.37.

_KINDS: Final = ("string", "int", "bool", "version")


class AttributeConstraint:
    """One constraint, with the values of the devices that were chosen so far."""

    def __init__(self, behaviour: ServedBehaviour, constraint: Mapping[str, Any]) -> None:
        """Raises ValueError for a kind that the served release does not know."""
        if constraint.get("matchAttribute") is None and not behaviour.applies("scheduler-shares-devices"):
            raise ValueError("empty constraint (unsupported constraint type?)")
        self._requests = frozenset(constraint.get("requests") or ())
        self._same = constraint.get("matchAttribute") is not None
        self._name = str(constraint.get("matchAttribute") or constraint.get("distinctAttribute") or "")
        self._values: list[tuple[str, Any]] = []
        self._compared: dict[str, tuple[str, Any]] = {}
        """By request what up to 1.36 new devices have to differ from: the device that was taken in last."""
        self._forgets = behaviour.applies("scheduler-compares-with-last-device")

    def concerns(self, request: str) -> bool:
        """True if it is about a request, which ``parent/alternative`` names too."""
        return not self._requests or request in self._requests or request.partition("/")[0] in self._requests

    def add(self, request: str, device: Device) -> bool:
        """Take in a device for a request; False, and nothing is taken in, if it may not be added."""
        if not self.concerns(request):
            return True
        value = _value(device.attribute(self._name))
        if value is None or not self._fits(value):
            return False
        self._values.append(value)
        self._compared[request.partition("/")[0]] = value
        return True

    def _fits(self, value: tuple[str, Any]) -> bool:
        if self._same or not self._forgets:
            return not self._values or (value in self._values) == self._same
        return not self._values or value not in self._compared.values()

    def remove(self, request: str) -> None:
        """Forget the device that was taken in last for a request."""
        if self.concerns(request):
            self._values.pop()
            self._compared.pop(request.partition("/")[0], None)


def _value(attribute: Mapping[str, Any] | None) -> tuple[str, Any] | None:
    if attribute is None:
        return None
    return next(((kind, attribute[kind]) for kind in _KINDS if attribute.get(kind) is not None), None)


# Counters that the devices of a pool share, such as the memory of a card that can be cut into parts.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``checkAvailableCounters``), releases 1.34 and 1.36.

_Counter = tuple[str, str]
"""Counter set and counter."""


class SharedCounters:
    """The amounts that are left of the counters of all pools, while some of them are being given away.

    As in kube-scheduler, pools of the same name share their counters, also those of two drivers: the counters are those
    of the pool of which a device was looked at first.
    """

    def __init__(self, pools: Sequence[Pool], allocated: AllocatedDevices) -> None:
        self._pools, self._allocated = {pool.id: pool for pool in pools}, allocated
        self._left: dict[str, dict[_Counter, int]] = {}
        self._taken: dict[str, Counter[_Counter]] = {}

    def take(self, device: Device) -> bool:
        """Take what a device consumes; False, and nothing is taken, if not enough is left of a counter of its pool."""
        name = device.id.pool
        if name not in self._left:
            self._left[name] = _left(self._pools[device.id.driver, name], self._allocated)
        taken = self._taken.setdefault(name, Counter())
        _count(taken, device, 1)
        if any(left < taken[counter] for counter, left in self._left[name].items()):
            _count(taken, device, -1)
            return False
        return True

    def give_back(self, device: Device) -> None:
        """Give back what a device consumes."""
        _count(self._taken.setdefault(device.id.pool, Counter()), device, -1)


def _count(taken: Counter[_Counter], device: Device, sign: int) -> None:
    for counter, amount in _consumed(device.object):
        taken[counter] += sign * amount


def _left(pool: Pool, allocated: AllocatedDevices) -> dict[_Counter, int]:
    found: dict[_Counter, int] = {}
    for spec in pool.everything:
        for each in spec.get("sharedCounters") or ():
            for name, counter in (each.get("counters") or {}).items():
                found[each.get("name", ""), name] = parse(str(counter.get("value") or "0")).nano
    for spec in pool.everything:
        for device in spec.get("devices") or ():
            if allocated.is_in_use(DeviceId(*pool.id, device.get("name", ""))):
                for counter, amount in _consumed(device):
                    if counter in found:
                        found[counter] -= amount
    return found


def _consumed(device: Mapping[str, Any]) -> Iterator[tuple[_Counter, int]]:
    for each in device.get("consumesCounters") or ():
        for name in each.get("counters") or {}:
            amount = parse(str(at(each, "counters", name, "value") or "0")).nano
            yield (each.get("counterSet", ""), name), amount


# The search for devices for the claims of a pod on one node: the first solution in the order of the devices.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``Allocate``), releases 1.34 and 1.36.

_MOST_TRIES: Final = 100_000
"""The devices that are tried on one node, after which the search is given up; kube-scheduler gives up by time."""


class TimedOut(Exception):
    """A search that was given up."""


class Chosen(NamedTuple):
    """A device for a request."""

    request: Request
    device: Device
    consumed: Mapping[str, Quantity] | None = None
    """The amounts that it takes, if others may have the device too."""


class _Step(NamedTuple):
    """The next thing to be decided: an alternative of a request, or a device of it."""

    claim: int
    request: int
    chosen: Request | None = None
    """The alternative that was taken; None: not yet."""
    taken: int = 0
    """The number of devices that it has already."""
    first: int = 0
    """The place at which the search goes on: the devices of a request are taken in their order."""


class Allocator:
    """The search on one node.

    Parameters
    ----------
    claims
        The claims that need devices.
    pools
        The pools that the node reaches.
    allocated
        The devices that are in use.
    class_of
        A device class by name.

    Raises
    ------
    AllocationError
        For a claim or class with which the scheduler cannot go on.
    """

    def __init__(
        self,
        behaviour: ServedBehaviour,
        claims: Sequence[Object],
        pools: Sequence[Pool],
        allocated: AllocatedDevices,
        class_of: ClassOf,
    ) -> None:
        self._allocated, self._capacity = allocated, SharedCapacity(behaviour, allocated)
        around = Surroundings(pools, class_of, self._capacity)
        self._requests = [
            [alternatives(behaviour, claim, each, around) for each in at(claim, "spec", "devices", "requests") or ()]
            for claim in claims
        ]
        for claim, requests in zip(claims, self._requests, strict=True):
            least = sum(min(each.count for each in options) for options in requests)
            if least > MOST_DEVICES:
                text = f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
                raise AllocationError(f"claim {shown(claim)}: {text}")
        self._constraints = [_constraints(behaviour, each) for each in claims]
        self._candidates = [each for pool in pools if not pool.incomplete and not pool.invalid for each in pool.devices]
        self._counters = SharedCounters(pools, allocated)
        self._counts, self._heeds_taints = (
            behaviour.applies("scheduler-counts-shared-counters"),
            behaviour.applies("scheduler-heeds-device-taints"),
        )
        self._selected: dict[tuple[Request, Device], bool] = {}
        self._taken: dict[DeviceId, list[int]] = {}
        self._tries = 0
        self.results: list[list[Chosen]] = [[] for _ in claims]
        """The chosen devices of each claim."""

    def search(self, behaviour: ServedBehaviour) -> bool:
        """True if every claim has its devices, in ``results``. Raises AllocationError and TimedOut.

        Each decision is a generator that makes a choice, and takes it back when it is asked for the next one.
        """
        stack = [self._decide(behaviour, _Step(0, 0))]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
            elif step.claim == len(self._requests):
                return True
            else:
                stack.append(self._decide(behaviour, step))
        return False

    def _decide(self, behaviour: ServedBehaviour, step: _Step) -> Iterator[_Step]:
        """The steps that come after each way to decide one."""
        if step.claim == len(self._requests):
            yield step
            return
        requests = self._requests[step.claim]
        if step.request == len(requests):
            yield _Step(step.claim + 1, 0)
        elif step.chosen is None:
            for each in requests[step.request]:
                if each.count and len(self.results[step.claim]) + each.count <= MOST_DEVICES:
                    yield step._replace(chosen=each)
        elif step.taken == step.chosen.count:
            yield _Step(step.claim, step.request + 1)
        elif step.chosen.everything is not None:
            yield from self._everything(step, step.chosen, step.chosen.everything[step.taken])
        else:
            yield from self._one(behaviour, step, step.chosen)

    def _everything(self, step: _Step, request: Request, device: Device) -> Iterator[_Step]:
        yield from self._with(step, request, device, 0)

    def _one(self, behaviour: ServedBehaviour, step: _Step, request: Request) -> Iterator[_Step]:
        for position in range(step.first, len(self._candidates)):
            device = self._candidates[position]
            self._tries += 1
            if self._tries > _MOST_TRIES:
                raise TimedOut
            usable = self._free(step.claim, request, device) and self._selects(behaviour, request, device)
            if usable and self._capacity.has_room(request.spec, device):
                yield from self._with(step, request, device, position + 1)

    def _free(self, claim: int, request: Request, device: Device) -> bool:
        if request.watches and self._capacity.is_shared(device):
            return True
        users = self._taken.get(device.id, ())
        return claim not in users if request.watches else not users and not self._allocated.is_taken(device.id)

    def _selects(self, behaviour: ServedBehaviour, request: Request, device: Device) -> bool:
        found = self._selected.get((request, device))
        if found is None:
            found = selected(behaviour, request.claim, request.spec, request.device_class, device)
            self._selected[request, device] = found
        return found

    def _with(self, step: _Step, request: Request, device: Device, first: int) -> Iterator[_Step]:
        """The step after a device was taken, as long as it stays taken."""
        shared = self._capacity.is_shared(device)
        if not self._free(step.claim, request, device) or not self._take_counters(device, shared=shared):
            return
        if self._heeds_taints and not request.tolerates(device):
            return  # as in kube-scheduler, what the device consumes of counters is not given back
        if not self._take_in(step.claim, request, device) or not self._capacity.has_room(request.spec, device):
            return
        consumed = (self._capacity.amounts(request.spec, device) or {}) if shared else None
        self._mark(step.claim, device, consumed)
        self.results[step.claim].append(Chosen(request, device, consumed))
        yield step._replace(taken=step.taken + 1, first=first)
        self.results[step.claim].pop()
        for each in self._constraints[step.claim]:
            each.remove(request.name)
        self._unmark(device, consumed)

    def _take_counters(self, device: Device, *, shared: bool) -> bool:
        """True if the counters of a device last for it; a share of a device of which others have some costs nothing."""
        if not device.object.get("consumesCounters"):
            return True
        if not self._counts:
            return False
        return (shared and self._capacity.is_consumed(device.id)) or self._counters.take(device)

    def _take_in(self, claim: int, request: Request, device: Device) -> bool:
        """True if no constraint of a claim refuses a device. Raises AllocationError where all devices are needed."""
        for index, each in enumerate(self._constraints[claim]):
            if each.add(request.name, device):
                continue
            if request.everything is not None:
                text = f"cannot add device {device.id} because a claim constraint would not be satisfied"
                told = request.name.rpartition("/")[2]
                raise AllocationError(f"claim {shown(request.claim)}, request {told}: {text}")
            for earlier in self._constraints[claim][:index]:
                earlier.remove(request.name)
            return False
        return True

    def _mark(self, claim: int, device: Device, consumed: Mapping[str, Quantity] | None) -> None:
        if consumed is None:
            self._taken.setdefault(device.id, []).append(claim)
        else:
            self._capacity.take(device.id, consumed)

    def _unmark(self, device: Device, consumed: Mapping[str, Quantity] | None) -> None:
        """Give back a device; as in kube-scheduler, what a share of it consumes of counters stays taken."""
        if consumed is not None:
            self._capacity.give_back(device.id, consumed)
            return
        self._taken[device.id].pop()
        if device.object.get("consumesCounters"):
            self._counters.give_back(device)


def _constraints(behaviour: ServedBehaviour, claim: Object) -> list[AttributeConstraint]:
    found = []
    for index, each in enumerate(at(claim, "spec", "devices", "constraints") or ()):
        try:
            found.append(AttributeConstraint(behaviour, each))
        except ValueError as error:
            raise AllocationError(f"claim {shown(claim)}, constraint #{index}: {error}") from error
    return found
