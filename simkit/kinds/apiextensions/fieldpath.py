"""Paths to a field below a node, as ``fieldPath`` of a rule writes them: ``.spec.a`` or ``['b-c']``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simkit.schema.structural import Schema

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadPath(ValueError):
    """A path that leads to no field of the schema."""


def normalized(path: str, schema: Schema) -> str:
    """The path as errors show it, without the leading dot. Raises BadPath where the schema has no such field.

    Examples
    --------
    >>> node = Schema({"type": "object", "fields": {"a": {"type": "object", "values": {"type": "string"}}}}, Schema)
    >>> normalized(".a['x.y']", node)
    'a[x.y]'
    """
    found, node = "", schema
    for name in _names(path):
        if node.row.get("fields") is not None:
            below = node.fields.get(name)
            found += f".{name}"
        else:
            below = node.values
            found += f"[{name}]"
        if below is None:
            raise BadPath(path)
        node = below
    return found.removeprefix(".")


def _names(path: str) -> Iterator[str]:
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == ".":
            yield _next(tokens, path)
        elif token == "[":
            text = _next(tokens, path)
            if len(text) < 2 or text[0] != "'" or text[-1] != "'" or _next(tokens, path) != "]":
                raise BadPath(path)
            yield _unescaped(text[1:-1], path)
        else:
            raise BadPath(path)


def _next(tokens: Iterator[str], path: str) -> str:
    token = next(tokens, None)
    if token is None:
        raise BadPath(path)
    return token


def _unescaped(text: str, path: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise BadPath(path)
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", letter, text)
