"""Strategy of ResourceClass: printer columns.

Follows ``pkg/registry/resource/resourceclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.strategy import Strategy
from simkit.meta.objects import Object, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), obj.get("driverName") or "", created(obj, now)]


STRATEGY = Strategy(print_row=_row)
