"""Constants in the source: numbers with their ranges, strings and bytes with their escapes.

cel-spec, doc/langdef.md, "String and Bytes Values"; cel-go 0.17, parser/unescape.go.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.language.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_MOST_DIGITS: Final = len(str(UINT_MAX))
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LiteralError(Exception):
    """A constant outside the range of its type."""


def integer(text: str) -> int:
    """The value of an int constant; LiteralError outside 64 bits."""
    value = _whole(text)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> UInt:
    """The value of an uint constant; LiteralError outside 64 bits."""
    value = _whole(text[:-1])
    if value is None or not 0 <= value <= UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def _whole(text: str) -> int | None:
    """The value of digits, hexadecimal ones behind ``0x``; None for more than any type holds."""
    if "x" in text:
        return int(text, 16)
    sign, digits = ("-", text[1:].lstrip("0")) if text.startswith("-") else ("", text.lstrip("0"))
    return int(f"{sign}{digits or 0}") if len(digits) <= _MOST_DIGITS else None


def double(text: str) -> float:
    """The value of a double constant; LiteralError if it is too large."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def _content(text: str) -> tuple[str, bool]:
    """The text between the quotes, and True if it is raw."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    return body[width:-width], raw


def _code_point(found: re.Match[str]) -> int:
    return int(found[2] or found[3] or found[4], 16) if not found[5] else int(found[5], 8)


def string(text: str) -> str:
    """The value of a string constant with its quotes; LiteralError for an impossible code point."""
    body, raw = _content(text)
    if raw or "\\" not in body:
        return body

    def replaced(found: re.Match[str]) -> str:
        if found[1]:
            return _LETTERS.get(found[1], found[1])
        point = _code_point(found)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise LiteralError("invalid unicode code point")
        return chr(point)

    return _ESCAPE.sub(replaced, body)


def byte_string(text: str) -> bytes:
    """The value of a bytes constant with its ``b`` and quotes."""
    inner = text[1:]
    body, raw = _content(inner)
    if raw:
        return body.encode()
    parts, position = [], 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[position : found.start()].encode())
        position = found.end()
        if found[1]:
            parts.append(_LETTERS.get(found[1], found[1]).encode())
        elif found[2] or found[5]:
            parts.append(bytes([_code_point(found)]))
        else:
            raise LiteralError("illegal escape sequence: unable to unescape unicode in bytes")
    parts.append(body[position:].encode())
    return b"".join(parts)
