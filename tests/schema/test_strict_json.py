"""Repeated keys are found in every spelling, and parsing is otherwise the ordinary one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.schema.strict_json import Repeated, may_repeat, parse, plain, repeated_fields

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6) | st.sampled_from(['":', '"', "\\", ":"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=150)
def test_texts_without_repeated_keys_parse_to_plain_values(value: Any, ascii_only: bool, indent: int | None) -> None:
    """However a value is written, it comes back, and nothing is found repeated."""
    parsed = parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    assert parsed == value
    assert not list(repeated_fields(parsed))


@given(VALUES, VALUES, st.text(max_size=4))
@settings(max_examples=100)
def test_a_repeated_key_is_always_found(first: Any, second: Any, key: str) -> None:
    """Two entries of the same key are seen at any depth, and the last one is the value."""
    text = f'{{"in": [{{{json.dumps(key)}: {json.dumps(first)}, {json.dumps(key)} : {json.dumps(second)}}}]}}'
    parsed = parse(text)
    assert isinstance(parsed["in"][0], Repeated)
    assert plain(parsed) == {"in": [{key: second}]}
    assert f"in[0].{key}" in list(repeated_fields(parsed))


@pytest.mark.parametrize(
    "text",
    [b'{"a":"\\u0022","a":"x"}', b'{"a\\u0022":1,"a\\"":2}', b'{"a" :1,"a":2}', b'{"a":1,"\\u0061":2}'],
)
def test_spellings_do_not_hide_repeated_keys(text: bytes) -> None:
    """Escapes and spaces change neither what a key is nor that it is repeated."""
    assert len(list(repeated_fields(parse(text)))) == 1


def test_ordinary_texts_take_the_fast_way() -> None:
    """A text with each key once is known to have none repeated."""
    text = b'{"a": {"b": [1, {"c": "x:y"}]}, "d": ":"}'
    assert not may_repeat(text, json.loads(text))
