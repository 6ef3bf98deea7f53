"""Strategy of Scale: the row of its table.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.strategy import Strategy
from simkit.meta.objects import Object, at, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), at(obj, "spec", "replicas") or 0, at(obj, "status", "replicas") or 0, created(obj, now)]


STRATEGY = Strategy(print_row=_row)
