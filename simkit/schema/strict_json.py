"""JSON parsing that detects duplicate keys.

The fast parser keeps the last of repeated keys and does not tell. Whether any were repeated shows in a count: the
value, written again, must have as many quotation marks as the text. Only a text that fails this, or spells quotation
marks in a way that hides them from the count, is parsed again, slowly.

Follows ``sigs.k8s.io/json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from simkit.meta.go_json import nested

Pairs = Sequence[tuple[str, Any]]


class Repeated(dict[str, Any]):
    """A JSON object with duplicate keys; ``pairs`` has all of them. As a mapping it has the last one."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def parse(text: bytes | str) -> Any:
    """The value of a JSON text; objects with duplicate keys are ``Repeated``.

    Raises ``orjson.JSONDecodeError``, and RecursionError for a value that nests too deeply to be written again inside
    of others.

    Examples
    --------
    >>> parse(b'{"a": 1, "a": 2}').pairs
    [('a', 1), ('a', 2)]
    >>> type(parse(b'{"a": 1}'))
    <class 'dict'>
    """
    value = orjson.loads(text)
    try:
        repeated = may_repeat(text, nested(value))
    except orjson.JSONEncodeError:
        raise RecursionError("the value nests too deeply") from None
    if not repeated:
        return value
    return with_repeated(text)


def with_repeated(text: bytes | str) -> Any:
    """The value of a valid JSON text, parsed slowly; objects with duplicate keys are ``Repeated``."""
    return json.loads(text, object_pairs_hook=_object)


def may_repeat(text: bytes | str, value: Any) -> bool:
    """True if the text of this value may have duplicate keys; False is certain."""
    quote, escaped = ('"', "\\u0022") if isinstance(text, str) else (b'"', b"\\u0022")
    written = orjson.dumps(value).count(b'"')
    return text.count(quote) != written or escaped in text  # type: ignore[arg-type, operator]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Repeated(pairs)


def plain(value: Any) -> Any:
    """The value with ordinary objects in place of ``Repeated``; lists and objects are new.

    Examples
    --------
    >>> plain(parse(b'{"a": {"b": 1, "b": 2}}'))
    {'a': {'b': 2}}
    """
    if not isinstance(value, dict | list):
        return value
    try:
        return orjson.loads(orjson.dumps(value))  # much faster than to go through it
    except (orjson.JSONEncodeError, orjson.JSONDecodeError):  # long integers, or nested deeply
        return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def repeated_fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of duplicate keys in document order, each once per object: ``spec.paused``, ``spec.list[0].a``."""
    if isinstance(value, Mapping):
        pairs = value.pairs if isinstance(value, Repeated) else value.items()
        seen: dict[str, int] = {}
        for key, item in pairs:
            below = f"{path}.{key}" if path else key
            seen[key] = seen.get(key, 0) + 1
            if seen[key] == 2:
                yield below
            yield from repeated_fields(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from repeated_fields(item, f"{path}[{index}]")
