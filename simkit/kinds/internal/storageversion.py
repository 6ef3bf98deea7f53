"""Strategy of StorageVersion: printer columns.

Follows ``pkg/registry/apiserverinternal/storageversion/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import UNSET, created
from simkit.kinds.strategy import Strategy
from simkit.meta.objects import Object, at, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    servers = at(obj, "status", "storageVersions") or ()
    shown = [f"{server.get('apiServerID', '')}={server.get('encodingVersion', '')}" for server in servers]
    more = len(shown) - 3
    text = (",".join(shown[:3]) or UNSET) + (f" + {more} more..." if more > 0 else "")
    return [name_of(obj), at(obj, "status", "commonEncodingVersion") or UNSET, text, created(obj, now)]


STRATEGY = Strategy(print_row=_row, allow_unconditional_update=False)
