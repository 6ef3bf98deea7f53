"""The identity of a device, in the status of a claim."""

from __future__ import annotations

from simkit.meta.objects import Object


def device_key(device: Object) -> tuple[str, ...]:
    """The driver, pool, name and share of a device."""
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))
