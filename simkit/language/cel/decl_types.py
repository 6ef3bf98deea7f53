"""Types that schemas declare: their fields, the conversion from JSON to values, and the greatest sizes of values.

DeclType in k8s.io/apiserver/pkg/cel/types.go, SchemaDeclType and UnstructuredToVal in
k8s.io/apiserver/pkg/cel/common, release 1.30.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from simkit.language.cel.build import RESERVED
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
)
from simkit.language.cel.values import Duration, Timestamp, kind_of, parsed_timestamp
from simkit.schema.custom.formats import parse_duration
from simkit.schema.structural import NO_DEFAULT, Schema

Adapt = Callable[[Any], Any]

MAX_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of the largest request, which limits the size of values without a limit of their own."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"__|[./-]")
_SPELLED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escaped(name: str) -> str | None:
    """A property's name in expressions; None if it cannot be written.

    Examples
    --------
    >>> escaped("a-b"), escaped("if"), escaped("1a")
    ('a__dash__b', '__if__', None)
    """
    if name in RESERVED:
        return f"__{name}__"
    spelled = _SPECIAL.sub(lambda found: _SPELLED[found[0]], name)
    return spelled if _NAME.fullmatch(spelled) else None


class DeclType:
    """The type that a schema declares, with further facts for evaluation and cost estimates.

    Attributes
    ----------
    type
        The type for the checker.
    max_elements
        The greatest size; 0 for scalars, as cel-go's estimates have it.
    min_size
        Bytes of the smallest JSON text.
    adapt
        Makes a value of JSON; None where JSON already is the value.
    """

    def __init__(self, schema: Schema, name: str, *, resource: bool = False) -> None:
        self.schema = schema
        self.name = name
        self.resource = resource or schema.embedded
        self.type, self.max_elements, self.min_size = _shape(self)
        self._entered = False

    @cached_property
    def properties(self) -> Mapping[str, Schema]:
        """Nodes under JSON names, with what every resource has."""
        known = dict(self.schema.fields)
        if self.resource:
            text = Schema({"type": "string"}, self.schema._resolve)
            meta = {"type": "object", "fields": {"name": {"type": "string"}, "generateName": {"type": "string"}}}
            known |= {"kind": text, "apiVersion": text, "metadata": Schema(meta, self.schema._resolve)}
        return known

    @cached_property
    def fields(self) -> Mapping[str, tuple[str, DeclType]]:
        """JSON name and declaration of each field under the name that expressions use."""
        found: dict[str, tuple[str, DeclType]] = {}
        for name, node in self.properties.items():
            spelled = escaped(name)
            inner = schema_decl_type(node, f"{self.name}.{spelled or name}")
            if inner is not None and spelled is not None:
                found[spelled] = (name, inner)
        return found

    @cached_property
    def element(self) -> DeclType | None:
        """The declared type of a list's elements or a map's values."""
        inner = self.schema.items if self.type.kind == "list" else self.schema.values
        suffix = "@idx" if self.type.kind == "list" else "@elem"
        return schema_decl_type(inner, f"{self.name}.{suffix}") if inner is not None else None

    def member(self, name: str) -> DeclType | None:
        """The declared type of a field; None if this is no object, or has no such field."""
        return self.fields[name][1] if self.type.kind == "object" and name in self.fields else None

    @cached_property
    def adapt(self) -> Adapt | None:
        """The conversion from JSON to a value; None if none is needed."""
        if self._entered:
            return None  # A schema that contains itself: what makes it special was found on the way in.
        self._entered = True
        try:
            return _adapter(self)
        finally:
            self._entered = False

    def value(self, raw: Any) -> Any:
        """The value of a piece of JSON."""
        return raw if self.adapt is None else self.adapt(raw)


def schema_decl_type(schema: Schema, name: str, *, resource: bool = False) -> DeclType | None:
    """The type that a schema declares; None if expressions must not see the value.

    ``resource`` is set for the root of a resource, whose kind, apiVersion and metadata are always visible.
    """
    if schema.int_or_string or schema.type in ("string", "boolean", "number", "integer"):
        return DeclType(schema, name)
    if schema.type == "array":
        visible = schema.items is not None and schema_decl_type(schema.items, f"{name}.@idx") is not None
        return DeclType(schema, name) if visible else None
    if schema.type == "object":
        if schema.values is not None and schema_decl_type(schema.values, f"{name}.@elem") is None:
            return None
        return DeclType(schema, name, resource=resource)
    return None


def _bound(schema: Schema, check: str) -> int | None:
    found = schema.row.get("checks", {}).get(check)
    return None if found is None else max(0, int(found))


_FORMATS: Final[Mapping[str, tuple[Type, int, int]]] = {
    "duration": (DURATION, 32, 3),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 32, 21),
}
_SCALARS: Final = {"boolean": (BOOL, 0, 4), "number": (DOUBLE, 0, 1), "integer": (INT, 0, 1)}


def _shape(declared: DeclType) -> tuple[Type, int, int]:
    """Type, greatest size, smallest JSON size."""
    schema = declared.schema
    length = _bound(schema, "maxLength")
    if schema.int_or_string:
        return DYN, MAX_REQUEST - 2 if length is None else 4 * length, 1
    if schema.type in _SCALARS:
        return _SCALARS[schema.type]
    if schema.type == "string":
        return _string_shape(schema, length)
    if schema.type == "array":
        assert schema.items is not None
        inner = schema_decl_type(schema.items, f"{declared.name}.@idx")
        assert inner is not None
        items = _bound(schema, "maxItems")
        return list_of(inner.type), (MAX_REQUEST - 2) // (inner.min_size + 1) if items is None else items, 2
    if schema.values is not None:
        inner = schema_decl_type(schema.values, f"{declared.name}.@elem")
        assert inner is not None
        entries = _bound(schema, "maxProperties")
        return map_of(STRING, inner.type), (MAX_REQUEST - 2) // (inner.min_size + 6) if entries is None else entries, 2
    return object_type(declared.name, declared), 0, _object_size(declared)


def _string_shape(schema: Schema, length: int | None) -> tuple[Type, int, int]:
    if schema.format in _FORMATS:
        return _FORMATS[schema.format]
    if schema.format == "byte":
        return BYTES, MAX_REQUEST - 2 if length is None else length, 2
    if length is not None:
        return STRING, 4 * length, 2
    if schema.enum:
        return STRING, max(len(str(each).encode()) for each in schema.enum), 2
    return STRING, MAX_REQUEST - 2, 2


def _object_size(declared: DeclType) -> int:
    size = 2
    for name in declared.schema.required:
        node = declared.properties.get(name)
        if node is not None and node.default is NO_DEFAULT:
            inner = schema_decl_type(node, f"{declared.name}.{name}")
            size += len(name) + inner.min_size + 4 if inner is not None else 0
    return size


def _adapter(declared: DeclType) -> Adapt | None:
    schema, kind = declared.schema, declared.type.kind
    if kind == "timestamp":
        return _date if schema.format == "date" else _moment
    if kind in _READERS:
        return _READERS[kind]
    if kind == "list":
        assert declared.element is not None
        return _list_adapter(schema, declared.element.adapt)
    if kind == "map":
        assert declared.element is not None
        return _map_adapter(declared.element.adapt)
    return _object_adapter(declared) if kind == "object" else None


def _list_adapter(schema: Schema, inner: Adapt | None) -> Adapt | None:
    def each(raw: Sequence[Any]) -> Sequence[Any]:
        return raw if inner is None else [inner(value) for value in raw]

    if schema.list_type == "set":
        return lambda raw: None if raw is None else SetList(each(raw))
    if schema.list_type == "map":
        keys = schema.list_map_keys
        return lambda raw: None if raw is None else KeyedList(each(raw), keys)
    return None if inner is None else lambda raw: None if raw is None else each(raw)


def _map_adapter(inner: Adapt | None) -> Adapt | None:
    if inner is None:
        return None
    return lambda raw: None if raw is None else {key: inner(value) for key, value in raw.items()}


def _object_adapter(declared: DeclType) -> Adapt | None:
    changed = {
        name: (spelled, inner)
        for spelled, (name, inner) in declared.fields.items()
        if spelled != name or inner.adapt is not None
    }
    if not changed:
        return None

    def adapt(raw: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if raw is None:
            return None
        found: dict[str, Any] = {}
        for name, value in raw.items():
            spelled, inner = changed.get(name, (name, None))
            found[spelled] = value if inner is None else inner.value(value)
        return found

    return adapt


def _length(raw: str | None) -> Duration | None:
    nanos = None if raw is None else parse_duration(raw)
    if raw is not None and nanos is None:
        raise EvaluationError(f"Invalid duration {raw}")
    return None if nanos is None else Duration(nanos)


def _moment(raw: str | None) -> Timestamp | None:
    if raw is None:
        return None
    found = parsed_timestamp(raw) or parsed_timestamp(f"{raw}Z") or parsed_timestamp(f"{raw}:00Z")
    if found is None:
        raise EvaluationError(f"Invalid date-time formatted string {raw}")
    return found


def _date(raw: str | None) -> Timestamp | None:
    found = None if raw is None else parsed_timestamp(f"{raw}T00:00:00Z")
    if raw is not None and found is None:
        raise EvaluationError(f"Invalid date formatted string {raw}")
    return found


def _bytes(raw: str | None) -> bytes | None:
    try:
        return None if raw is None else base64.b64decode(raw, validate=True)
    except ValueError:
        raise EvaluationError(f"Invalid byte formatted string {raw}") from None


def _double(raw: Any) -> float | None:
    return None if raw is None else float(raw)


_READERS: Final[Mapping[str, Adapt]] = {"duration": _length, "bytes": _bytes, "double": _double}


class SetList(list[Any]):
    """A list of type set: scalars without duplicates."""

    cel_kind: ClassVar[str] = "list"

    def cel_equals(self, other: Sequence[Any]) -> bool:
        """True if the other list has the same elements in any order."""
        mine = set(map(_tagged, self))
        return len(self) == len(other) and all(_tagged(value) in mine for value in other)

    def cel_add(self, other: Iterable[Any]) -> SetList:
        """This list, followed by the new elements of the other one."""
        found = SetList(self)
        seen = set(map(_tagged, self))
        for value in other:
            if _tagged(value) not in seen:
                seen.add(_tagged(value))
                found.append(value)
        return found


def _tagged(value: Any) -> Hashable:
    """The value with its kind, so that 1, 1.0 and true are different."""
    kind = kind_of(value)
    return (kind, value) if kind not in ("list", "map") else (kind, repr(value))


class KeyedList(list[Any]):
    """A list of type map: objects that some of their fields identify."""

    cel_kind: ClassVar[str] = "list"

    def __init__(self, values: Iterable[Any], keys: Sequence[str]) -> None:
        super().__init__(values)
        self.keys = keys

    def _key(self, value: Any) -> Hashable:
        if not isinstance(value, Mapping):
            return ("", repr(value))
        return tuple(_tagged(value.get(key)) for key in self.keys)

    def cel_equals(self, other: Sequence[Any]) -> bool:
        """True if both have equal objects under the same keys."""
        from simkit.language.cel.operations import equals

        mine = {self._key(value): value for value in self}
        if len(self) != len(other):
            return False
        return all(self._key(value) in mine and equals(mine[self._key(value)], value) for value in other)

    def cel_add(self, other: Iterable[Any]) -> KeyedList:
        """This list with elements that the other one overwrites in place, followed by its new ones."""
        found = KeyedList(self, self.keys)
        places = {self._key(value): place for place, value in enumerate(self)}
        for value in other:
            place = places.get(self._key(value))
            if place is None:
                found.append(value)
            else:
                found[place] = value
        return found
