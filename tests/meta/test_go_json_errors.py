"""Messages about text that is no JSON."""

from __future__ import annotations

import json

import pytest

from simkit.meta.go_json_errors import syntax_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "unexpected end of JSON input"),
        ("tru", "unexpected end of JSON input"),
        ("[fals]", "invalid character ']' in literal false (expecting 'e')"),
        ("not json", "invalid character 'o' in literal null (expecting 'u')"),
        ("n'", "invalid character '\\'' in literal null (expecting 'u')"),
        ("word", "invalid character 'w' looking for beginning of value"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 2}', "invalid character '2' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
    ],
)
def test_words(text: str, words: str) -> None:
    """The position of the error decides the words."""
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert syntax_text(caught.value) == words
