"""Validation of the conditions of flow schemas and priority levels.

Follows ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, duplicate, required
from simkit.meta.objects import Object, at


def validate_flow_condition(obj: Object) -> Sequence[FieldError]:
    """The errors of the conditions in an object's status."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    conditions: Sequence[Object] = at(obj, "status", "conditions") or ()
    for index, condition in enumerate(conditions):
        kind, path = condition.get("type") or "", f"status.conditions[{index}].type"
        if kind in seen:
            errors.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(path, "" if applies("required-values-told-alone") else "must not be empty"))
    return errors
