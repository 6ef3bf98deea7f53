"""What is wrong with the defaults of a schema: they must be what they would be checked for as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.meta.fielderror import FieldError, invalid_value
from simkit.schema.custom.contents import embedded, repeated
from simkit.schema.custom.rows import row_of
from simkit.schema.custom.values import Check
from simkit.schema.custom.wording import shown
from simkit.schema.structural import Resolver, Schema

Properties = Mapping[str, Any]


def default_faults(schema: Properties, path: str, resolve: Resolver, *, pruned: bool) -> list[FieldError]:
    """All that is wrong with defaults, but for those of map values. ``pruned``: they may not have unknown fields."""
    return list(_level(schema, path, resolve, pruned))


def _level(schema: Properties, path: str, resolve: Resolver, pruned: bool) -> Iterator[FieldError]:
    value = schema.get("default")
    if value is not None:
        yield from _one(value, schema, f"{path}.default", resolve, pruned)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _level(items, f"{path}.items", resolve, pruned)
    fields = schema.get("properties") or {}
    for name in sorted(fields):
        yield from _level(fields[name], f"{path}.properties[{name}]", resolve, pruned)


def _one(value: Any, schema: Properties, path: str, resolve: Resolver, pruned: bool) -> Iterator[FieldError]:
    node = Schema(row_of(schema), resolve)
    if pruned and has_unknown(value, node):
        yield invalid_value(path, shown(value), "must not have unknown fields")
    faults = [*_moved(embedded(value, node), path), *_moved(repeated(value, node), path)]
    yield from faults or Check(schema).errors(value, under=path)


def _moved(errors: list[FieldError], path: str) -> list[FieldError]:
    return [FieldError(each.kind, f"{path}.{each.field}", each.value, each.detail) for each in errors]


def has_unknown(value: Any, node: Schema | None) -> bool:
    """Whether a value has fields that would be pruned."""
    if node is not None and node.name:
        return False
    if isinstance(value, Mapping):
        return any(_unknown_field(name, item, node) for name, item in value.items())
    if isinstance(value, list):
        items = node.items if node is not None else None
        if items is None and node is not None and node.preserve_unknown:
            return False
        return any(has_unknown(item, items) for item in value)
    return False


def _unknown_field(name: str, item: Any, node: Schema | None) -> bool:
    below = node.field(name) if node is not None else None
    if below is not None:
        return has_unknown(item, below)
    return node is None or not node.preserve_unknown


def unpruned_defaults(schema: Properties, resolve: Resolver) -> bool:
    """Whether any default of a schema has unknown fields, as old definitions may have them."""
    value = schema.get("default")
    if value is not None and has_unknown(value, Schema(row_of(schema), resolve)):
        return True
    items = schema.get("items")
    below = [items] if isinstance(items, Mapping) else []
    return any(unpruned_defaults(inner, resolve) for inner in (*below, *(schema.get("properties") or {}).values()))
