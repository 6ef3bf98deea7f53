"""From a definition's schema to nodes: rows, defaults, nulls, sets and embedded objects."""

from __future__ import annotations

from typing import Any

from simkit.schema.catalogue import Catalogue
from simkit.schema.custom.defaulting import drop_nulls, fill, needs_filling
from simkit.schema.custom.structural import repeated, row_of, schema_of
from simkit.schema.structural import Schema
from tests.releases import BASE

RESOLVE = Catalogue.for_release("1.30").definition


def _node(**fields: Any) -> Schema:
    return schema_of({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}, RESOLVE)


def test_rows_keep_what_shapes_a_value_apart_from_what_checks_it() -> None:
    """Markers become keys of the row; lengths, patterns and alternatives stand under checks."""
    row = row_of(
        {
            "type": "object",
            "description": "words",
            "additionalProperties": {"type": "string", "maxLength": 3, "nullable": True},
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-validations": [{"rule": "true"}],
        }
    )
    assert row == {
        "type": "object",
        "mapType": "atomic",
        "rules": [{"rule": "true"}],
        "checks": {"description": "words"},
        "values": {"type": "string", "nullable": True, "checks": {"maxLength": 3}},
    }


def test_the_root_has_the_fields_of_every_object() -> None:
    """Metadata is the built-in type, whatever the definition says of it."""
    schema = schema_of({"type": "object", "properties": {"metadata": {"type": "object"}}}, RESOLVE)
    assert schema.fields["metadata"].go_type == "ObjectMeta"
    assert set(schema.fields) == {"apiVersion", "kind", "metadata"}


def test_defaults_fill_present_parents_only() -> None:
    """Absent fields and forbidden nulls are filled, inside of what is there or was just filled in."""
    node = _node(
        s={"type": "string", "default": "x"},
        o={"type": "object", "properties": {"i": {"type": "string", "default": "in"}}},
        made={"type": "object", "default": {}, "properties": {"i": {"type": "integer", "default": 3}}},
        l={"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string", "default": "kk"}}}},
        n={"type": "string", "nullable": True, "default": "nn"},
    )
    obj: dict[str, Any] = {"spec": {"s": None, "n": None, "l": [{}, {"k": "z"}]}}
    fill(obj, node)
    assert obj["spec"] == {"s": "x", "n": None, "l": [{"k": "kk"}, {"k": "z"}], "made": {"i": 3}}
    assert "spec" not in _filled({}, node)


def _filled(obj: dict[str, Any], node: Schema) -> dict[str, Any]:
    fill(obj, node)
    return obj


def test_a_default_belongs_to_one_object() -> None:
    """Objects do not share the structures of defaults."""
    node = _node(o={"type": "object", "default": {"a": []}, "x-kubernetes-preserve-unknown-fields": True})
    one, other = _filled({"spec": {}}, node), _filled({"spec": {}}, node)
    one["spec"]["o"]["a"].append(1)
    assert other["spec"]["o"]["a"] == []


def test_schemas_without_defaults_are_left_alone() -> None:
    """The search for defaults runs once per schema."""
    assert not needs_filling(_node(s={"type": "string"}))
    assert needs_filling(_node(s={"type": "string", "default": ""}))


def test_nulls_go_where_they_are_not_allowed() -> None:
    """Nulls with a default wait for it, allowed ones stay, and below free fields nothing is touched."""
    node = _node(
        a={"type": "string"},
        b={"type": "string", "nullable": True},
        c={"type": "string", "default": "x"},
        d={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )
    obj: dict[str, Any] = {"spec": {"a": None, "b": None, "c": None, "d": {"e": None}}}
    drop_nulls(obj, node)
    assert obj == {"spec": {"b": None, "c": None, "d": {"e": None}}}


def test_sets_and_keyed_lists_have_each_element_once() -> None:
    """Repeated values and repeated keys are told at their second place."""
    node = _node(
        s={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        m={
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
    )
    found = repeated({"spec": {"s": ["a", "b", "a"], "m": [{"k": "x"}, {"k": "x", "v": 1}]}}, node)
    assert [error.told(BASE) for error in found] == [
        'spec.s[2]: Duplicate value: "a"',
        'spec.m[1]: Duplicate value: map[string]interface {}{"k":"x"}',
    ]
