"""Strategy of IPAddress: printer columns.

Follows ``pkg/registry/networking/ipaddress/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.strategy import Strategy
from simkit.meta.objects import Object, at, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    """Three cells under two columns, as in kube-apiserver."""
    return [name_of(obj), _parent(at(obj, "spec", "parentRef")), created(obj, now)]


def _parent(reference: Object | None) -> str:
    if reference is None:
        return NONE
    kind = f"{reference.get('resource', '')}.{reference.get('group', '')}".rstrip(".").lower()
    return "/".join(filter(None, (kind, reference.get("namespace"), reference.get("name"))))


STRATEGY = Strategy(print_row=_row)
