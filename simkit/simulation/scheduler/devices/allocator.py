"""The search for devices for the claims of a pod on one node: the first solution in the order of the devices.

Upstream: k8s.io/dynamic-resource-allocation/structured (``Allocate``), releases 1.34 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at
from simkit.meta.quantity import Quantity
from simkit.simulation.scheduler.devices.allocated import AllocatedDevices
from simkit.simulation.scheduler.devices.capacity import SharedCapacity
from simkit.simulation.scheduler.devices.constraints import AttributeConstraint
from simkit.simulation.scheduler.devices.counters import SharedCounters
from simkit.simulation.scheduler.devices.pools import Device, Pool
from simkit.simulation.scheduler.devices.requests import (
    MOST_DEVICES,
    AllocationError,
    ClassOf,
    Request,
    Surroundings,
    alternatives,
    selected,
    shown,
)

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
        self, claims: Sequence[Object], pools: Sequence[Pool], allocated: AllocatedDevices, class_of: ClassOf
    ) -> None:
        self._allocated, self._capacity = allocated, SharedCapacity(allocated)
        around = Surroundings(pools, class_of, self._capacity)
        self._requests = [
            [alternatives(claim, each, around) for each in at(claim, "spec", "devices", "requests") or ()]
            for claim in claims
        ]
        for claim, requests in zip(claims, self._requests, strict=True):
            least = sum(min(each.count for each in options) for options in requests)
            if least > MOST_DEVICES:
                text = f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
                raise AllocationError(f"claim {shown(claim)}: {text}")
        self._constraints = [_constraints(each) for each in claims]
        self._candidates = [each for pool in pools if not pool.incomplete and not pool.invalid for each in pool.devices]
        self._counters = SharedCounters(pools, allocated)
        self._counts, self._heeds_taints = (
            applies("scheduler-counts-shared-counters"),
            applies("scheduler-heeds-device-taints"),
        )
        self._selected: dict[tuple[Request, Device], bool] = {}
        self._taken: dict[DeviceId, list[int]] = {}
        self._tries = 0
        self.results: list[list[Chosen]] = [[] for _ in claims]
        """The chosen devices of each claim."""

    def search(self) -> bool:
        """True if every claim has its devices, in ``results``. Raises AllocationError and TimedOut.

        Each decision is a generator that makes a choice, and takes it back when it is asked for the next one.
        """
        stack = [self._decide(_Step(0, 0))]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
            elif step.claim == len(self._requests):
                return True
            else:
                stack.append(self._decide(step))
        return False

    def _decide(self, step: _Step) -> Iterator[_Step]:
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
            yield from self._one(step, step.chosen)

    def _everything(self, step: _Step, request: Request, device: Device) -> Iterator[_Step]:
        yield from self._with(step, request, device, 0)

    def _one(self, step: _Step, request: Request) -> Iterator[_Step]:
        for position in range(step.first, len(self._candidates)):
            device = self._candidates[position]
            self._tries += 1
            if self._tries > _MOST_TRIES:
                raise TimedOut
            usable = self._free(step.claim, request, device) and self._selects(request, device)
            if usable and self._capacity.has_room(request.spec, device):
                yield from self._with(step, request, device, position + 1)

    def _free(self, claim: int, request: Request, device: Device) -> bool:
        if request.watches and self._capacity.is_shared(device):
            return True
        users = self._taken.get(device.id, ())
        return claim not in users if request.watches else not users and not self._allocated.is_taken(device.id)

    def _selects(self, request: Request, device: Device) -> bool:
        found = self._selected.get((request, device))
        if found is None:
            found = selected(request.claim, request.spec, request.device_class, device)
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


def _constraints(claim: Object) -> list[AttributeConstraint]:
    found = []
    for index, each in enumerate(at(claim, "spec", "devices", "constraints") or ()):
        try:
            found.append(AttributeConstraint(each))
        except ValueError as error:
            raise AllocationError(f"claim {shown(claim)}, constraint #{index}: {error}") from error
    return found
