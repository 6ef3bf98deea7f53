"""Validation of list types: duplicate elements of sets and of lists with keys.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from simkit.meta.fielderror import FieldError, duplicate
from simkit.schema.custom.messages import shown
from simkit.schema.structural import Schema

Path = str


def child(path: Path, name: str) -> Path:
    return f"{path}.{name}" if path else name


def walk(
    value: Any, schema: Schema, path: Path, visit: Callable[[Any, Schema, Path], Iterator[FieldError]]
) -> Iterator[FieldError]:
    """The errors that a visitor finds at every level of a value with a schema."""
    yield from visit(value, schema, path)
    if isinstance(value, Mapping):
        for name, item in value.items():
            node = schema.fields.get(name)
            if node is not None and not node.name:
                yield from walk(item, node, child(path, name), visit)
            elif node is None and schema.values is not None:
                yield from walk(item, schema.values, f"{path}[{name}]", visit)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from walk(item, schema.items, f"{path}[{index}]", visit)


def repeated(value: Any, schema: Schema) -> list[FieldError]:
    """The duplicate elements of a set or a keyed list."""
    return list(walk(value, schema, "", _repeated))


def _repeated(value: Any, schema: Schema, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, list) or schema.list_type not in ("set", "map"):
        return
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        told = item
        if schema.list_type == "map":
            if not isinstance(item, Mapping):
                continue
            told = {name: item[name] for name in schema.list_map_keys if name in item}
        key = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        if key in seen:
            yield duplicate(f"{path}[{index}]", shown(told))
        seen.add(key)
