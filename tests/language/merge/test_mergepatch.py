"""Merge patches: the examples of RFC 7386, and what null does in lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.merge.mergepatch import PatchError, checked_merge_patch, merge_patch
from tests.language.merge.values import ANYTHING, WORDS

OBJECTS = st.dictionaries(WORDS, ANYTHING | st.none(), max_size=4)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_examples_of_the_rfc(document: Any, patch: Any, result: Any) -> None:
    """All examples of RFC 7386, appendix A."""
    assert merge_patch(document, patch) == result


def test_null_inside_lists() -> None:
    """Objects in lists of the patch lose their nulls; null elements stay."""
    assert merge_patch({}, {"a": [{"b": None}, None]}) == {"a": [{}, None]}


@settings(max_examples=100)
@given(OBJECTS, OBJECTS)
def test_patching_once_is_enough(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """Applying a merge patch again changes nothing, and no field that it sets to null is left."""
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once
    assert not [name for name, value in patch.items() if value is None and name in once]


def test_only_objects_are_merge_patches() -> None:
    """A list or null in the body is 400."""
    assert checked_merge_patch({}) == {}
    with pytest.raises(PatchError, match="cannot unmarshal array into Go value of type map"):
        checked_merge_patch([])
    with pytest.raises(PatchError, match="Invalid JSON Patch"):
        checked_merge_patch(None)
