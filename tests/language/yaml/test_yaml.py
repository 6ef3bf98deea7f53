"""YAML text: plain words, aliases, and texts made to hurt."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode, decode_body
from simkit.language.yaml.encode import encode

pytestmark = pytest.mark.slow

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "y",
        "no",
        "1e3",
        "0o7",
        "08",
        "0x1F",
        "=",
        "<<",
        "~",
        "",
        "null",
        "1:30",
        "2001-01-01",
        "1_0",
        ".5",
        "-",
        "1.",
        "*a",
        "!x",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(values)
def test_written_values_are_read_back(value: Any) -> None:
    """Whatever JSON can say survives, here and in a reader that follows YAML 1.1 to the letter."""
    text = encode(value)
    assert decode(text) == value
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-04-17T10:00:00Z", "2024-04-17T10:00:00Z"),
        ("2024-04-17", "2024-04-17"),
        ("22:30", "22:30"),
        ("=", "="),
        ("y", "y"),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("0644", 420),
        ("0o644", 420),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", "08"),
        ("1e3", "1e3"),
        ("1.5", 1.5),
        ("2.0", 2),
        (".5", 0.5),
        ("-1", -1),
        ("-", "-"),
        ("99999999999999999999", 1e20),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int '7'", 7),
        ("!!binary aGk=", "hi"),
        (".inf", ".inf"),
    ],
)
def test_plain_words(text: str, value: Any) -> None:
    """A plain word is something else than text only where readers agree on it."""
    found = decode(f"key: {text}" if text != "-" else "key: '-'")["key"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text() -> None:
    """As in JSON."""
    assert decode("1: a\ntrue: b\n~: c\n2.5: d") == {"1": "a", "true": "b", "null": "c", "2.5": "d"}


def test_aliases_and_merges() -> None:
    """Anchors are written out, and ``<<`` fills in what is not there."""
    assert decode("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\nd: {<<: [*x, {m: 4}]}") == {
        "a": {"k": 1, "l": 2},
        "b": {"k": 1, "l": 3},
        "c": {"k": 1, "l": 2},
        "d": {"k": 1, "l": 2, "m": 4},
    }


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: c: d", 2, "a second colon in one value"),
        ("a: [\n", 2, "is not closed"),
        ("a:\n  - &x [*x]", 2, "inside what it refers to"),
        ("a: *nobody", 1, "undefined alias"),
        ("a: \x01", 1, "control characters"),
        ("<<: 1", 1, "only mappings can be merged"),
        ("? [1]\n: 2", 1, "a mapping key must be text"),
        ("a: !!int x", 1, "cannot decode !!str `x` as a !!int"),
        (BOMB, 1, "aliases stand for more than"),
        ("[" * 100_000 + "]" * 100_000, 1, "nested too deeply"),
        ("- " * 20_000, 1, "nested too deeply"),
        ("{a: " * 600 + "}" * 600, 1, "nested too deeply"),
    ],
)
def test_broken_text_has_a_line_and_a_reason(text: str, line: int, what: str) -> None:
    """Also text that is made to fill the memory or the stack."""
    with pytest.raises(BrokenText, match=what) as caught:
        decode(text)
    assert caught.value.line == line
    with pytest.raises(BrokenText) as later:
        decode(text, first_line=10)
    assert later.value.line == line + 9


def test_bodies_of_aliases() -> None:
    """A body may say many times what it says once, but not by far the most of what it says."""
    some = "a: &a [x, y]\nb: [" + ", ".join(["*a"] * 3000) + "]"
    assert len(decode_body(some, [])["b"]) == 3000
    with pytest.raises(BrokenText) as caught:
        decode_body(BOMB, [])
    assert caught.value.told == "document contains excessive aliasing"


def test_an_empty_text_is_none() -> None:
    """Comments and markers alone are an empty document."""
    assert decode("") is decode("# words\n") is decode("---\n") is None


@pytest.mark.parametrize("text", ["? [a]\n: b", "? {a: b}\n: c", "{[a]: b}", "? ? a", "? " * 3000 + "a"])
def test_keys_of_bodies_that_are_no_text(text: str) -> None:
    """They are an error of the body, and not of the server."""
    with pytest.raises(BrokenText) as refused:
        decode_body(text, [])
    assert refused.value.told == "a mapping key must be text"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1e3", 1000),
        ("1e+300", 1e300),
        ("1.5e3", 1500),
        ("1.e3", 1000),
        ("1_e3", 1000),
        ("-1e3", -1000),
        ("1e16", 10**16),
        ("1e-400", 0),
        ("1e400", "1e400"),
        ("0X1f", 31),
        ("0B1", 1),
        ("0O7", 7),
        ("08", 8),
        ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        ("18446744073709551615", 2**64 - 1),
        ("+18446744073709551615", 1.8446744073709552e19),
        ("1e", "1e"),
        ("._5", "._5"),
        ("0b2", "0b2"),
        ("y", True),
        ("2024-01-01", "2024-01-01"),
    ],
)
def test_numbers_of_bodies_are_those_of_go(word: str, value: Any) -> None:
    """Exponents need neither sign nor point, and what does not fit is text, as kube-apiserver reads them."""
    assert decode_body(word, []) == value
    assert type(decode_body(word, [])) is type(value)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (".nan", "json: unsupported value: NaN"),
        ("+.inf", "json: unsupported value: +Inf"),
        ("!!null x", "cannot decode !!str `x` as a !!null"),
        ("!!int 1.5", "cannot decode !!float `1.5` as a !!int"),
    ],
)
def test_words_without_a_value_are_told_as_go_tells_them(word: str, told: str) -> None:
    """Without a line."""
    with pytest.raises(BrokenText) as refused:
        decode_body(f"a: 1\nb: {word}", [])
    assert refused.value.told == told
