"""JSON that is read in place of YAML means the same."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode_body
from simkit.language.yaml.json_text import read_json

pytestmark = pytest.mark.slow

_TEXT = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["y", "<<", "null", "1:30", "", "~", "a: b", "- x", "#", "%", "1e3", "\n", "a\tb", '"', "\\"]),
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=12,
)


@settings(deadline=None)
@given(value=st.dictionaries(_TEXT, _VALUES, max_size=4))
def test_it_means_the_same_as_yaml(value: dict[str, Any]) -> None:
    """Where JSON is read in place of YAML, values and the order of keys are the same, and nothing is refused."""
    text = orjson.dumps(value)
    found = read_json(text)
    if found is not None:
        assert orjson.dumps(found) == orjson.dumps(decode_body(text.decode(), []))


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1.5}',
        b'{"a":1e3}',
        b'{"a":18446744073709551616}',
        b'{"a":1,"a":2}',
        b'{"a":"\\u0061"}',
        b'{"a":"\\/"}',
        b'{"a":"\x7f"}',
        '{"a":"\u00e4"}'.encode(),
        b'{\n"a":1}',
        b'{"a":1}\n---\n{}',
        b'["a"]',
        b'{"a":1',
        b'{"' + b"k" * 1100 + b'":1}',
        b'{"a":' + b"[" * 240 + b"]" * 240 + b"}",
        b"",
    ],
)
def test_what_may_mean_something_else_is_left_to_the_reader_of_yaml(text: bytes) -> None:
    """A number that is not whole, an escape, repeated keys, anything but compact JSON of an object."""
    assert read_json(text) is None


def test_a_text_that_neither_reads() -> None:
    """The complaint is that of YAML."""
    with pytest.raises(BrokenText):
        decode_body('{"a":', [])
