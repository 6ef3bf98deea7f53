"""Schemas as custom resource definitions write them, for the tests of the expression language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from simkit.language.cel.decl_types import DeclType, schema_decl_type
from simkit.schema.structural import Schema

_MARKERS = {
    "x-kubernetes-list-type": "listType",
    "x-kubernetes-list-map-keys": "listMapKeys",
    "x-kubernetes-map-type": "mapType",
    "x-kubernetes-int-or-string": "intOrString",
    "x-kubernetes-preserve-unknown-fields": "preserveUnknown",
    "x-kubernetes-embedded-resource": "embedded",
}
_KEPT = ("type", "format", "enum", "required", "nullable", "default")
_CHECKS = ("maxLength", "maxItems", "maxProperties")


def row_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The table row of an OpenAPI schema."""
    row = {key: schema[key] for key in _KEPT if key in schema}
    row |= {short: schema[long] for long, short in _MARKERS.items() if long in schema}
    row["checks"] = {key: schema[key] for key in _CHECKS if key in schema}
    if "properties" in schema:
        row["fields"] = {name: row_of(inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        row["items"] = row_of(schema["items"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        row["values"] = row_of(schema["additionalProperties"])
    return row


def _resolve(name: str) -> Schema:
    raise KeyError(name)


def _declared(schema: Mapping[str, Any], name: str = "selfType1") -> DeclType:
    found = schema_decl_type(Schema(row_of(schema), _resolve), name)
    assert found is not None
    return found


@pytest.fixture
def declared() -> Callable[..., DeclType]:
    """From an OpenAPI schema to the type that it declares."""
    return _declared
