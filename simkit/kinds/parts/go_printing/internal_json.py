"""Structures as JSON in the way releases since 1.34 write them into messages.

Types inside of kube-apiserver have no names for JSON: their fields stand there by their Go names, and all of them.

Follows ``k8s.io/apimachinery/pkg/util/validation/field/errors.go``, release 1.34, and Go's ``encoding/json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.kinds.parts.go_printing.types import Field, fields_of, is_structure

_ZEROS: Final[Mapping[str, Any]] = {"": "", "int": 0, "bool": False, "quantity": "0", "intstr.IntOrString": 0}
_LIKE_OUTSIDE: Final = ("v1.", "intstr.")
"""Types that are the same inside and outside, and have a JSON form of their own."""


def internal_json(kind: str, value: Any) -> Any:
    """A value of a type as plain JSON.

    Examples
    --------
    >>> internal_json("core.Toleration", {"key": "a", "tolerationSeconds": 5})
    {'Key': 'a', 'Operator': '', 'Value': '', 'Effect': '', 'TolerationSeconds': 5}
    """
    if value is None and kind.startswith(("*", "[]")):
        return None
    if kind.startswith("*"):
        return internal_json(kind[1:], value)
    if kind.startswith("[]"):
        return [internal_json(kind[2:], each) for each in value]
    if kind.startswith(_LIKE_OUTSIDE):
        return _outside(kind, value)
    if is_structure(kind):
        return _structure(kind, value or {})
    if isinstance(value, Mapping):
        return {name: value[name] for name in sorted(value)}
    return _ZEROS.get(kind) if value is None else value


def _structure(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields_of(kind):
        inner = internal_json(field.kind, value.get(field.key) if field.key else value)
        if _embedded(field):
            found |= inner
        else:
            found[field.name] = inner
    return found


def _embedded(field: Field) -> bool:
    """True if the parts of a field stand beside the others."""
    return not field.key or field.kind == f"v1.{field.name}"


def _outside(kind: str, value: Any) -> Any:
    """A value of a type with its own JSON form: as it was written, in the order of its fields."""
    if value is None:
        return _ZEROS.get(kind, None if kind.endswith("Time") else {})
    if not isinstance(value, Mapping) or not is_structure(kind):
        return value
    return {
        field.key: internal_json(field.kind, value[field.key])
        for field in fields_of(kind)
        if value.get(field.key) not in (None, [], {}) or (field.key in _ALWAYS and field.key in value)
    }


_ALWAYS: Final = ("apiVersion", "kind", "name", "uid")
