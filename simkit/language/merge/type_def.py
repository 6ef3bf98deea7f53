"""The merge rules of a schema: nodes compiled into the facts that merging and comparing need.

Four kinds cover everything: a LEAF is replaced as a whole (scalars, atomic lists and maps), a MAP has entries with
owners of their own, a LIST has elements told apart by key fields, a SET has elements told apart by their value.
Where the schema says nothing, ANY deduces the kind from the value: mappings are granular, all else is a leaf.

structured-merge-diff v4.4, schema/elements.go; the markers x-kubernetes-list-type and x-kubernetes-map-type of
KEP-555.

Upstream: sigs.k8s.io/structured-merge-diff/v4/typed/helpers.go, release 1.30.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from simkit.language.merge.fieldset import key_element, value_element
from simkit.meta.behaviour import ServedBehaviour
from simkit.schema.decoders import struct
from simkit.schema.structural import NO_DEFAULT, Schema


class AtomKind(enum.IntEnum):
    """The kinds of a value under merging, as an Atom of structured-merge-diff."""

    LEAF = 0
    MAP = 1
    LIST = 2
    SET = 3
    ANY = 4


LEAF, MAP, LIST, SET, ANY = AtomKind.LEAF, AtomKind.MAP, AtomKind.LIST, AtomKind.SET, AtomKind.ANY


class _Absent:
    """An absent value, as opposed to null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()


class BadElement(ValueError):
    """A list element without a path element: null, of the wrong type, or without its keys."""


class Entry(NamedTuple):
    """A declared field: its path element, its type, and the value that counts as absent."""

    element: str
    type_def: TypeDef
    absent: Any


