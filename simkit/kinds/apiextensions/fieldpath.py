"""Resolution of the ``fieldPath`` of a CEL rule, such as ``.spec.a`` or ``['b-c']``, against the schema.

Upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simkit.schema.structural import Schema

_TOKEN: Final = re.compile(r"'(?:[^']|(?<=\\)')*+'?|[.\[\]]|[^.\[\]'][^.\[\]]*+")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadPath(ValueError):
    """A path that leads to no field of the schema; ``str()`` is the reason."""


def normalized(path: str, schema: Schema) -> str:
    """The path in the form of errors, without the leading dot. Raises BadPath if the schema has no such field.

    Examples
    --------
    >>> node = Schema({"type": "object", "fields": {"a": {"type": "object", "values": {"type": "string"}}}}, Schema)
    >>> normalized(".a['x.y']", node)
    'a[x.y]'
    """
    return resolved(path, schema)[0]


def resolved(path: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema]:
    """The path in the form of errors, and its node. ``brackets``: whether names may stand in them."""
    found, node = "", schema
    for name in _names(path, brackets):
        if node.row.get("fields") is not None:
            below = node.fields.get(name)
            found += f".{name}"
        else:
            below = node.values
            found += f"[{name}]"
        if below is None:
            raise BadPath("does not refer to a valid field")
        node = below
    return found.removeprefix("."), node


def _names(path: str, brackets: bool) -> Iterator[str]:
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == ".":
            yield _next(tokens)
        elif token != "[":
            raise BadPath(f"expected [ or . but got: {token}")
        elif not brackets:
            raise BadPath("array notation is not allowed")
        else:
            yield _quoted(tokens)


def _quoted(tokens: Iterator[str]) -> str:
    text = _next(tokens)
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        raise BadPath(f"expected single quoted string but got {text}")
    name = _unescaped(text[1:-1])
    closing = _next(tokens)
    if closing != "]":
        raise BadPath(f"expected ] but got {closing}")
    return name


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise BadPath("unexpected end of JSON path")
    return token


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise BadPath("invalid string literal: invalid syntax")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", letter, text)
