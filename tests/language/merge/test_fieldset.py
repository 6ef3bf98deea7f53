"""Field sets against sets of paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.merge import fieldset
from simkit.language.merge.fieldset import BadFields, Fields

Path = tuple[str, ...]
ELEMENTS = ["f:a", "f:b", "f:c.d/e", 'k:{"name":"x"}', 'k:{"port":9}', 'k:{"port":80}', 'v:"x"', "v:5", "i:3"]
SETS = st.frozensets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple), max_size=8)


def _paths(fields: Fields) -> frozenset[Path]:
    return frozenset(fieldset.paths(fields))


def _below(path: Path, others: frozenset[Path]) -> bool:
    return any(path[:length] in others for length in range(1, len(path) + 1))


@settings(max_examples=200)
@given(SETS, SETS)
def test_the_algebra_is_that_of_sets_of_paths(one: frozenset[Path], other: frozenset[Path]) -> None:
    """Union, intersection and difference do to paths what they do to the members of plain sets."""
    a, b = fieldset.of_paths(*one), fieldset.of_paths(*other)
    assert _paths(a) == one
    assert _paths(fieldset.union(a, b)) == one | other
    assert _paths(fieldset.intersection(a, b)) == one & other
    assert _paths(fieldset.difference(a, b)) == one - other
    assert _paths(fieldset.recursive_difference(a, b)) == {path for path in one if not _below(path, other)}


@settings(max_examples=100)
@given(SETS)
def test_leaves_have_nothing_below_them(members: frozenset[Path]) -> None:
    """The leaves of a set are its paths that are not the beginning of another one."""
    leaves = {path for path in members if not any(path == other[: len(path)] and path != other for other in members)}
    assert _paths(fieldset.leaves(fieldset.of_paths(*members))) == leaves


@settings(max_examples=100)
@given(SETS)
def test_the_json_form_comes_back(members: frozenset[Path]) -> None:
    """Encoding and decoding a set gives the same set, whatever the order of its keys was."""
    fields = fieldset.of_paths(*members)
    assert fieldset.decoded(fieldset.encoded(fields)) == fields
    turned = fieldset.of_paths(*sorted(members, reverse=True))
    assert list(fieldset.paths(turned)) == list(fieldset.paths(fields))
    assert repr(fieldset.encoded(turned)) == repr(fieldset.encoded(fields))


@settings(max_examples=100)
@given(SETS)
def test_membership(members: frozenset[Path]) -> None:
    """Exactly the paths of a set are in it."""
    fields = fieldset.of_paths(*members)
    assert all(fieldset.has(fields, *path) for path in members)
    assert not fieldset.has(fields)
    assert {path for path in ((element,) for element in ELEMENTS) if fieldset.has(fields, *path)} == {
        path for path in members if len(path) == 1
    }


def test_the_json_form_is_ordered() -> None:
    """Fields come before keyed elements, these before set elements; numbers go by size; membership comes first."""
    fields: Fields = {
        'k:{"port":80}': {},
        "v:10": {},
        'k:{"port":9}': {},
        "f:b": {"f:x": {}, ".": {}},
        "v:9": {},
        "f:a": {},
    }
    assert list(fieldset.encoded(fields)) == ["f:a", "f:b", 'k:{"port":9}', 'k:{"port":80}', "v:9", "v:10"]
    assert list(fieldset.encoded(fields)["f:b"]) == [".", "f:x"]


def test_conflicts_are_told_level_by_level() -> None:
    """The paths of a level come before those below it, as messages of kube-apiserver list them."""
    fields: Fields = {"f:b": {}, "f:a": {"f:z": {}, ".": {}}, "f:c": {"f:y": {}}}
    texts = [fieldset.path_text(path) for path in fieldset.paths(fields)]
    assert texts == [".a", ".b", ".a.z", ".c.y"]


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:spec", ".spec"),
        ('k:{"name":"a"}', '[name="a"]'),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"x"', '[="x"]'),
        ("v:5", "[=5]"),
        ("v:1e+300", "[=1e+300]"),
        ('k:{"k":{"a":1,"b":"x"}}', '[k=a=1b="x"]'),
        ('v:[1,"x",null]', '[=[1,"x",null]]'),
        ("i:3", "[3]"),
    ],
)
def test_elements_as_text(element: str, text: str) -> None:
    """Path elements are shown as conflict messages show them."""
    assert fieldset.element_text(element) == text


def test_spelling_is_made_canonical() -> None:
    """Keys that a client wrote with spaces or in another order are the same elements."""
    decoded = fieldset.decoded({'k:{ "protocol": "TCP", "port": 80 }': {".": {}}, 'v: "x"': {}})
    assert decoded == {'k:{"port":80,"protocol":"TCP"}': {".": {}}, 'v:"x"': {}}


def test_characters_that_html_knows_are_escaped_in_keys() -> None:
    """Keys hold JSON as kube-apiserver's encoder writes it."""
    assert fieldset.key_element({"name": "a<b"}) == 'k:{"name":"a\\u003cb"}'


@pytest.mark.parametrize("value", [{"bad": {}}, {"f:a": []}, {"k:{": {}}, {"k:[1]": {}}, {"i:x": {}}, [], {"f:a": "x"}])
def test_malformed_field_sets_are_refused(value: Any) -> None:
    """Unknown or malformed elements and values that are no objects raise BadFields."""
    with pytest.raises(BadFields):
        fieldset.decoded(value)


def test_equal_sets_share_their_written_form() -> None:
    """Thousands of objects with equal owners hold one copy of what is written of them."""
    one = fieldset.of_paths(("f:data", "f:a"), ("f:data",))
    other = fieldset.of_paths(("f:data",), ("f:data", "f:a"))
    assert fieldset.shared(one) is fieldset.shared(other)
    assert fieldset.shared(one) == fieldset.encoded(one)