class TypeDef:
    """The facts of a schema node that merging needs. Children are compiled on demand.

    ``structured`` says that the objects have the form of the built-in kinds: fields that are always written (nested
    structures, required scalars and lists) count as present with their empty value, and null counts as absent.
    ``keys_may_lack`` says that elements of lists may leave out some of their keys.
    """

    def __init__(
        self, schema: Schema | None, *, structured: bool, keys_may_lack: bool = False, open_ended: bool = False
    ) -> None:
        self._schema, self._keys_may_lack = schema, keys_may_lack
        self.structured = structured
        self._open_ended = open_ended or bool(schema and schema.preserve_unknown)
        """True if fields that the schema does not name are kept, here and below."""
        self.type = _type_of(schema) if schema else ""
        """The type that validation expects: string, number, boolean, list, map, or empty for any."""
        self.kind = self._atom_kind()

    def _atom_kind(self) -> AtomKind:
        schema = self._schema
        if self._is_raw:
            return LEAF
        if schema is None or (schema.preserve_unknown and not self.type):
            return ANY
        if not (self.type or schema.int_or_string or schema.format or "oneOf" in schema.row):
            return ANY
        if self.type == "map":
            return LEAF if schema.map_type == "atomic" else MAP
        if self.type != "list":
            return LEAF
        kind = schema.list_type
        if not kind and "merge" in schema.patch_strategy:
            kind = "map" if schema.patch_merge_key else "set"
        return {"map": LIST, "set": SET}.get(kind, LEAF)

    @property
    def _is_raw(self) -> bool:
        """True for an object of some other kind, which nobody owns in parts."""
        schema = self._schema
        return schema is not None and schema.preserve_unknown and schema.format == "raw"

    @cached_property
    def fields(self) -> Mapping[str, Entry]:
        """The declared fields."""
        if self._schema is None or self.type != "map":
            return {}
        empty = struct(self._schema).zero() if self.structured else {}
        return {name: self._entry(name, node, empty) for name, node in self._schema.fields.items()}

    def _entry(self, name: str, node: Schema, empty: Mapping[str, Any]) -> Entry:
        return Entry(f"f:{name}", self._below(node), empty.get(name, ABSENT))

    def _below(self, node: Schema) -> TypeDef:
        return TypeDef(node, structured=self.structured, keys_may_lack=self._keys_may_lack, open_ended=self._open_ended)

    @cached_property
    def values(self) -> TypeDef | None:
        """The type of undeclared entries; None if there may be none."""
        if self.kind is ANY:
            return self
        if self._is_raw:
            return DEDUCED
        if self._schema is None or self.type != "map":
            return None
        if self._schema.values is not None:
            return self._below(self._schema.values)
        return DEDUCED if self._open_ended or not self._schema.fields else None

    @cached_property
    def items(self) -> TypeDef:
        """The type of a list's elements."""
        if self._schema is None or self._schema.items is None:
            return DEDUCED
        return self._below(self._schema.items)

    @property
    def is_amount(self) -> bool:
        """True for a quantity."""
        return self._schema is not None and self._schema.format == "quantity"

    @cached_property
    def has_amount_lists(self) -> bool:
        """True if lists that are owned as a whole, here or below, have elements of a built-in type with quantities."""
        return self.structured and self._schema is not None and _reaches_amount_lists(self._schema, frozenset())

    @cached_property
    def holds_amounts(self) -> bool:
        """True for a quantity, and for what has one below it other than as the value of a map."""
        return self._schema is not None and _holds_amounts(self._schema, frozenset())

    @cached_property
    def amount_fields(self) -> Mapping[str, TypeDef]:
        """The fields that are quantities or have one below them."""
        return {name: entry.type_def for name, entry in self.fields.items() if entry.type_def.holds_amounts}

    @cached_property
    def amount_list_fields(self) -> Mapping[str, Entry]:
        """The fields of this MAP below which there are such lists."""
        return {name: entry for name, entry in self.fields.items() if entry.type_def.has_amount_lists}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The fields that identify elements of a LIST, sorted."""
        assert self._schema is not None
        return tuple(sorted(self._schema.list_map_keys or (self._schema.patch_merge_key,)))

    @cached_property
    def _key_defaults(self) -> Mapping[str, Any]:
        """The default values of keys that an element leaves out."""
        nodes = self._schema.items.fields if self._schema and self._schema.items else {}
        return {key: nodes[key].default for key in self.keys if key in nodes and nodes[key].default is not NO_DEFAULT}

    def child(self, name: str) -> TypeDef | None:
        """The type under a field's name or a map's key; None if there may be no such field."""
        entry = self.fields.get(name)
        return entry.type_def if entry else self.values

    def element(self, item: Any) -> str:
        """The path element of an element of this LIST or SET.

        Raises
        ------
        BadElement
            Where the element is null, of the wrong type, or lacks a key that has no default.
        """
        return self._keyed(item) if self.kind is LIST else _set_element(item)

    def _keyed(self, item: Any) -> str:
        if item is None:
            raise BadElement("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise BadElement("associative list with keys may not have non-map elements")
        key: Mapping[str, Any] = {name: item[name] for name in self.keys if name in item}
        if len(key) < len(self.keys):
            key = self._completed(key)
        return key_element(key)

    def _completed(self, key: Mapping[str, Any]) -> Mapping[str, Any]:
        completed = {}
        for name in self.keys:
            if name in key:
                completed[name] = key[name]
            elif name in self._key_defaults:
                completed[name] = self._key_defaults[name]
            elif not self._keys_may_lack:
                raise BadElement(
                    f'associative list with keys has an element that omits key field "{name}" '
                    "(and doesn't have default value)"
                )
        if not completed:
            assert self._schema is not None
            names = " ".join(f'"{name}"' for name in self._schema.list_map_keys or self.keys)
            raise BadElement(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return completed


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise BadElement("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise BadElement("not supported: associative list with lists as elements")
    if item is None:
        raise BadElement("associative list without keys has an element that's an explicit null")
    return value_element(item)


def _reaches_amount_lists(schema: Schema, above: frozenset[str]) -> bool:
    """True if a node is a list owned as a whole whose elements hold quantities, or leads to one."""
    if schema.name in above:
        return False
    inside = above | {schema.name} if schema.name else above
    if schema.type == "array" and schema.items is not None:
        granular = schema.list_type in ("map", "set") or "merge" in schema.patch_strategy
        return _reaches_amount_lists(schema.items, inside) if granular else _holds_amounts(schema.items, inside)
    if schema.map_type == "atomic":
        return False
    return any(_reaches_amount_lists(child, inside) for child in schema.fields.values())


def _holds_amounts(schema: Schema, above: frozenset[str]) -> bool:
    """True if a node is a quantity or has one below it, other than as the value of a map or directly in one."""
    if schema.format == "quantity":
        return True
    if schema.name in above:
        return False
    inside = above | {schema.name} if schema.name else above
    if schema.values is not None and schema.values.name and schema.values.name not in inside:
        below = inside | {schema.values.name}
        fields = schema.values.fields.values()
        return any(_holds_amounts(child, below) for child in fields if child.format != "quantity")
    return any(_holds_amounts(child, inside) for child in (*schema.fields.values(), schema.items) if child is not None)


_STRICT_STRING_FORMATS: Final = ("", "byte")


def _type_of(schema: Schema) -> str:
    if schema.int_or_string:
        return ""
    if schema.type == "string":
        return "string" if schema.format in _STRICT_STRING_FORMATS else ""
    types = {"object": "map", "array": "list", "integer": "number"}
    return types.get(schema.type, schema.type)


DEDUCED: Final = TypeDef(None, structured=False)
"""The type of values without a schema."""


@lru_cache(maxsize=2048)
def _compiled(schema: Schema, keys_may_lack: bool) -> TypeDef:
    return TypeDef(schema, structured=bool(schema.name), keys_may_lack=keys_may_lack)


def type_def_of(behaviour: ServedBehaviour, schema: Schema | None) -> TypeDef:
    """The type of a whole object; without a schema it is deduced from the values.

    A schema with a name is a built-in kind's. Compiled once for each schema.
    """
    return DEDUCED if schema is None else _compiled(schema, behaviour.applies("keys-of-elements-may-lack"))
