"""The devices that claims have: those of one claim, and the capacity that is taken of those that several share.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go, release 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at
from simkit.meta.quantity import parse


class AllocatedDevices:
    """The devices of claims, without those that administrators only look at.

    Parameters
    ----------
    claims
        The claims. O(their devices), as each claim that is added or removed later.
    """

    def __init__(self, claims: Iterable[Object] = ()) -> None:
        self._whole: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: dict[DeviceId, Counter[str]] = {}
        for each in claims:
            self.add(each)

    def add(self, claim: Object) -> None:
        """Know the devices of a claim."""
        self._count(claim, 1)

    def remove(self, claim: Object) -> None:
        """Forget the devices of a claim, as it was added."""
        self._count(claim, -1)

    def is_taken(self, device: DeviceId) -> bool:
        """True if a claim has a device for itself."""
        return self._whole[device] > 0

    def is_in_use(self, device: DeviceId) -> bool:
        """True if a claim has a device, or a share of it."""
        return self._whole[device] > 0 or self._shares[device] > 0

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """The sum of the shares of a device, in billionths of each capacity."""
        return self._consumed.get(device, {})

    def _count(self, claim: Object, sign: int) -> None:
        shares = applies("scheduler-shares-devices")
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
