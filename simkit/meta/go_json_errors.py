"""Syntax errors of Go's JSON decoder for invalid text.

Upstream: sigs.k8s.io/json/internal/golang/encoding/json/scanner.go, release 1.30.
"""

from __future__ import annotations

import json
import re
from typing import Final

_LITERALS: Final = ("null", "true", "false")
_ESCAPES: Final = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
_AFTER: Final = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Extra data": "after top-level value",
}


def syntax_text(error: json.JSONDecodeError) -> str:
    """Go's error for a text that ``json`` could not parse.

    Examples
    --------
    >>> try:
    ...     json.loads("nothing")
    ... except json.JSONDecodeError as error:
    ...     syntax_text(error)
    "invalid character 'o' in literal null (expecting 'u')"
    """
    rest = error.doc[error.pos :]
    if not rest.strip() or rest == "-" or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    broken = _broken_literal(rest) if error.msg == "Expecting value" else ""
    if broken:
        return broken
    if rest[0] == "-" and error.msg == "Expecting value":
        return f"invalid character {_shown(rest[1])} in numeric literal"
    shown = _shown(rest[0])
    if error.msg.startswith("Expecting ',' delimiter") and _inside_array(error.doc[: error.pos]):
        return f"invalid character {shown} after array element"
    if error.msg.startswith("Invalid control character"):
        return f"invalid character {shown} in string literal"
    if error.msg.startswith("Invalid \\"):
        return f"invalid character {shown} in string escape code"
    return f"invalid character {shown} {_AFTER.get(error.msg, 'looking for beginning of value')}"


def _shown(letter: str) -> str:
    """A character in quotes, of which only the first byte is shown."""
    first = letter.encode("utf-8", "surrogateescape")[:1].decode("latin-1")
    if first == "'":
        return "'\\''"
    if first.isprintable():
        return f"'{first}'"
    escaped = f"\\x{ord(first):02x}" if first.isascii() else f"\\u{ord(first):04x}"
    return f"'{_ESCAPES.get(first, escaped)}'"


def _broken_literal(text: str) -> str:
    """The error of a word that begins like true, false or null."""
    word = next((word for word in _LITERALS if word[0] == text[0]), "")
    for wanted, given in zip(word[1:], text[1:], strict=False):
        if wanted != given:
            return f"invalid character {_shown(given)} in literal {word} (expecting '{wanted}')"
    return "unexpected end of JSON input" if len(text) < len(word) else ""


def _inside_array(text: str) -> bool:
    bare = re.sub(r'"(?:\\.|[^"\\])*+"?', "", text)
    depth: list[str] = []
    for character in bare:
        if character in "[{":
            depth.append(character)
        elif character in "]}" and depth:
            depth.pop()
    return bool(depth) and depth[-1] == "["
