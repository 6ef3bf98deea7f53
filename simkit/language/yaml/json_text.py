"""JSON texts that mean the same as YAML, read by the reader of JSON: clients apply objects in JSON, as YAML."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from simkit.meta.go_json import nested, sorted_keys

_SAME: Final = re.compile(rb'(?:[ -\[\]-~]|\\["\\nrtbf])*+')
"""Printable ASCII, with the escapes that both have; line breaks are left out, since indentation counts in YAML."""
_LONGEST_KEY: Final = 1000
"""YAML has keys of up to 1,024 characters."""


def read_json(text: bytes) -> dict[str, Any] | None:
    """The object that a text of compact JSON means as YAML, with sorted keys; None: it has to be read as YAML.

    Examples
    --------
    >>> read_json(b'{"b":1,"a":null}'), read_json(b'{"a":1.0}'), read_json(b'{"a":1,"a":2}'), read_json(b"a: 1")
    ({'a': None, 'b': 1}, None, None, None)
    """
    if text[:1] != b"{" or _SAME.fullmatch(text) is None:
        return None
    try:
        value = orjson.loads(text)
        written = orjson.dumps(nested(value))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    if text.count(b'"') != written.count(b'"') or not _is_plain(value):
        return None
    found: dict[str, Any] = sorted_keys(value)
    return found


def _is_plain(value: Any) -> bool:
    """True without numbers that are not whole, which the two read differently, and without overlong keys."""
    if isinstance(value, dict):
        return all(len(key) <= _LONGEST_KEY and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, float)
