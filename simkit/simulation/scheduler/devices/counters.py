"""Counters that the devices of a pool share, such as the memory of a card that can be cut into parts.

Upstream: k8s.io/dynamic-resource-allocation/structured (``checkAvailableCounters``), releases 1.34 and 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.objects import at
from simkit.meta.quantity import parse
from simkit.simulation.scheduler.devices.allocated import AllocatedDevices
from simkit.simulation.scheduler.devices.pools import Device, Pool

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
