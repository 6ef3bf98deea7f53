"""Differences between values, their fields, and merged values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from simkit.language.merge.fieldset import difference, intersection, of_paths, union
from simkit.language.merge.type_def import DEDUCED, TypeDef, type_def_of
from simkit.language.merge.typed import NO_DIFFERENCE, compare, field_set, merged, same
from simkit.language.merge.unapplied_fields import ensure_named_fields_are_members, remove_items
from simkit.language.merge.validate import validation_errors
from simkit.schema.behaviour import default_behaviour
from simkit.schema.structural import Schema
from tests.language.merge.values import WIDGET, WIDGETS, unresolved
from tests.releases import BASE

SHAPE = type_def_of(default_behaviour("1.30"), Schema(WIDGET, unresolved))
Value = dict[str, Any]


@settings(max_examples=150)
@given(WIDGETS, WIDGETS)
def test_comparing_both_ways(one: Value, other: Value) -> None:
    """Fields added one way are removed the other way; only equal values have no difference."""
    there, back = compare(one, other, SHAPE), compare(other, one, SHAPE)
    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)
    assert not intersection(there.added, there.removed)
    assert (there == NO_DIFFERENCE) == _same_but_for_order(one, other)


def _same_but_for_order(one: Value, other: Value) -> bool:
    """True if two widgets differ in the order of their set and keyed list alone."""

    def ordered(value: Value) -> Value:
        sets = {"set": sorted(value["set"])} if "set" in value else {}
        maps = {"map": sorted(value["map"], key=lambda item: str(item["name"]))} if "map" in value else {}
        return {**value, **sets, **maps}

    return same(ordered(one), ordered(other))


@settings(max_examples=150)
@given(WIDGETS, WIDGETS)
def test_merging_once_is_enough(live: Value, applied: Value) -> None:
    """Merging an intent again changes nothing, and the merged value has all the fields of the intent."""
    once = merged(live, applied, SHAPE)
    assert merged(once, applied, SHAPE) == once
    assert merged({}, applied, SHAPE) == applied
    wanted = field_set(applied, SHAPE)
    emptied = difference(wanted, field_set(once, SHAPE))
    assert all(not _at(applied, path) for path in emptied), emptied


def _at(value: Any, element: str) -> Any:
    return value.get(element[2:])


@settings(max_examples=150)
@given(WIDGETS, WIDGETS)
def test_the_intent_wins_and_the_rest_stays(live: Value, applied: Value) -> None:
    """Scalars and atomic parts come from the intent where it has them, from the live value where it does not."""
    out = merged(live, applied, SHAPE)
    for name in ("s", "n", "atom", "whole"):
        assert out.get(name) == applied.get(name, live.get(name))
    assert set(out.get("set", ())) == {*live.get("set", ()), *applied.get("set", ())}
    names = [item["name"] for item in out.get("map", ())]
    assert sorted(names) == sorted({item["name"] for side in (live, applied) for item in side.get("map", ())})


@settings(max_examples=150)
@given(WIDGETS)
def test_taking_fields_out(value: Value) -> None:
    """Without all its fields nothing is left of a value."""
    fields = field_set(value, SHAPE)
    owned = {name: item for name, item in value.items() if item != [] or name == "atom"}
    assert not remove_items(BASE, owned, ensure_named_fields_are_members(fields, SHAPE), SHAPE)
    assert remove_items(BASE, value, {}, SHAPE) == value


@pytest.mark.parametrize(
    ("live", "applied", "result"),
    [
        ("abc", "cxa", "bcxa"),
        ("abc", "x", "abcx"),
        ("abc", "ca", "bca"),
        ("abc", "xa", "xabc"),
        ("abc", "", "abc"),
        ("", "ba", "ba"),
        ("abcd", "dxb", "acdxb"),
    ],
)
def test_the_order_of_merged_lists(live: str, applied: str, result: str) -> None:
    """Shared elements take the order of the intent; what only the live list has keeps its place before them."""
    out = merged({"set": list(live)}, {"set": list(applied)}, SHAPE)
    assert out["set"] == list(result)


def test_doubled_elements_stay_until_they_are_named() -> None:
    """A live list with doubles keeps them while an intent names other elements, and loses them when it names theirs."""
    live = {"map": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}
    assert merged(live, {"map": [{"name": "b"}]}, SHAPE)["map"] == [*live["map"], {"name": "b"}]
    assert merged(live, {"map": [{"name": "a"}]}, SHAPE)["map"] == [{"name": "a"}]
    assert field_set(live, SHAPE) == {"f:map": {'k:{"name":"a"}': {}}}


def test_doubled_elements_are_one_leaf_of_a_comparison() -> None:
    """A doubled element is modified as a whole; becoming single, its fields are added."""
    double = {"map": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}
    other = {"map": [{"name": "a", "value": "1"}, {"name": "a", "value": "3"}]}
    single = {"map": [{"name": "a", "value": "1"}]}
    element = ("f:map", 'k:{"name":"a"}')
    assert compare(double, other, SHAPE).modified == of_paths(element)
    became = compare(double, single, SHAPE)
    assert became.removed == of_paths(element)
    assert became.added == of_paths(element, (*element, "f:name"), (*element, "f:value"))


def test_true_is_not_one() -> None:
    """If the schema allows both, a boolean and a number differ; a number and its fraction do not."""
    assert compare({"any": {"a": True}}, {"any": {"a": 1}}, SHAPE).modified == of_paths(("f:any", "f:a"))
    assert compare({"any": {"a": 1}}, {"any": {"a": 1.0}}, SHAPE) == NO_DIFFERENCE
    assert same([1], [1.0])
    assert not same({"a": False}, {"a": 0})


def test_a_map_that_becomes_a_scalar() -> None:
    """If the schema allows both, the entries are removed and the path is modified."""
    changed = compare({"any": {"a": {"b": "c"}}}, {"any": {"a": "x"}}, SHAPE)
    assert changed.modified == of_paths(("f:any", "f:a"))
    assert changed.removed == of_paths(("f:any", "f:a", "f:b"))


def test_without_a_schema_maps_are_granular_and_lists_atomic() -> None:
    """The form of what no schema describes is deduced from the value."""
    assert field_set({"a": {"b": [{"c": 1}]}, "d": {}}, DEDUCED) == {"f:a": {".": {}, "f:b": {}}, "f:d": {}}


def test_empty_parts_of_built_in_objects_are_there_before(schema: Callable[[str], Schema]) -> None:
    """The structures that every object of a built-in kind has are not added by its creation; lists of its own are."""
    type_def = type_def_of(BASE, schema("apps/v1/Deployment"))
    new = {"spec": {"replicas": 1, "strategy": {}, "template": {"metadata": {"creationTimestamp": None}}}}
    assert compare(None, new, type_def).changed == of_paths(("f:spec", "f:replicas"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"s": 5}, ".s: expected string, got &value.valueUnstructured{Value:5}"),
        ({"s": {"a": ["b"]}}, '.s: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{"b"}}}'),
        ({"n": "x"}, ".n: expected numeric (int or float), got string"),
        ({"n": True}, ".n: expected numeric (int or float), got bool"),
        ({"free": ["k"]}, ".free: expected map, got &{[k]}"),
        ({"atom": {"a": 1}}, ".atom: expected list, got &{map[a:1]}"),
        ({"atom": ["a", 1]}, ".atom[1]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"nosuch": 1}, ".nosuch: field not declared in schema"),
        ({"map": [{"name": "a"}, {"name": "a"}]}, '.map: duplicate entries for key [name="a"]'),
        ({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]'),
        ({"map": ["a"]}, ".map: element 0: associative list with keys may not have non-map elements"),
        ({"map": [None]}, ".map: element 0: associative list with keys may not have a null element"),
        ({"set": [{}]}, ".set: element 0: associative list without keys has an element that's a map type"),
        ({"s": 1, "n": "x"}, "errors:\n  .n: expected numeric (int or float), got string\n  .s: expected string, got &value.valueUnstructured{Value:1}"),
        ({"s": None, "map": None, "free": None, "any": {"x": [1, {"y": None}]}}, ""),
    ],
)  # fmt: skip
def test_complaints_about_an_intent(value: Value, text: str) -> None:
    """An intent that is not of its schema is refused in the words of kube-apiserver."""
    assert validation_errors(value, SHAPE) == text


@settings(max_examples=100)
@given(WIDGETS)
def test_valid_widgets_raise_no_complaint(value: Value) -> None:
    """Widgets without duplicates and with the right types are accepted."""
    assert validation_errors(value, SHAPE) == ""


def test_shapes_are_compiled_once(widget: Schema) -> None:
    """Asking twice for the shape of a schema gives the same object."""
    assert type_def_of(BASE, widget) is type_def_of(BASE, widget)
    assert type_def_of(BASE, None) is DEDUCED
    assert isinstance(SHAPE.child("any"), TypeDef)
    assert union({}, {}) == {}
