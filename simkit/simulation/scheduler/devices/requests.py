"""The requests of a claim, the devices that they name, and the capacity that they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError
from simkit.logic.workloads.device_id import DeviceId
from simkit.logic.workloads.device_selectors import selects_device
from simkit.logic.workloads.nodes import tolerated
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.meta.quantity import NANO, Quantity, parse
from simkit.simulation.scheduler.devices.pools import Device, Pool, awaits_devices

# The devices that claims have: those of one claim, and the capacity that is taken of those that several share.
# Upstream: pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go, release 1.36.


class AllocatedDevices:
    """The devices of claims, without those that administrators only look at.

    Parameters
    ----------
    claims
        The claims. O(their devices), as each claim that is added or removed later.
    """

    def __init__(self, behaviour: ServedBehaviour, claims: Iterable[Object] = ()) -> None:
        self._whole: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: dict[DeviceId, Counter[str]] = {}
        for each in claims:
            self.add(behaviour, each)

    def add(self, behaviour: ServedBehaviour, claim: Object) -> None:
        """Know the devices of a claim."""
        self._count(behaviour, claim, 1)

    def remove(self, behaviour: ServedBehaviour, claim: Object) -> None:
        """Forget the devices of a claim, as it was added."""
        self._count(behaviour, claim, -1)

    def is_taken(self, device: DeviceId) -> bool:
        """True if a claim has a device for itself."""
        return self._whole[device] > 0

    def is_in_use(self, device: DeviceId) -> bool:
        """True if a claim has a device, or a share of it."""
        return self._whole[device] > 0 or self._shares[device] > 0

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """The sum of the shares of a device, in billionths of each capacity."""
        return self._consumed.get(device, {})

    def _count(self, behaviour: ServedBehaviour, claim: Object, sign: int) -> None:
        shares = behaviour.applies("scheduler-shares-devices")
        for result in at(claim, "status", "allocation", "devices", "results") or ():
            if result.get("adminAccess"):
                continue
            device = DeviceId(result["driver"], result["pool"], result["device"])
            if shares and result.get("shareID"):
                self._shares[device] += sign
                self._consume(device, result.get("consumedCapacity") or {}, sign)
            else:
                self._whole[device] += sign

    def _consume(self, device: DeviceId, amounts: Mapping[str, Any], sign: int) -> None:
        consumed = self._consumed.setdefault(device, Counter())
        for name, amount in amounts.items():
            consumed[name] += sign * parse(str(amount)).nano
        if not any(consumed.values()):
            del self._consumed[device]


# Capacity of devices: the amounts that a request takes of a device, and what is left of one that several share.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``CmpRequestOverCapacity``), release 1.36.


class SharedCapacity:
    """The capacity that is left of devices, while some of it is being given away."""

    def __init__(self, behaviour: ServedBehaviour, allocated: AllocatedDevices) -> None:
        self._allocated = allocated
        self._counts = behaviour.applies("scheduler-shares-devices")
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


# The requests of a claim, each with its alternatives and the class of devices that it names.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``validateDeviceRequest``), release 1.34.

MOST_DEVICES: Final = 32
"""The most devices of a claim."""
ClassOf = Callable[[str], Object | None]
_BLOCKING: Final = ("NoSchedule", "NoExecute")


class AllocationError(Exception):
    """A claim or class with which the scheduler cannot go on; the text is kube-scheduler's."""


