"""Objects with one odd value each, in every field that their schema has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.schema.structural import Schema

Path = tuple[str | int, ...]
LONG: Final = 300 * "a"
GONE: Final = object()
"""The field itself is taken away."""
_DEEPEST: Final = 14
_TEXTS: Final = ("", "Not_Valid!", "other", LONG, "1.2.3.4", "a/b", "-5", "..", "/abs")
_MOMENTS: Final = ("", "2020-01-01T00:00:00Z", "x")
_NUMBERS: Final = (-1, 0, 1, 70_000, 3_000_000_000)
_EITHER: Final = ("150%", "-5%", "abc", -1, 0, "5", "a--b", 70_000)
_MAPS: Final[Sequence[Mapping[str, str]]] = ({"bad key!": "1"}, {"a": f"bad value!{LONG}"}, {"a": "-1"}, {"": ""})
_OWNED: Final = frozenset(
    ("uid", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp", "resourceVersion", "generation")
)
"""Metadata that the server writes and clients do not."""


def odd(schema: Schema, obj: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Copies of an object, each with one odd value, and where it is.

    Examples
    --------
    >>> from simkit.meta.names import GroupVersionKind
    >>> from simkit.schema.catalogue import Catalogue
    >>> lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}}
    >>> schema = Catalogue.for_release("1.30").schema(GroupVersionKind("coordination.k8s.io", "v1", "Lease"))
    >>> [made["spec"] for where, made in odd(schema, lease) if where == "spec.leaseDurationSeconds"][:2]
    [{'leaseDurationSeconds': -1}, {'leaseDurationSeconds': 0}]
    """
    for path, value in odd_values(schema, obj):
        yield ".".join(map(str, path)), with_value(obj, path, value)


def odd_values(schema: Schema, obj: Mapping[str, Any], at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The odd values for an object, or for the part of it at a place, each with its place."""
    return _values(schema, obj, at, len(at))


def _values(schema: Schema, value: Any, path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    if depth > _DEEPEST:
        return
    leaves = _leaves(schema)
    if leaves:
        yield from ((path, leaf) for leaf in leaves)
    elif schema.fields:
        yield from _of_fields(schema, value if isinstance(value, Mapping) else {}, path, depth)
    elif schema.type == "array" and schema.items is not None:
        items = value if isinstance(value, list) else []
        if items:
            yield from ((path, []), (path, [*items, items[0]]))
        for index, item in enumerate(items[:6] or [None]):
            yield from _values(schema.items, item, (*path, index), depth + 1)
    elif schema.type == "object":
        yield from ((path, each) for each in _MAPS)


def _leaves(schema: Schema) -> Sequence[Any]:
    if schema.int_or_string:
        return _EITHER
    if schema.type == "string":
        return _MOMENTS if schema.format in ("date-time", "micro-time") else _TEXTS
    if schema.type in ("integer", "number"):
        return _NUMBERS
    return (True, False) if schema.type == "boolean" else ()


def _of_fields(schema: Schema, value: Mapping[str, Any], path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    for name, node in (schema.fields or {}).items():
        if (not path and name in ("apiVersion", "kind", "status")) or (path == ("metadata",) and name in _OWNED):
            continue
        here = (*path, name)
        if name in value:
            yield here, GONE
        yield from _values(node, value.get(name), here, depth + 1)
    if path and value:
        yield path, {}


def with_value(holder: Any, path: Path, value: Any) -> Any:
    """A copy of lists and maps with another value at a path; what is missing on the way is made."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(holder) if isinstance(holder, list) else []
        items += [{}] * (step + 1 - len(items))
        items[step] = with_value(items[step], rest, value) if rest else value
        return [item for item in items if item is not GONE]
    made = dict(holder) if isinstance(holder, Mapping) else {}
    made[step] = with_value(made.get(step), rest, value) if rest else value
    return {key: item for key, item in made.items() if item is not GONE}
