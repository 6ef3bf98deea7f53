"""Structural schemas: OpenAPI v3 schemas of definitions as rows of schema nodes, and duplicates in sets and lists with
keys.

Follows ``convert.go`` and ``listtype/validation.go`` of ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema``,
release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from simkit.meta.fielderror import Errors, FieldError, duplicate, invalid_value
from simkit.schema.custom.messages import shown
from simkit.schema.pruning import OBJECT_META
from simkit.schema.structural import Resolver, Schema

Properties = Mapping[str, Any]
"""One level of an OpenAPI schema as written in a definition."""
Row = dict[str, Any]

_COPIED: Final = {
    "type": "type",
    "format": "format",
    "enum": "enum",
    "required": "required",
    "nullable": "nullable",
    "x-kubernetes-list-type": "listType",
    "x-kubernetes-list-map-keys": "listMapKeys",
    "x-kubernetes-map-type": "mapType",
    "x-kubernetes-int-or-string": "intOrString",
    "x-kubernetes-preserve-unknown-fields": "preserveUnknown",
    "x-kubernetes-embedded-resource": "embedded",
    "x-kubernetes-validations": "rules",
}
_CHECKS: Final = (
    "description",
    "title",
    "externalDocs",
    "example",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
)
"""Properties that do not change a value; they are published unchanged, and values are checked against some of them."""
_IMPLIED: Final[Row] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"ref": OBJECT_META}}


def row_of(properties: Properties, *, loose: bool = False) -> Row:
    """The row of one level and everything below. Linear in the size of the schema.

    Parameters
    ----------
    loose
        Whether unknown fields are kept at every level.

    Examples
    --------
    >>> row_of({"type": "array", "items": {"type": "string", "maxLength": 3}, "x-kubernetes-list-type": "set"})
    {'type': 'array', 'listType': 'set', 'items': {'type': 'string', 'checks': {'maxLength': 3}}}
    """
    row: Row = {_COPIED[name]: value for name, value in properties.items() if name in _COPIED and value}
    checks = {name: properties[name] for name in _CHECKS if name in properties}
    if checks:
        row["checks"] = checks
    if properties.get("default") is not None:
        row["default"] = properties["default"]
    fields = properties.get("properties")
    if fields or row.get("embedded"):
        row["fields"] = {name: row_of(inner, loose=loose) for name, inner in (fields or {}).items()}
        if row.get("embedded"):
            row["fields"].update(_IMPLIED)
    items, values = properties.get("items"), properties.get("additionalProperties")
    if isinstance(items, Mapping):
        row["items"] = row_of(items, loose=loose)
    if isinstance(values, Mapping):
        row["values"] = row_of(values, loose=loose)
    elif isinstance(values, bool):
        row["values"] = {}
    if loose:
        row["preserveUnknown"] = True
    return row


def schema_of(properties: Properties, resolve: Resolver, *, loose: bool = False) -> Schema:
    """The schema of a custom kind with these properties at its root; metadata is the built-in type."""
    row = row_of(properties, loose=loose)
    return Schema({"type": "object", **row, "fields": {**row.get("fields", {}), **_IMPLIED}}, resolve)


ANYTHING: Final[Properties] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a version without a schema, as old definitions may have one."""


Path = str


def child(path: Path, name: str) -> Path:
    return f"{path}.{name}" if path else name


def walk(value: Any, schema: Schema, path: Path, visit: Callable[[Any, Schema, Path], Errors]) -> Errors:
    """The errors that a visitor finds at every level of a value with a schema."""
    yield from visit(value, schema, path)
    if isinstance(value, Mapping):
        for name, item in value.items():
            node = schema.fields.get(name)
            if node is not None and not node.name:
                yield from walk(item, node, child(path, name), visit)
            elif node is None and schema.values is not None:
                yield from walk(item, schema.values, f"{path}[{name}]", visit)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from walk(item, schema.items, f"{path}[{index}]", visit)


def repeated(value: Any, schema: Schema) -> list[FieldError]:
    """The duplicate elements of a set or a keyed list."""
    return list(walk(value, schema, "", _repeated))


def _repeated(value: Any, schema: Schema, path: Path) -> Errors:
    if not isinstance(value, list) or schema.list_type not in ("set", "map"):
        return
    if schema.list_type == "map":
        odd = next((index for index, item in enumerate(value) if not isinstance(item, Mapping | None)), None)
        if odd is not None:
            what = "must be an object for an array of list-type map"
            yield invalid_value(f"{path}[{odd}]", shown(value[odd]), what)
            return
        value = [{name: item[name] for name in schema.list_map_keys if name in item} if item else {} for item in value]
    seen: Counter[bytes] = Counter()
    for index, item in enumerate(value):
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        seen[key] += 1
        if seen[key] == 2:  # further ones are not told
            yield duplicate(f"{path}[{index}]", shown(item))
