"""Validation of the values behind the scale subresource of a custom resource.

Follows ``k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.go_fmt import format_value, type_name
from simkit.meta.objects import Object

_LARGEST: Final = 2**31 - 1


class _Misplaced(Exception):
    """A value of a wrong type at a path; the message is kube-apiserver's."""


def validate_scale(scale: Mapping[str, Any], obj: Object, *, only_status: bool) -> Iterator[FieldError]:
    """The errors of the desired and actual replicas, and of the selector."""
    if not only_status:
        yield from _validate_replica(obj, scale.get("specReplicasPath") or "")
    yield from _validate_replica(obj, scale.get("statusReplicasPath") or "")
    path = scale.get("labelSelectorPath")
    if path is not None:
        try:
            _value(obj, path, str, "string")
        except _Misplaced as error:
            yield invalid_value(path, "", str(error))


def _validate_replica(obj: Object, path: str) -> Iterator[FieldError]:
    try:
        replicas = _value(obj, path, int, "int64") or 0
    except _Misplaced as error:
        yield invalid_value(path, 0, str(error))
        return
    if replicas < 0:
        yield invalid_value(path, replicas, "should be a non-negative integer")
    elif replicas > _LARGEST:
        yield invalid_value(path, replicas, f"should be less than or equal to {_LARGEST}")


def _value(obj: Object, path: str, wanted: type, name: str) -> Any:
    """The value at a path; None if there is none."""
    steps = path.removeprefix(".").split(".")
    found: Any = obj
    for index, step in enumerate(steps):
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise _misplaced(steps[: index + 1], found, "map[string]interface{}")
        if step not in found:
            return None
        found = found[step]
    if type(found) is not wanted:
        raise _misplaced(steps, found, name)
    return found


def _misplaced(steps: list[str], found: Any, wanted: str) -> _Misplaced:
    place = "".join(f".{step}" for step in steps)
    return _Misplaced(
        f"{place} accessor error: {format_value(found)} is of the type {type_name(found)}, expected {wanted}"
    )
