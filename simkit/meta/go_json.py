"""JSON parsing with the behaviour and the errors of Go's decoder.

Slower than the usual parser, and for texts that one does not take.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import orjson

from simkit.meta.go_json_errors import syntax_text

_WHOLE_BITS: Final = 64
ROOM_OF_BODIES: Final = 32
"""The number of levels by which a client's text must stay below the depth that can be written.

JSON of 254 levels can be written. What a client sends comes to stand in lists, events, reviews and audit events, and
its managed fields nest deeper than itself. kube-apiserver takes 10,000 levels ("exceeded max depth").
"""
ROOM_OF_STORED: Final = 16
"""The number of levels for a stored object, including its managed fields."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Malformed(Exception):
    """Invalid JSON (or YAML); the text is kube-apiserver's."""


def read(text: bytes) -> Any:
    """The value of a JSON text; invalid UTF-8 and lone surrogates become replacement characters.

    Raises Malformed.

    Examples
    --------
    >>> read(b'{"a": "\\xff"}')
    {'a': '\ufffd'}
    >>> read(b'{"a": 1')
    Traceback (most recent call last):
    simkit.meta.go_json.Malformed: unexpected end of JSON input
    """
    given = text.decode("utf-8", "surrogateescape")
    try:
        value = _replaced(json.loads(given, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole))
        orjson.dumps(nested(value))  # what cannot be written again nests too deeply
    except (RecursionError, orjson.JSONEncodeError):
        raise Malformed("exceeded max depth") from None
    except json.JSONDecodeError as error:
        raise Malformed(syntax_text(error)) from None
    return value


def nested(value: Any, levels: int = ROOM_OF_BODIES) -> Any:
    """A value inside a number of lists, to test that it can be written inside other values.

    Examples
    --------
    >>> nested(1, 2)
    [[1]]
    """
    for _ in range(levels):
        value = [value]
    return value


_ESCAPED: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    """A value as JSON with the escapes of Go's encoder, which are safe in HTML.

    Examples
    --------
    >>> encode({"b": "<&>", "a": None}, sort_keys=True)
    b'{"a":null,"b":"\\\\u003c\\\\u0026\\\\u003e"}'
    """
    return escape(orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None))


def compact(text: bytes) -> bytes:
    """The same bytes without spare room, for texts that are kept.

    orjson (3.13) leaves the room that it took for its answer: 4 KB for the shortest one, up to half for a long one.
    """
    return memoryview(text).tobytes()


def encode_indented(value: Any) -> bytes:
    """A value as indented JSON, as by Go's ``MarshalIndent``: without a final line break."""
    return escape(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def indented_list(body: bytes, key: str) -> bytes:
    """The JSON of an object, indented as by ``encode_indented``, item by item of the list under a key of it.

    The interpreter is not held for longer than an item takes, however long the list is.

    Examples
    --------
    >>> print(indented_list(b'{"kind":"L","items":[{"a":1},2]}', "items").decode())
    {
      "kind": "L",
      "items": [
        {
          "a": 1
        },
        2
      ]
    }
    """
    text, opening = body.decode(), f'"{key}":['
    start = end = text.index(opening) + len(opening)
    items: list[bytes] = []
    while text[end] != "]":
        value, end = _DECODER.raw_decode(text, end)
        items.append(encode_indented(value).replace(b"\n", b"\n    "))
        end += text[end] == ","
    shell = encode_indented(orjson.loads(text[:start] + text[end:]))
    if not items:
        return shell
    before, empty, after = shell.partition(f'"{key}": []'.encode())
    return b"".join((before, empty[:-1], b"\n    ", b",\n    ".join(items), b"\n  ]", after))


_DECODER: Final = json.JSONDecoder()


def sorted_keys(value: Any) -> Any:
    """A value with the keys of all its mappings sorted, as by Go's encoder."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def escape(text: bytes) -> bytes:
    """JSON with the characters escaped that Go's encoder escapes; they occur in strings only."""
    for plain, escaped in _ESCAPED:
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def go_kind(value: Any) -> str:
    """The Go decoder's name of a JSON value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"


def _refuse_constant(word: str) -> Any:
    """The refusal of numbers that Python reads and JSON does not have."""
    where = "in numeric literal" if word.startswith("-") else "looking for beginning of value"
    raise Malformed(f"invalid character '{word.removeprefix('-')[0]}' {where}")


def _finite(number: str) -> float:
    found = float(number)
    if math.isinf(found):
        raise Malformed(f"json: cannot unmarshal number {number} into Go value of type float64")
    return found


def _whole(number: str) -> float:
    try:
        found = int(number)
    except ValueError:  # more digits than Python reads
        raise Malformed(f"json: cannot unmarshal number {number[:100]} into Go value of type float64") from None
    return found if found.bit_length() < _WHOLE_BITS else _finite(number)


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    return [_replaced(item) for item in value] if isinstance(value, list) else value


_GO_HEADER: Final = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


def header_error(value: Any) -> str:
    """The reason why a decoded body has no valid apiVersion and kind; empty if it has."""
    if value is None or isinstance(value, dict):
        for name, field in (("apiVersion", "apiVersion"), ("kind", "kind")):
            given = (value or {}).get(name)
            if given is not None and not isinstance(given, str):
                return (
                    f"couldn't get version/kind; json parse error: json: cannot unmarshal {go_kind(given)} "
                    f"into Go struct field .{field} of type string"
                )
        given = (value or {}).get("apiVersion") or ""
        return f"unexpected GroupVersion string: {given}" if given.count("/") > 1 else ""
    kind = go_kind(value)
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into {_GO_HEADER}"
