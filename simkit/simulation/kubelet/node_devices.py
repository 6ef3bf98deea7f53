"""The devices of a simulated node, which their drivers publish as resource slices.

Upstream: k8s.io/dynamic-resource-allocation/resourceslice, release 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from simkit.engine.controllers.client_requests import path_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import uid_of
from simkit.engine.controllers.resources import RESOURCE_SLICES
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.objects import Object, name_of

_MOST_DEVICES: Final = 64
"""Devices of one slice, with which those that have taints fit too."""
_KINDS: Final[Mapping[type, str]] = {bool: "bool", int: "int", str: "string"}
_SERVED: Final = "release 1.34 and later serve it, 1.32 and 1.33 with --runtime-config and DynamicResourceAllocation"


class DeviceConfig(BaseModel):
    """Equal devices of a node.

    Attributes
    ----------
    name, count
        The names: ``{}`` in it is the number of the device, which is added where there are several.
    attributes
        Values by name: texts, whole numbers, ``true``, or ``{version: 1.2.3}``.
    capacity
        Amounts by name, or ``{value: 40Gi, requestPolicy: ...}``.
    allow_multiple_allocations
        Whether several claims may share a device, each with a part of its capacity.
    binding_conditions, binding_failure_conditions
        Conditions in the status of a claim that its pod waits for, and those by which a device has failed.
    binds_to_node
        Whether a device is of use on one node alone once it is allocated.
    taints
        What keeps requests away that do not tolerate it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "device-{}"
    count: int = Field(1, ge=1, le=1000)
    attributes: Mapping[str, bool | int | str | Mapping[str, Any]] = Field(default_factory=dict)
    capacity: Mapping[str, str | Mapping[str, Any]] = Field(default_factory=dict)
    taints: Sequence[Mapping[str, Any]] = ()
    allow_multiple_allocations: bool = False
    binding_conditions: Sequence[str] = ()
    binding_failure_conditions: Sequence[str] = ()
    binds_to_node: bool = False

    def devices(self) -> Iterator[dict[str, Any]]:
        """The devices as a slice has them."""
        several = self.name if "{}" in self.name or self.count == 1 else f"{self.name}-{{}}"
        for number in range(self.count):
            found: dict[str, Any] = {"name": several.replace("{}", str(number))}
            if self.attributes:
                found["attributes"] = {name: _attribute(value) for name, value in self.attributes.items()}
            if self.capacity:
                found["capacity"] = {name: _capacity(amount) for name, amount in self.capacity.items()}
            if self.taints:
                found["taints"] = [dict(each) for each in self.taints]
            flags = {
                "allowMultipleAllocations": self.allow_multiple_allocations,
                "bindingConditions": list(self.binding_conditions),
                "bindingFailureConditions": list(self.binding_failure_conditions),
                "bindsToNode": self.binds_to_node,
            }
            found |= {name: value for name, value in flags.items() if value}
            yield found


def _attribute(value: bool | int | str | Mapping[str, Any]) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {_KINDS[type(value)]: value}


def _capacity(amount: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"value": amount} if isinstance(amount, str) else amount


class DriverConfig(BaseModel):
    """The devices of one driver on a node; ``pool`` is the name of the node unless it is said."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    driver: str
    pool: str = ""
    devices: Sequence[DeviceConfig] = ()


def resource_slices(drivers: Sequence[DriverConfig], node: Object) -> Iterator[dict[str, Any]]:
    """The slices of a node's drivers."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node), "controller": True}
    for driver in drivers:
        devices = [device for each in driver.devices for device in each.devices()]
        parts = [devices[start : start + _MOST_DEVICES] for start in range(0, len(devices), _MOST_DEVICES)] or [[]]
        pool = {"name": driver.pool or name_of(node), "generation": 1, "resourceSliceCount": len(parts)}
        for part in parts:
            yield {
                "apiVersion": f"{RESOURCE_SLICES.group}/v1",
                "kind": "ResourceSlice",
                "metadata": {"generateName": f"{name_of(node)}-{driver.driver}-", "ownerReferences": [owner]},
                "spec": {"driver": driver.driver, "nodeName": name_of(node), "pool": pool, "devices": part},
            }


def publish_devices(client: Client, drivers: Sequence[DriverConfig], node: Object) -> None:
    """Create the slices of a node. Raises SimkitError for devices that are refused, or that nobody serves."""
    for wanted in resource_slices(drivers, node):
        response = client.perform(Request.of("POST", path_of(RESOURCE_SLICES), wanted))
        if response.status == 404:
            raise SimkitError(f"devices: {RESOURCE_SLICES} are not served; {_SERVED}")
        if not response.succeeded:
            raise SimkitError(f"devices of node {name_of(node)}: {response.object['message']}")
