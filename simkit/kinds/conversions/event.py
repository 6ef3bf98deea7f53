"""Conversions of Event: stored in the core version; the events group has other names for the same fields.

Follows ``pkg/apis/events/v1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, rename
from simkit.kinds.parts.event import NEWER
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.objects import Draft


def _to_core(draft: Draft) -> None:
    for core, new in NEWER.items():
        rename(draft, new, core)


def _from_core(behaviour: ServedBehaviour, draft: Draft) -> None:
    for core, new in NEWER.items():
        rename(draft, core, new)


_NEW: Final = Spoke(_to_core, _from_core)
FAMILIES: Final = {"Event": Family("Event", "v1", {f"{EVENTS_GROUP}/{each}": _NEW for each in ("v1", "v1beta1")})}
