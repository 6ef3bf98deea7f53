"""Conversions of ResourceSlice: v1beta1 has a device's contents under ``basic``, v1beta2 and v1 in the device
itself."""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke, entries, peek
from simkit.kinds.conversions.resourceclaim import GROUP
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft


def _to_hub(draft: Draft) -> None:
    for device in entries(peek(draft, "spec"), "devices"):
        device.update(device.pop("basic", None) or {})


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for device in entries(peek(draft, "spec"), "devices"):
        device["basic"] = {name: device.pop(name) for name in list(device) if name != "name"}


_OLD: Final = Spoke(_to_hub, _from_hub)
FAMILIES: Final = {
    "ResourceSlice": Family(
        "ResourceSlice",
        f"{GROUP}/v1",
        {f"{GROUP}/v1alpha3": _OLD, f"{GROUP}/v1beta1": _OLD, f"{GROUP}/v1beta2": SAME_FIELDS},
    )
}
