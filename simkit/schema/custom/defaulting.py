"""Defaulting of custom resources, and pruning of nulls that are not nullable.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakKeyDictionary

import orjson

from simkit.meta.errors import unexplained
from simkit.meta.objects import copied
from simkit.schema.structural import NO_DEFAULT, Schema


def drop_nulls(value: Any, schema: Schema) -> None:
    """Remove nulls from an object in place, unless the schema allows them or has a default for them."""
    if isinstance(value, dict):
        for name in list(value):
            node = schema.field(name)
            if node is None:
                continue
            if value[name] is None:
                if not node.nullable and node.default is NO_DEFAULT and bool(node.row):
                    del value[name]
            else:
                drop_nulls(value[name], node)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            drop_nulls(item, schema.items)


_LARGEST: Final = 2.0**63
_MOST_ADDED: Final = 4 * 1024 * 1024
"""Bytes of default values in one object. Stores take less; what is stored may get them from a later schema."""


def write_whole(value: Any) -> None:
    """Turn whole floats of a map or list into integers, in place.

    So Go writes them, whose clients read no ``1.0`` as an int. The negative zero has no whole form.

    Examples
    --------
    >>> value = {"a": [1.0, 1.5, 1e300, -0.0]}
    >>> write_whole(value)
    >>> value
    {'a': [1, 1.5, 1e+300, -0.0]}
    """
    places: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    for place, item in places:
        if isinstance(item, float):
            if item.is_integer() and -_LARGEST <= item < _LARGEST and str(item) != "-0.0":
                value[place] = int(item)
        elif isinstance(item, dict | list):
            write_whole(item)


def fill(value: Any, schema: Schema) -> None:
    """Set defaults in an object in place: for absent fields and for nulls that are not allowed.

    Raises the 500 StatusError of an object that its defaults would make larger than any store takes.
    """
    if needs_filling(schema):
        _fill(value, schema, _Room())


class _Room:
    """The bytes that defaults may still add to one object."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MOST_ADDED

    def default_of(self, node: Schema) -> Any:
        """A copy of a node's default."""
        size = _SIZES.get(node)
        if size is None:
            size = _SIZES[node] = len(orjson.dumps(node.default))
        self.left -= size
        if self.left < 0:
            raise unexplained(f"default values make the object larger than {_MOST_ADDED} bytes")
        return copied(node.default)


def _fill(value: Any, schema: Schema, room: _Room) -> None:
    if not needs_filling(schema):
        return
    if isinstance(value, dict):
        _fill_object(value, schema, room)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            if item is None and _replaces_null(schema.items):
                value[index] = room.default_of(schema.items)
            _fill(value[index], schema.items, room)


def _fill_object(value: dict[str, Any], schema: Schema, room: _Room) -> None:
    for name, node in schema.fields.items():
        if node.default is not NO_DEFAULT and (name not in value or (value[name] is None and not node.nullable)):
            value[name] = room.default_of(node)
    for name, item in value.items():
        below = schema.field(name)
        if below is None:
            continue
        if item is None and _replaces_null(below):
            value[name] = room.default_of(below)
        _fill(value[name], below, room)


def _replaces_null(node: Schema) -> bool:
    return not node.nullable and node.default is not NO_DEFAULT


def needs_filling(schema: Schema) -> bool:
    """True if there is a default at or below a node. Computed once per node; built-in types have none."""
    known = _KNOWN.get(schema)
    if known is None:
        known = _KNOWN[schema] = not schema.name and any(
            node.default is not NO_DEFAULT or needs_filling(node)
            for node in [node for node in (*schema.fields.values(), schema.items, schema.values) if node is not None]
        )
    return known


_KNOWN: Final[WeakKeyDictionary[Schema, bool]] = WeakKeyDictionary()
_SIZES: Final[WeakKeyDictionary[Schema, int]] = WeakKeyDictionary()
"""The bytes of a node's default as JSON."""
