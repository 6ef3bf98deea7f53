"""Validation of list types: duplicate elements of sets and of lists with keys.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from simkit.meta.fielderror import FieldError, duplicate, invalid_value
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
    if schema.list_type == "map":
        odd = next((index for index, item in enumerate(value) if not isinstance(item, Mapping | None)), None)
        if odd is not None:
            what = "must be an object for an array of list-type map"
            yield invalid_value(f"{path}[{odd}]", shown(value[odd]), what)
            return
        value = [{name: item[name] for name in schema.list_map_keys if name in item} if item else {} for item in value]
    seen: Counter[bytes] = Counter()
    for index, item in enumerate(value):
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        seen[key] += 1
        if seen[key] == 2:  # further ones are not told
            yield duplicate(f"{path}[{index}]", shown(item))
