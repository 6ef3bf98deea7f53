"""Strategy of ResourceSlice: printer columns.

Follows ``pkg/registry/resource/resourceslice/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.strategy import Strategy, spec_differs
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at, name_of


def _node(spec: Object) -> str:
    """The node that has the devices; how they are chosen where several have them."""
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    if spec.get("nodeSelector") is not None:
        return "<multiple>"
    return "<all>" if spec.get("allNodes") else "<unset>"


def _row(obj: Object, now: float) -> Sequence[Any]:
    if applies("claims-of-devices"):
        spec = obj.get("spec") or {}
        return [name_of(obj), _node(spec), spec.get("driver") or "", at(spec, "pool", "name") or "", created(obj, now)]
    return [name_of(obj), obj.get("nodeName") or "", obj.get("driverName") or "", created(obj, now)]


def _generation(obj: Object, old: Object) -> bool:
    return spec_differs(obj, old)


STRATEGY = Strategy(raises_generation=_generation, print_row=_row, return_deleted_object=True)
