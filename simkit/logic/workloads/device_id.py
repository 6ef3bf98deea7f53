"""The identities of devices and of their pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simkit.meta.objects import at

PoolId = tuple[str, str]
"""Driver and name of a pool."""


class DeviceId(NamedTuple):
    """The identity of a device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


def pool_of(spec: Mapping[str, Any]) -> PoolId:
    """The pool that a slice belongs to, by its specification."""
    return str(spec.get("driver") or ""), str(at(spec, "pool", "name") or "")


def generation_of(spec: Mapping[str, Any]) -> int:
    """The generation of the pool that a slice describes, by its specification; a newer one replaces it."""
    return int(at(spec, "pool", "generation") or 0)