def shown(claim: Object) -> str:
    """Namespace and name of a claim."""
    return f"{namespace_of(claim)}/{name_of(claim)}"


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request, or one of the alternatives of a request.

    Attributes
    ----------
    name
        The name in results: that of the request, with that of the alternative after a slash.
    spec
        The fields of the request itself.
    everything
        All devices that it selects, if it asks for all; None if it asks for a number.
    """

    claim: Object
    name: str
    spec: Mapping[str, Any]
    device_class: Object
    pools: Sequence[Pool]
    everything: Sequence[Device] | None

    @property
    def count(self) -> int:
        """The number of devices."""
        return int(self.spec.get("count") or 1) if self.everything is None else len(self.everything)

    @property
    def watches(self) -> bool:
        """True if it is for an administrator, who gets devices that are in use too."""
        return bool(self.spec.get("adminAccess"))

    def tolerates(self, device: Device) -> bool:
        """True if no taint of a device keeps the request away."""
        tolerations = self.spec.get("tolerations") or ()
        blocking = [each for each in device.taints if each.get("effect") in _BLOCKING]
        return all(any(tolerated(each, taint) for each in tolerations) for taint in blocking)


class Surroundings(NamedTuple):
    """The pools that a node reaches, classes by name, and the capacity that is left of devices."""

    pools: Sequence[Pool]
    class_of: ClassOf
    capacity: SharedCapacity


def alternatives(
    behaviour: ServedBehaviour, claim: Object, request: Mapping[str, Any], around: Surroundings
) -> list[Request]:
    """The request itself, or its alternatives in their order. Raises AllocationError."""
    name = str(request.get("name") or "")
    choices = request.get("firstAvailable") or ()
    if not choices:
        exactly = request.get("exactly") or {}
        _check_capacity(behaviour, claim, f"request {name}", exactly)
        return [_made(behaviour, claim, name, name, exactly, around)]
    if not behaviour.applies("scheduler-tries-first-available"):
        text = "has subrequests, but the DRAPrioritizedList feature is disabled"
        raise AllocationError(f"claim {shown(claim)}, request {name}: {text}")
    for each in choices:
        _check_capacity(behaviour, claim, f"subrequest {each.get('name', '')}", each)
    return [
        _made(behaviour, claim, f"{name}/{each.get('name', '')}", str(each.get("name") or ""), each, around)
        for each in choices
    ]


def _check_capacity(behaviour: ServedBehaviour, claim: Object, where: str, spec: Mapping[str, Any]) -> None:
    if spec.get("capacity") is not None and not behaviour.applies("scheduler-shares-devices"):
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise AllocationError(f"claim {shown(claim)}, {where}: {text}")


def _made(
    behaviour: ServedBehaviour, claim: Object, name: str, told: str, spec: Mapping[str, Any], around: Surroundings
) -> Request:
    where = f"claim {shown(claim)}, request {told}"
    if spec.get("adminAccess") is not None and not behaviour.applies("scheduler-allows-admin-access"):
        raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
    wanted = str(spec.get("deviceClassName") or "")
    found = around.class_of(wanted)
    if found is None:
        text = f'could not retrieve device class {wanted}: deviceclass.{api_group("resource")} "{wanted}" not found'
        raise AllocationError(f"{where}: {text}")
    every: list[Device] | None = None
    if spec.get("allocationMode") == "All":
        for pool in around.pools:
            state = "being updated" if pool.incomplete else "invalid" if pool.invalid else ""
            if state:
                raise AllocationError(f"{where}: asks for all devices, but resource pool {pool} is currently {state}")
        devices = [
            each for pool in around.pools for each in pool.devices if selected(behaviour, claim, spec, found, each)
        ]
        every = [each for each in devices if around.capacity.has_room(spec, each)]
    return Request(claim, name, spec, found, around.pools, every)


def selected(
    behaviour: ServedBehaviour, claim: Object, spec: Mapping[str, Any], device_class: Object, device: Device
) -> bool:
    """True if all selectors of a class and of a request select a device. Raises AllocationError."""
    if device.object.get("bindingConditions") and not awaits_devices(behaviour):
        return False
    of_class = at(device_class, "spec", "selectors") or ()
    return (
        _all_select(behaviour, f"class {name_of(device_class)}", of_class, device)
        and _all_select(behaviour, f"claim {shown(claim)}", spec.get("selectors") or (), device)
        and device.here
    )


def _all_select(behaviour: ServedBehaviour, whose: str, selectors: Sequence[Mapping[str, Any]], device: Device) -> bool:
    for index, each in enumerate(selectors):
        try:
            if not selects_device(behaviour, str(at(each, "cel", "expression") or ""), device.id.driver, device.object):
                return False
        except CompileError as error:
            text = f"CEL compile error: compilation failed: {error}"
            raise AllocationError(f"{whose}: selector #{index}: {text}") from error
        except (EvaluationError, BudgetExceeded) as error:
            where = f" on device {device.id}" if behaviour.applies("scheduler-names-device-of-errors") else ""
            raise AllocationError(f"{whose}: selector #{index}{where}: CEL runtime error: {error}") from error
    return True
