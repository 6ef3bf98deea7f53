"""Printer columns of claim and class parameters that may be generated from another object.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.meta.objects import Object, name_of


def generated_row(obj: Object, now: float) -> Sequence[Any]:
    """Name, the source object, age."""
    source = obj.get("generatedFrom")
    shown = "" if source is None else f"{source.get('kind', '')}.{source.get('apiGroup', '')} {source.get('name', '')}"
    return [name_of(obj), shown, created(obj, now)]
