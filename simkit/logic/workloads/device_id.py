"""The identities of devices, and those of an allocated claim."""

from __future__ import annotations

from typing import NamedTuple

from simkit.meta.objects import Object, at


class DeviceId(NamedTuple):
    """The identity of a device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


def devices_of(claim: Object) -> list[DeviceId]:
    """The devices that a claim has and that nobody else can have.

    Examples
    --------
    >>> result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    >>> devices_of({"status": {"allocation": {"devices": {"results": [result]}}}})
    [DeviceId(driver='gpu.example.com', pool='node-1', device='gpu-0')]
    """
    results = at(claim, "status", "allocation", "devices", "results") or ()
    return [DeviceId(each["driver"], each["pool"], each["device"]) for each in results if not each.get("adminAccess")]
