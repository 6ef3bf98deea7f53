"""Capacity of devices: the amounts that a request takes of a device, and what is left of one that several share.

Upstream: k8s.io/dynamic-resource-allocation/structured (``CmpRequestOverCapacity``), release 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.behaviour import applies
from simkit.meta.objects import at
from simkit.meta.quantity import NANO, Quantity, parse
from simkit.simulation.scheduler.devices.allocated import AllocatedDevices
from simkit.simulation.scheduler.devices.pools import Device


class SharedCapacity:
    """The capacity that is left of devices, while some of it is being given away."""

    def __init__(self, allocated: AllocatedDevices) -> None:
        self._allocated = allocated
        self._counts = applies("scheduler-shares-devices")
        self._taken: dict[DeviceId, Counter[str]] = {}
        self._amounts: dict[tuple[int, Device], dict[str, Quantity] | None] = {}
        """The amounts for each request that was looked at, which are kept as long as this, and device."""

    def is_shared(self, device: Device) -> bool:
        """True if several requests may have a device."""
        return self._counts and bool(device.object.get("allowMultipleAllocations"))

    def has_room(self, request: Mapping[str, Any], device: Device) -> bool:
        """True if a device has what a request asks for, and enough of it is left."""
        if not self._counts:
            return True
        amounts = self.amounts(request, device)
        if amounts is None:
            return False
        capacities, used, taken = device.object.get("capacity") or {}, *self._used(device.id)
        return all(
            used.get(name, 0) + taken.get(name, 0) + amount.nano <= _value(capacities[name]).nano
            for name, amount in amounts.items()
        )

    def amounts(self, request: Mapping[str, Any], device: Device) -> dict[str, Quantity] | None:
        """The amounts that a request takes of a device, see ``amounts_for``."""
        known = (id(request), device)
        if known not in self._amounts:
            self._amounts[known] = amounts_for(request, device.object)
        return self._amounts[known]

    def is_consumed(self, device: DeviceId) -> bool:
        """True if something of a device is taken, or, in this search, it was given to somebody without any capacity."""
        return bool(self._allocated.consumed(device)) or device in self._taken

    def take(self, device: DeviceId, amounts: Mapping[str, Quantity]) -> None:
        """Take amounts of a device."""
        self._count(device, amounts, 1)

    def give_back(self, device: DeviceId, amounts: Mapping[str, Quantity]) -> None:
        """Give back what was taken."""
        self._count(device, amounts, -1)
        if amounts and not any(self._taken[device].values()):
            del self._taken[device]

    def _used(self, device: DeviceId) -> tuple[Mapping[str, int], Mapping[str, int]]:
        return self._allocated.consumed(device), self._taken.get(device, {})

    def _count(self, device: DeviceId, amounts: Mapping[str, Quantity], sign: int) -> None:
        taken = self._taken.setdefault(device, Counter())
        for name, amount in amounts.items():
            taken[name] += sign * amount.nano


def amounts_for(request: Mapping[str, Any], device: Mapping[str, Any]) -> dict[str, Quantity] | None:
    """The amounts that a request takes of each capacity of a device; None if the device does not give them.

    Examples
    --------
    >>> policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}
    >>> device = {"capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}}}
    >>> str(amounts_for({"capacity": {"requests": {"memory": "4Gi"}}}, device)["memory"])
    '5Gi'
    """
    wanted: Mapping[str, Any] = at(request, "capacity", "requests") or {}
    capacities: Mapping[str, Any] = device.get("capacity") or {}
    if not wanted.keys() <= capacities.keys():
        return None
    found = {name: _amount(wanted.get(name), each) for name, each in sorted(capacities.items())}
    return found if all(_is_valid(found[name], each) for name, each in capacities.items()) else None


def _value(capacity: Mapping[str, Any]) -> Quantity:
    return parse(str(capacity.get("value") or "0"))


def _amount(wanted: Any, capacity: Mapping[str, Any]) -> Quantity:
    """The wanted amount, rounded up to one that is given; if nothing is said, the default or all of it."""
    policy = capacity.get("requestPolicy") or {}
    if wanted is None:
        return parse(str(policy["default"])) if policy.get("default") is not None else _value(capacity)
    amount = parse(str(wanted))
    if policy.get("validRange"):
        return _in_steps(amount, policy["validRange"])
    return next((each for each in _values(policy) if amount.nano <= each.nano), amount)


def _values(policy: Mapping[str, Any]) -> list[Quantity]:
    return [parse(str(each)) for each in policy.get("validValues") or ()]


def _in_steps(amount: Quantity, given: Mapping[str, Any]) -> Quantity:
    least = parse(str(given.get("min") or "0"))
    if amount.nano < least.nano:
        return least
    if given.get("step") is None:
        return amount
    step = parse(str(given["step"])).whole
    steps = -(-(amount.whole - least.whole) // step)
    return Quantity((least.whole + steps * step) * NANO, "BinarySI")


def _is_valid(amount: Quantity, capacity: Mapping[str, Any]) -> bool:
    """True if an amount is one that a policy allows, as the default always is."""
    policy = capacity.get("requestPolicy") or {}
    if policy.get("default") is not None and parse(str(policy["default"])).nano == amount.nano:
        return True
    given = policy.get("validRange")
    if given:
        most, step = given.get("max"), given.get("step")
        if most is not None and amount.nano > parse(str(most)).nano:
            return False
        least = parse(str(given.get("min") or "0")).whole
        return step is None or (amount.whole - least) % parse(str(step)).whole == 0
    values = _values(policy)
    return not values or any(each.nano == amount.nano for each in values)
