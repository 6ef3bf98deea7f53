"""Conditions of flow schemas and priority levels: each type once, and a type at all."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.fielderror import FieldError, duplicate, required
from simkit.meta.objects import Object, at


def validate_flow_condition(obj: Object) -> Sequence[FieldError]:
    """What is wrong with the conditions in an object's status."""
    faults: list[FieldError] = []
    seen: set[str] = set()
    conditions: Sequence[Object] = at(obj, "status", "conditions") or ()
    for index, condition in enumerate(conditions):
        kind, path = condition.get("type") or "", f"status.conditions[{index}].type"
        if kind in seen:
            faults.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            faults.append(required(path, "must not be empty"))
    return faults
