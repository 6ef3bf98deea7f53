"""Counters that the devices of a pool share, such as the memory of a card that can be cut into parts.

Upstream: k8s.io/dynamic-resource-allocation/structured (``checkAvailableCounters``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.logic.workloads.device_id import DeviceId, PoolId
from simkit.meta.objects import at
from simkit.meta.quantity import parse
from simkit.simulation.scheduler.devices.allocated import AllocatedDevices
from simkit.simulation.scheduler.devices.pools import Device, Pool

_Counter = tuple[str, str]
"""Counter set and counter."""


class SharedCounters:
    """The amounts that are left of the counters of all pools."""

    def __init__(self, pools: list[Pool], allocated: AllocatedDevices) -> None:
        self._left = {pool.id: _left(pool, allocated) for pool in pools}

    def take(self, device: Device) -> bool:
        """Take what a device consumes; False, and nothing is taken, if something of it is not left."""
        left = self._left[_pool(device)]
        wanted = list(_consumed(device.object))
        if any(left.get(counter, 0) < amount for counter, amount in wanted):
            return False
        for counter, amount in wanted:
            left[counter] -= amount
        return True

    def give_back(self, device: Device) -> None:
        """Give back what a device consumes."""
        left = self._left[_pool(device)]
        for counter, amount in _consumed(device.object):
            left[counter] += amount


def _pool(device: Device) -> PoolId:
    return device.id.driver, device.id.pool


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
                    found[counter] = found.get(counter, 0) - amount
    return found


def _consumed(device: Mapping[str, Any]) -> Iterator[tuple[_Counter, int]]:
    totals: dict[_Counter, int] = {}
    for each in device.get("consumesCounters") or ():
        for name in each.get("counters") or {}:
            key = (each.get("counterSet", ""), name)
            totals[key] = totals.get(key, 0) + parse(str(at(each, "counters", name, "value") or "0")).nano
    yield from totals.items()
