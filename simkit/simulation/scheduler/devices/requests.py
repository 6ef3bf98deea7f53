"""The requests of a claim, each with its alternatives and the class of devices that it names.

Upstream: k8s.io/dynamic-resource-allocation/structured (``validateDeviceRequest``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError
from simkit.logic.workloads.device_selectors import selects_device
from simkit.logic.workloads.nodes import tolerated
from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.scheduler.devices.binding_conditions import awaits_devices
from simkit.simulation.scheduler.devices.capacity import SharedCapacity
from simkit.simulation.scheduler.devices.pools import Device, Pool

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


def alternatives(claim: Object, request: Mapping[str, Any], around: Surroundings) -> list[Request]:
    """The request itself, or its alternatives in their order. Raises AllocationError."""
    name = str(request.get("name") or "")
    choices = request.get("firstAvailable") or ()
    if not choices:
        exactly = request.get("exactly") or {}
        _check_capacity(claim, f"request {name}", exactly)
        return [_made(claim, name, name, exactly, around)]
    if not applies("scheduler-tries-first-available"):
        text = "has subrequests, but the DRAPrioritizedList feature is disabled"
        raise AllocationError(f"claim {shown(claim)}, request {name}: {text}")
    for each in choices:
        _check_capacity(claim, f"subrequest {each.get('name', '')}", each)
    return [
        _made(claim, f"{name}/{each.get('name', '')}", str(each.get("name") or ""), each, around) for each in choices
    ]


def _check_capacity(claim: Object, where: str, spec: Mapping[str, Any]) -> None:
    if spec.get("capacity") is not None and not applies("scheduler-shares-devices"):
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise AllocationError(f"claim {shown(claim)}, {where}: {text}")


def _made(claim: Object, name: str, told: str, spec: Mapping[str, Any], around: Surroundings) -> Request:
    where = f"claim {shown(claim)}, request {told}"
    if spec.get("adminAccess") is not None and not applies("scheduler-allows-admin-access"):
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
        devices = [each for pool in around.pools for each in pool.devices if selected(claim, spec, found, each)]
        every = [each for each in devices if around.capacity.has_room(spec, each)]
    return Request(claim, name, spec, found, around.pools, every)


def selected(claim: Object, spec: Mapping[str, Any], device_class: Object, device: Device) -> bool:
    """True if all selectors of a class and of a request select a device. Raises AllocationError."""
    if device.object.get("bindingConditions") and not awaits_devices():
        return False
    of_class = at(device_class, "spec", "selectors") or ()
    return (
        _all_select(f"class {name_of(device_class)}", of_class, device)
        and _all_select(f"claim {shown(claim)}", spec.get("selectors") or (), device)
        and device.here
    )


def _all_select(whose: str, selectors: Sequence[Mapping[str, Any]], device: Device) -> bool:
    for index, each in enumerate(selectors):
        try:
            if not selects_device(str(at(each, "cel", "expression") or ""), device.id.driver, device.object):
                return False
        except CompileError as error:
            text = f"CEL compile error: compilation failed: {error}"
            raise AllocationError(f"{whose}: selector #{index}: {text}") from error
        except (EvaluationError, BudgetExceeded) as error:
            where = f" on device {device.id}" if applies("scheduler-names-device-of-errors") else ""
            raise AllocationError(f"{whose}: selector #{index}{where}: CEL runtime error: {error}") from error
    return True
