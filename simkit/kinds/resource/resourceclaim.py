"""Strategy of ResourceClaim: defaulting, preparation, printer columns.

Follows ``pkg/registry/resource/resourceclaim/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.strategy import Strategy
from simkit.meta.objects import Draft, Object, metadata, name_of


def _default(draft: Draft) -> None:
    spec = dict(draft.get("spec") or {})
    spec["allocationMode"] = spec.get("allocationMode") or "WaitForFirstConsumer"
    draft["spec"] = spec


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    mode = spec.get("allocationMode") or ""
    return [name_of(obj), spec.get("resourceClassName") or "", mode, _states(obj), created(obj, now)]


def _states(obj: Object) -> str:
    status = obj.get("status") or {}
    allocated, reserved = status.get("allocation") is not None, bool(status.get("reservedFor"))
    states = ["deleted"] if metadata(obj).get("deletionTimestamp") else []
    states += ["allocated"] if allocated else [] if states else ["pending"]
    if allocated and reserved:
        states.append("reserved")
    elif allocated and (states[0] == "deleted" or status.get("deallocationRequested")):
        states.append("deallocating")
    return ",".join(states)


STRATEGY = Strategy(default=_default, prepare=_prepare, row=_row)
