"""Go names of types in decoding errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SCALARS: Final = {
    ("string", ""): "string",
    ("string", "byte"): "[]uint8",
    ("integer", ""): "int64",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", ""): "float64",
    ("number", "double"): "float64",
    ("boolean", ""): "bool",
}
_KINDS: Final = {"array": "slice", "object": "map", "boolean": "bool", "string": "string", "number": "float64"}
_QUANTITY: Final = "pkg.api.resource.Quantity"


def struct_name(definition: str) -> str:
    """The bare name of a definition's type: ``PodSpec``."""
    return definition.rpartition(".")[2]


def type_name(row: Mapping[str, Any]) -> str:
    """The Go type of a schema row: ``int32``, ``[]v1.Container``, ``map[string]string``.

    Examples
    --------
    >>> type_name({"type": "array", "items": {"ref": "io.k8s.api.core.v1.Container"}})
    '[]v1.Container'
    """
    if "goType" in row:
        return str(row["goType"])
    if "ref" in row:
        package, _, name = row["ref"].rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    if row.get("type") == "array":
        return f"[]{type_name(row.get('items', {}))}"
    if "values" in row:
        return _map_name(row["values"])
    return _SCALARS.get((row.get("type", ""), row.get("format", "")), "interface {}")


def type_kind(row: Mapping[str, Any]) -> str:
    """The Go kind of a schema row's type: ``struct``, ``slice``, ``map``, ``string``, ``int32``.

    Examples
    --------
    >>> type_kind({"type": "string", "goType": "v1.RestartPolicy"}), type_kind({"type": "integer"})
    ('string', 'int64')
    """
    if "ref" in row:
        return "struct"
    if (row.get("type"), row.get("format")) == ("string", "byte"):
        return "slice"
    if row.get("type") == "integer":
        return str(row.get("format") or "int64")
    return _KINDS.get(row.get("type", ""), "interface")


def _map_name(values: Mapping[str, Any]) -> str:
    ref = values.get("ref", "")
    if ref.endswith(_QUANTITY):
        return "v1.ResourceList"
    if ref.endswith(".JSONSchemaPropsOrStringArray"):
        return f"{ref.split('.')[-2]}.JSONSchemaDependencies"
    return f"map[string]{type_name(values)}"


def internal_package(group: str) -> str:
    """The package of a group's internal types in kube-apiserver.

    Examples
    --------
    >>> internal_package(""), internal_package("apps")
    ('core', 'apps')
    """
    return group.partition(".")[0] or "core"
