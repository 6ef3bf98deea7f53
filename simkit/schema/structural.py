"""Schema nodes: types, merge markers and defaults of values, for built-in kinds and custom resources.

Built-in kinds and custom resources both end up here, so that decoding, pruning, defaulting, merging and type checking
are written once. Nodes expand their children when these are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault()

Resolver = Callable[[str], "Schema"]
"""A function from a definition's name to its node."""


class Schema:
    """A schema node over a compact table row (see ``tools/compile_catalogue.py``); rows are never changed.

    Attributes are read from the row's keys: ``type``, ``format``, ``enum``, ``fields``, ``required``, ``items``,
    ``values`` (of a map), ``listType``, ``listMapKeys``, ``mapType``, ``patchStrategy``, ``patchMergeKey``,
    ``intOrString``, ``preserveUnknown``, ``embedded``, ``nullable``, ``default``. Rows of built-in kinds also have
    ``go`` and ``goType`` (what Go types do with zero values, what its string types are called);
    those of custom resources the value checks under ``checks`` (minimum, pattern, ... as in OpenAPI) and ``rules``
    (validation expressions).
    """

    def __init__(self, row: Mapping[str, Any], resolve: Resolver, name: str = "") -> None:
        self.row = row
        self.name = name
        """The definition's full name if the node is a named one, such as ``io.k8s.api.core.v1.PodSpec``."""
        self._resolve = resolve
        self.type: str = row.get("type", "")
        """The type: object, array, string, integer, number, boolean, or empty for any value."""
        self.format: str = row.get("format", "")
        self.list_type: str = row.get("listType", "")
        """The list type of arrays: atomic, set or map; empty means atomic."""
        self.list_map_keys: tuple[str, ...] = tuple(row.get("listMapKeys", ()))
        self.map_type: str = row.get("mapType", "")
        """The map type of objects: atomic or granular; empty means granular."""
        self.patch_strategy: tuple[str, ...] = tuple(filter(None, row.get("patchStrategy", "").split(",")))
        """The strategies of strategic merge patch for the field: merge, replace, retainKeys."""
        self.patch_merge_key: str = row.get("patchMergeKey", "")
        self.int_or_string: bool = bool(row.get("intOrString"))
        self.preserve_unknown: bool = bool(row.get("preserveUnknown"))
        self.embedded: bool = bool(row.get("embedded"))
        self.nullable: bool = bool(row.get("nullable"))
        self.enum: tuple[Any, ...] = tuple(row.get("enum", ()))
        self.default: Any = row.get("default", NO_DEFAULT)
        self.required: frozenset[str] = frozenset(row.get("required", ()))

    def definition(self, name: str) -> Schema:
        """The node of a definition with a name."""
        return self._resolve(name)

    def _node(self, row: Mapping[str, Any]) -> Schema:
        """The node of a child row; markers beside a ``ref`` override the definition (default, list markers)."""
        if "ref" not in row:
            return Schema(row, self._resolve)
        target = self._resolve(row["ref"])
        beside = {key: value for key, value in row.items() if key != "ref"}
        return Schema({**target.row, **beside}, target._resolve, target.name) if beside else target

    @cached_property
    def fields(self) -> Mapping[str, Schema]:
        """Nodes of the named properties."""
        return {name: self._node(row) for name, row in self.row.get("fields", {}).items()}

    @cached_property
    def items(self) -> Schema | None:
        """The node of an array's elements."""
        return self._node(self.row["items"]) if "items" in self.row else None

    @cached_property
    def values(self) -> Schema | None:
        """The node of a map's values, for objects with arbitrary keys."""
        return self._node(self.row["values"]) if "values" in self.row else None

    def field(self, name: str) -> Schema | None:
        """The node of a property or map key; None if the schema has no such field."""
        return self.fields.get(name) or self.values

    @property
    def go_type(self) -> str:
        """The last part of the definition's name, as in error messages: ``PodSpec``."""
        return self.name.rpartition(".")[2]

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.type or 'any'}>"
