"""Values against OpenAPI schemas: what is refused, in which words, and what an update forgives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.schema.custom.validation import ABSENT, Check, same
from tests.releases import BASE

pytestmark = pytest.mark.slow

Properties = Mapping[str, Any]


def _texts(properties: Properties, value: Any, old: Any = ABSENT) -> list[str]:
    return [error.told(BASE) for error in Check(BASE, properties).errors(value, old)]


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "string"}, 5, 'Invalid value: "integer": a in body must be of type string: "integer"'),
        ({"type": "integer"}, 1.5, 'Invalid value: "number": a in body must be of type integer: "number"'),
        ({"type": "integer"}, 1e20, 'Invalid value: "number": a in body must be of type integer: "number"'),
        ({"type": "object"}, None, 'Invalid value: "null": a in body must be of type object: "null"'),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
        ),
        ({"type": "string", "minLength": 2}, "é", 'Invalid value: "é": a in body should be at least 2 chars long'),
        ({"type": "string", "maxLength": 2}, "abc", "Too long: may not be longer than 2"),
        ({"type": "string", "pattern": "^a+$"}, "b", "Invalid value: \"b\": a in body should match '^a+$'"),
        ({"type": "string", "format": "ipv4"}, "x", 'Invalid value: "x": a in body must be of type ipv4: "x"'),
        ({"type": "integer", "minimum": 2}, 1, "Invalid value: 1: a in body should be greater than or equal to 2"),
        (
            {"type": "integer", "maximum": 2, "exclusiveMaximum": True},
            2,
            "Invalid value: 2: a in body should be less than 2",
        ),
        (
            {"type": "number", "maximum": 1.5},
            1e6,
            "Invalid value: 1e+06: a in body should be less than or equal to 1.5",
        ),
        ({"type": "integer", "multipleOf": 3}, 4, "Invalid value: 4: a in body should be a multiple of 3"),
        (
            {"type": "integer", "multipleOf": 0},
            4,
            "Invalid value: 0: factor MultipleOf declared for a must be positive: 0",
        ),
        ({"type": "string", "enum": ["x", "y"]}, "z", 'Unsupported value: "z": supported values: "x", "y"'),
        ({"type": "integer", "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        ({"type": "array", "items": {}, "minItems": 1}, [], "Invalid value: 0: a in body should have at least 1 items"),
        ({"type": "array", "items": {}, "maxItems": 1}, [1, 2], "Too many: 2: must have at most 1 items"),
        ({"type": "object", "minProperties": 1}, {}, "Invalid value: 0: a in body should have at least 1 properties"),
    ],
)
def test_words(schema: Properties, value: Any, told: str) -> None:
    """Each check has kube-apiserver's words."""
    assert _texts(_object(a=schema), {"a": value}) == [f"a: {told}"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, 1e9 + 0.5),
        ({"type": "number"}, 2),
        ({"type": "number", "enum": [1, 2]}, 1.5),
        ({"type": "string", "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True}, "x"),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1, {"a": None}]),
        ({"type": "string", "format": "unheard-of"}, "x"),
        ({"type": "integer", "format": "int32"}, 2**31),
        ({"type": "string", "pattern": "("}, ""),
    ],
)
def test_accepted(schema: Properties, value: Any) -> None:
    """Whole numbers and nearly whole ones are integers, enumerations of integers look at no fraction, formats that mean nothing hold nothing, and a pattern that is none matches nothing."""
    refused = schema.get("pattern") == "("
    assert bool(_texts(_object(a=schema), {"a": value})) == refused


def test_required_fields_come_after_the_others() -> None:
    """Present fields are checked first, then missing ones are reported, by path."""
    schema = _object(r={**_object(p={"type": "string"}, q={"type": "string"}), "required": ["p", "q"]})
    assert _texts(schema, {"r": {"q": 1}}) == [
        'r.q: Invalid value: "integer": r.q in body must be of type string: "integer"',
        "r.p: Required value",
    ]


def test_alternatives() -> None:
    """Combinations are told without a place, with the errors of the alternative that came closest."""
    either = _object(o={"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert _texts(either, {"o": {}}) == [
        '<nil>: Invalid value: "": "o" must validate one and only one schema (oneOf). Found none valid',
        "o.a: Required value",
    ]
    assert _texts(either, {"o": {"a": 1, "b": 2}}) == [
        '<nil>: Invalid value: "": "o" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    anything = _object(o={"anyOf": [{"minimum": 5}, {"multipleOf": 2}]})
    assert _texts(anything, {"o": 4}) == []
    assert _texts(anything, {"o": 3})[0] == '<nil>: Invalid value: "": "o" must validate at least one schema (anyOf)'
    everything = _object(o={"allOf": [{"minimum": 5}, {"multipleOf": 2}], "not": {"enum": [8]}})
    assert _texts(everything, {"o": 6}) == []
    assert _texts(everything, {"o": 3})[-1].endswith('"o" must validate all the schemas (allOf). None validated')
    assert _texts(everything, {"o": 8}) == ['<nil>: Invalid value: "": "o" must not validate the schema (not)']


def test_errors_under_a_field() -> None:
    """Errors of a part are placed under it, their texts know the part alone."""
    found = Check(BASE, _object(s={"type": "string"})).errors({"s": 1}, under="status")
    assert [error.told(BASE) for error in found] == [
        'status.s: Invalid value: "integer": s in body must be of type string: "integer"'
    ]


def test_unchanged_values_are_forgiven() -> None:
    """An update does not tell of what was wrong before, where the old value can be found."""
    small = {"type": "integer", "maximum": 3}
    schema = _object(
        a=small,
        plain={"type": "array", "items": small},
        atomic={"type": "array", "items": small, "x-kubernetes-list-type": "atomic"},
        keyed={
            "type": "array",
            "items": _object(k={"type": "string"}, v=small),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
    )
    old = {"a": 9, "plain": [9, 1], "atomic": [9], "keyed": [{"k": "x", "v": 9}]}
    assert _texts(schema, old, old) == []
    assert len(_texts(schema, {**old, "a": 8}, old)) == 1
    assert len(_texts(schema, {**old, "plain": [9, 2]}, old)) == 1
    assert len(_texts(schema, {**old, "atomic": [9, 1]}, old)) == 1
    assert _texts(schema, {**old, "keyed": [{"k": "n", "v": 1}, {"k": "x", "v": 9}]}, old) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
@settings(max_examples=60)
def test_any_value_gets_an_answer(value: Any, old: Any) -> None:
    """No value breaks a check, and what did not change is never told of."""
    schema = _object(
        a={"type": "array", "items": {"type": "integer", "minimum": 0}, "x-kubernetes-list-type": "map"},
        b={"type": "object", "additionalProperties": {"type": "string", "format": "date"}, "maxProperties": 1},
        c={"anyOf": [{"type": "string"}, {"minimum": 2}], "enum": ["a", 3]},
    )
    check = Check(BASE, schema)
    check.errors(value, old)
    assert check.errors(value, value) == []


def test_sameness_is_strict() -> None:
    """One, one and a half of nothing, and true are three values."""
    assert not same(1, True)
    assert not same(1, 1.0)
    assert same({"a": 1, "b": [None]}, {"b": [None], "a": 1})
