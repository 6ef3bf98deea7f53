"""Strategy of ComponentStatus: printer columns.

Follows ``pkg/registry/core/componentstatus/rest.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, name_of

_WORDS: Final = {"True": "Healthy"}


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    health = next((each for each in obj.get("conditions") or () if each.get("type") == "Healthy"), None)
    if health is None:
        return [name_of(obj), "Unknown", "", ""]
    status = _WORDS.get(health.get("status") or "", "Unhealthy")
    return [name_of(obj), status, health.get("message") or "", health.get("error") or ""]


STRATEGY = Strategy(print_row=_row)
