"""The identities of devices."""

from __future__ import annotations

from typing import NamedTuple


class DeviceId(NamedTuple):
    """The identity of a device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)
