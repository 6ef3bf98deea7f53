"""Strategic merge patches: directives, order, refusals, and a naive model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.merge.mergepatch import PatchError
from simkit.language.merge.strategic import arranged, checked_strategic_patch, strategic_merge
from simkit.schema.structural import Schema
from tests.language.merge.values import ELEMENTS, WORDS, unresolved
from tests.releases import BASE

Schemas = Callable[[str], Schema]
LISTS = st.lists(ELEMENTS, max_size=4, unique_by=lambda element: element["name"])
KEYED = {
    "type": "array",
    "patchStrategy": "merge",
    "patchMergeKey": "name",
    "items": {"type": "object", "fields": {"name": {"type": "string"}, "value": {"type": "string"}}},
}
SMALL = Schema(
    {
        "type": "object",
        "fields": {
            "keyed": KEYED,
            "scalars": {"type": "array", "patchStrategy": "merge", "items": {"type": "string"}},
            "empty": {"type": "array", "patchStrategy": "merge", "items": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "nolists": {"type": "array", "patchStrategy": "merge", "items": {"type": "object"}},
            "whole": {"type": "object", "patchStrategy": "replace", "values": {"type": "string"}},
            "map": {"type": "object", "values": {"type": "object"}},
            "inner": {"type": "object", "fields": {"a": {"type": "string"}, "b": {"type": "string"}}},
        },
    },
    unresolved,
    "io.example.Small",
)
LIVE: dict[str, Any] = {
    "keyed": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
    "scalars": ["x", "y"],
    "empty": [],
    "plain": ["x"],
    "whole": {"a": "1"},
    "inner": {"a": "1", "b": "2"},
}


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({"keyed": [{"name": "b", "value": "3"}]}, {"keyed": [{"name": "a", "value": "1"}, {"name": "b", "value": "3"}]}),
        ({"keyed": [{"name": "c"}]}, {"keyed": [{"name": "c"}, *LIVE["keyed"]]}),
        ({"keyed": [{"name": "a", "$patch": "delete"}]}, {"keyed": [LIVE["keyed"][1]]}),
        ({"keyed": [{"$patch": "replace"}, {"name": "z"}]}, {"keyed": [{"name": "z"}]}),
        ({"keyed": [{"name": "a", "$retainKeys": ["name"]}]}, {"keyed": [{"name": "a"}, LIVE["keyed"][1]]}),
        ({"keyed": [{"name": "a", "value": None}]}, {"keyed": [{"name": "a"}, LIVE["keyed"][1]]}),
        ({"$setElementOrder/keyed": [{"name": "b"}, {"name": "a"}]}, {"keyed": LIVE["keyed"][::-1]}),
        (
            {"$setElementOrder/keyed": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "keyed": [{"name": "c"}]},
            {"keyed": [{"name": "c"}, *LIVE["keyed"][::-1]]},
        ),
        ({"scalars": ["z", "x"]}, {"scalars": ["z", "x", "y"]}),
        ({"$deleteFromPrimitiveList/scalars": ["x"]}, {"scalars": ["y"]}),
        ({"$setElementOrder/scalars": ["y", "x"]}, {"scalars": ["y", "x"]}),
        ({"$deleteFromPrimitiveList/absent": ["x"]}, {}),
        ({"plain": ["z"]}, {"plain": ["z"]}),
        ({"$deleteFromPrimitiveList/plain": LIVE["plain"]}, {"plain": []}),
        ({"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"inner": {"a": "9"}}, {"inner": {"a": "9", "b": "2"}}),
        ({"inner": {"$patch": "replace", "a": "9"}}, {"inner": {"a": "9"}}),
        ({"inner": {"$patch": "delete"}}, {"inner": {}}),
        ({"inner": {"$retainKeys": ["a"], "a": "9"}}, {"inner": {"a": "9"}}),
        ({"map": {"k": {"$patch": "delete"}, "l": {"m": None, "n": "1"}}}, {"map": {"l": {"n": "1"}}}),
        ({"plain": None, "absent": None}, {"plain": None}),
    ],
)  # fmt: skip
def test_patches(patch: dict[str, Any], changed: dict[str, Any]) -> None:
    """Each directive and strategy has its effect, and neither argument is changed."""
    before = orjson.dumps([LIVE, patch])
    expected = {name: value for name, value in {**LIVE, **changed}.items() if value is not None}
    assert strategic_merge(BASE, LIVE, patch, SMALL) == expected
    assert orjson.dumps([LIVE, patch]) == before


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"keyed": [{"name": "a"}], "$setElementOrder/keyed": [1]}, 500, "map: 1 does not contain declared merge key: name"),
        ({"keyed": [{"value": "1"}]}, 500, "map: map[value:1] does not contain declared merge key: name"),
        ({"keyed": [{"$patch": "delete"}]}, 500, "map: map[$patch:delete] does not contain declared merge key: name"),
        ({"keyed": [{"name": "a", "$patch": "nope"}]}, 500, "unknown patch type: nope in map: map[$patch:nope name:a]"),
        ({"keyed": [{"name": "a", "$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"keyed": ["a"]}, 500, "list element types are not identical: [[map[name:a value:1] map[name:b value:2]] [a]]"),
        ({"scalars": [["x"]]}, 500, "list element types are not identical: [[x y] [[x]]]"),
        ({"empty": [["x"]]}, 422, "the server rejected our request due to an error in our request"),
        ({"$setElementOrder/keyed": ["a", "b"]}, 500, "value for key 0 is not a map"),
        ({"inner": {"$patch": 5}}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ({"inner": {"$retainKeys": "a"}}, 400, "invalid patch format of retainKeys"),
        ({"inner": {"$retainKeys": ["a"], "b": "1"}}, 400, "invalid patch format of retainKeys"),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder/nosuch": []}, 500, 'unable to find api field in struct Small for the json field "nosuch"'),
        ({"$setElementOrder/keyed": "x"}, 500, "expected a []interface {}, but received a string"),
    ],
)  # fmt: skip
def test_refusals(patch: dict[str, Any], code: int, message: str) -> None:
    """Malformed directives are 400, what does not fit 422 or 500, in the words of kube-apiserver."""
    with pytest.raises(PatchError) as refused:
        strategic_merge(BASE, LIVE, patch, SMALL)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_an_order_that_the_patch_does_not_keep() -> None:
    """The elements of a patch must stand in the order that the patch asks for."""
    patch = {"$setElementOrder/keyed": [{"name": "a"}, {"name": "b"}], "keyed": [{"name": "b"}, {"name": "a"}]}
    with pytest.raises(PatchError, match="doesn't match"):
        strategic_merge(BASE, LIVE, patch, SMALL)


def test_maps_of_maps_have_no_fields_to_look_up() -> None:
    """Merging below a free map fails on kube-apiserver, and so here."""
    with pytest.raises(PatchError, match="data type is not struct, instead is: map"):
        strategic_merge(BASE, {"map": {"k": {}}}, {"map": {"k": {}}}, SMALL)


def test_only_objects_are_strategic_patches() -> None:
    """A list in the body is 400; null changes nothing."""
    assert checked_strategic_patch(None) == {}
    with pytest.raises(PatchError, match="cannot unmarshal array"):
        checked_strategic_patch([])


@settings(max_examples=100)
@given(LISTS, LISTS)
def test_keyed_lists_against_a_naive_model(live: list[dict[str, Any]], patch: list[dict[str, Any]]) -> None:
    """A keyed list holds every key of both sides, the fields of the patch over those of the live element."""
    merged = strategic_merge(BASE, {"keyed": live}, {"keyed": patch}, SMALL)["keyed"]
    model = {item["name"]: item for item in live}
    for item in patch:
        model[item["name"]] = {**model.get(item["name"], {}), **item}
    assert {item["name"]: item for item in merged} == model
    assert len(merged) == len(model)
    assert [item["name"] for item in merged if item in patch or item["name"] in {each["name"] for each in patch}] == [
        item["name"] for item in patch
    ]
    assert strategic_merge(BASE, {"keyed": merged}, {"keyed": patch}, SMALL)["keyed"] == merged


@settings(max_examples=100)
@given(st.lists(WORDS, unique=True), st.lists(WORDS, unique=True))
def test_arranging_keeps_both_orders(wanted: list[str], live: list[str]) -> None:
    """Elements of the patch come in its order; elements of the server alone come in the server's."""
    out = arranged([*live, *(word for word in wanted if word not in live)], wanted, live, "")
    assert [word for word in out if word in wanted] == wanted
    assert [word for word in out if word not in wanted] == [word for word in live if word not in wanted]


def test_field_names_are_found_in_other_case(schema: Schemas) -> None:
    """kube-apiserver looks fields up as its decoder does, which does not mind the case."""
    live = {"metadata": {"Labels": {"a": "1"}}}
    patched = strategic_merge(BASE, live, {"metadata": {"Labels": {"b": "2"}}}, schema("v1/ConfigMap"))
    assert patched == {"metadata": {"Labels": {"a": "1", "b": "2"}}}
