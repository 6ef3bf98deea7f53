"""Decoders made from schema nodes: they check types, drop unknown fields, and add zero values as Go does.

A decoder takes a value that is not null and gives back what kube-apiserver would write for it. What it does with
null, and with a value that is zero, depends on the field that holds it: see ``_field``. Functions are made when a field
is first met and are then kept, so that a pass over an object is a chain of calls without any look at the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from simkit.meta.quantity import canonical_resource_amount
from simkit.schema import scalar_decoders
from simkit.schema.decode_pass import DecodePass, GoField, MapKey, struct_name, type_kind, type_name
from simkit.schema.scalar_decoders import SCHEMA_HOLDERS, TEXT_FORMATS, Decoder
from simkit.schema.strict_json import Repeated
from simkit.schema.structural import Schema

Row = Mapping[str, Any]
Zero = Callable[[], Any]

MISSING: Final = object()
"""The result of a field decoder for a field that is left out."""
_COUNTED_WHEN_EMPTY: Final = frozenset(
    {
        ("HPAScalingRules", "policies"),  # defaulted if nil, refused if empty
        ("DeviceClaim", "requests"),  # messages show the one as null and the other as []
        ("DeviceAllocationResult", "results"),
        ("ServiceCIDRSpec", "cidrs"),
        ("IngressSpec", "rules"),
        ("PersistentVolumeClaimSpec", "accessModes"),
        ("Device", "bindingConditions"),
        ("Device", "bindingFailureConditions"),
    }
)
"""Lists with omitempty that make a difference when they are empty and not nil. They are kept for defaulting and
validation; their kinds do not store them."""


class Struct:
    """The decoder of JSON objects of one struct type."""

    __slots__ = ("_node", "_plans", "_written", "name")

    def __init__(self, node: Schema) -> None:
        self.name = struct_name(node.name)
        self._node = node
        self._plans: dict[str, Decoder] = {}
        self._written: tuple[tuple[str, Zero], ...] | None = None

    def __call__(self, value: Any, reading: DecodePass) -> dict[str, Any]:
        if value.__class__ is Repeated:
            return self._repeated(value, reading)
        out: dict[str, Any] = {}
        plans = self._plans
        for name, item in value.items():
            plan = plans.get(name) or self._plan(name)
            if plan is None:
                reading.unknown(name)
                continue
            result = plan(item, reading)
            if result is not MISSING:
                out[name] = result
        for name, zero in self._written if self._written is not None else self._find_written():
            if name not in out:
                out[name] = zero()
        return out

    def zero(self) -> dict[str, Any]:
        """The zero value of the type."""
        written = self._written if self._written is not None else self._find_written()
        return {name: zero() for name, zero in written}

    def _plan(self, name: str) -> Decoder | None:
        row = self._node.row.get("fields", {}).get(name)
        if row is None:
            return None
        plan = self._plans[name] = _field(row, _place(self.name, name, row), self._node)
        return plan

    def _find_written(self) -> tuple[tuple[str, Zero], ...]:
        """The fields that are written even if they are absent."""
        fields = self._node.row.get("fields", {}).items()
        found = tuple(
            (name, (_zero(row, self._node) if row["go"] == "always" else _null))
            for name, row in fields
            if "go" in row and row["go"] != "pointer"
        )
        self._written = found
        return found

    def _repeated(self, value: Repeated, reading: DecodePass) -> dict[str, Any]:
        """The decoded object with duplicate keys: later values are merged into earlier ones, as Go does with
        structs."""
        merged: dict[str, Any] = {}
        seen: set[str] = set()
        for name, item in value.pairs:
            if name in seen:
                reading.repeated(name)
            seen.add(name)
            part = self({name: item}, reading)
            if name in part:
                merged[name] = _merged(merged.get(name), part[name])
        return {**self.zero(), **merged}


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), item) for key, item in new.items()}}
    return new


def _place(struct: str, field: str, row: Row) -> GoField:
    return GoField(struct, field, type_name(row), type_kind(row))


@cache
def struct(node: Schema) -> Struct:
    """The decoder of a definition's objects; one per node."""
    return Struct(node)


# Fields: what becomes of null and of zero


def _field(row: Row, place: GoField, home: Schema) -> Decoder:
    go = row.get("go", "")
    if row.get("type") == "string" and "format" not in row and go in ("", "always"):
        return _text(place, MISSING if go == "" else "")
    read = _value(row, place, home)
    if go == "always":
        return _always(read, _zero(row, home))
    if "nil" in go:
        return _kept_or_null(read)
    counted = go == "pointer" or (place.struct, place.field) in _COUNTED_WHEN_EMPTY
    return _pointer(read) if counted else _unless_zero(read)


def _text(place: GoField, empty: Any) -> Decoder:
    """The decoder of a string field, with its value for an empty one; the most frequent field, in one call."""

    def field(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is str:
            return item or empty
        if item is not None:
            reading.mistyped(place, item)
        return empty

    return field


def _unless_zero(read: Decoder) -> Decoder:
    def field(item: Any, reading: DecodePass) -> Any:
        return MISSING if item is None else (read(item, reading) or MISSING)

    return field


def _pointer(read: Decoder) -> Decoder:
    def field(item: Any, reading: DecodePass) -> Any:
        return MISSING if item is None else read(item, reading)

    return field


def _always(read: Decoder, zero: Zero) -> Decoder:
    def field(item: Any, reading: DecodePass) -> Any:
        return zero() if item is None else read(item, reading)

    return field


def _kept_or_null(read: Decoder) -> Decoder:
    """The decoder that keeps an empty list: its writer owns it. Kinds make it null in the store."""

    def field(item: Any, reading: DecodePass) -> Any:
        return None if item is None else read(item, reading)

    return field


def _null() -> None:
    return None


_ZEROS: Final[Mapping[str, Any]] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _zero(row: Row, home: Schema) -> Zero:
    """A function that makes the zero value of a type."""
    if "ref" in row:
        node = home.definition(row["ref"])
        if "fields" in node.row or not (node.format or node.row.get("preserveUnknown")):
            return struct(node).zero
        constant = {"quantity": "0", "int-or-string": 0}.get(node.format)
        return lambda: constant
    zero = _ZEROS.get(row.get("type", ""))
    return lambda: zero


# Values


def _value(row: Row, place: GoField, home: Schema) -> Decoder:
    if "ref" in row:
        node = home.definition(row["ref"])
        return _special(node, place) or _nested(struct(node), place)
    kind = row.get("type", "")
    if kind == "array":
        return _list(row, place, home)
    if kind == "object" and "values" in row:
        return _map(row["values"], place, home)
    if kind == "integer":
        return scalar_decoders.integer(place, scalar_decoders.INT_LIMITS[row.get("format", "int64")])
    if kind == "string" and row.get("format") == "byte":
        return scalar_decoders.octets(place)
    return _SIMPLE.get(kind, scalar_decoders.anything)(place)


_SIMPLE: Final = {
    "string": scalar_decoders.string,
    "boolean": scalar_decoders.boolean,
    "number": scalar_decoders.number,
}


def _special(node: Schema, place: GoField) -> Decoder | None:
    """The decoder of a definition that is not an object with fields; None for those that are."""
    if node.format in TEXT_FORMATS:
        return TEXT_FORMATS[node.format](place)
    holder = SCHEMA_HOLDERS.get(node.format)
    return holder(struct(node.definition(f"{node.name.partition('PropsOr')[0]}Props")), place) if holder else None


def _nested(read: Struct, place: GoField) -> Decoder:
    name = place.field

    def field(item: Any, reading: DecodePass) -> Any:
        if not isinstance(item, dict):
            reading.mistyped(place, item)
            return {}
        path = reading.path
        path.append(name)
        result = read(item, reading)
        path.pop()
        return result

    return field


def _list(row: Row, place: GoField, home: Schema) -> Decoder:
    items = row["items"]
    element = _place(place.struct, place.field, items)
    if "ref" in items:
        node = home.definition(items["ref"])
        if _special(node, place) is None:
            return _struct_list(struct(node), place, element)
    read, zero = _value(items, element, home), _zero(items, home)
    plain_strings = items.get("type") == "string" and "format" not in items

    def field(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not list:
            reading.mistyped(place, item)
            return []
        if plain_strings and {*map(type, item)} <= {str}:
            return item.copy()
        return [zero() if each is None else read(each, reading) for each in item]

    return field


def _struct_list(read: Struct, place: GoField, element: GoField) -> Decoder:
    name = place.field

    def field(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not list:
            reading.mistyped(place, item)
            return []
        out = []
        path = reading.path
        path += (name, 0)
        for index, each in enumerate(item):
            path[-1] = index
            if isinstance(each, dict):
                out.append(read(each, reading))
            elif each is None:
                out.append(read.zero())
            else:
                reading.mistyped(element, each)
        del path[-2:]
        return out

    return field


def _map(values: Row, place: GoField, home: Schema) -> Decoder:
    entry = _place(place.struct, place.field, values)
    read, zero = _entry(values, entry, home), _zero(values, home)
    name = place.field
    plain_strings = values.get("type") == "string" and "format" not in values

    def field(item: Any, reading: DecodePass) -> Any:
        if not isinstance(item, dict):
            reading.mistyped(place, item)
            return {}
        if plain_strings and item.__class__ is dict and {*map(type, item.values())} <= {str}:
            return item.copy()
        reading.path += (name, MapKey())
        out = {}
        seen: set[str] = set()
        for key, each in item.pairs if isinstance(item, Repeated) else item.items():
            if key in seen:
                reading.path.pop()
                reading.repeated(key)
                reading.path.append("")
            seen.add(key)
            reading.path[-1] = MapKey(key)
            out[key] = zero() if each is None else read(each, reading)
        del reading.path[-2:]
        return out

    return field


def _entry(values: Row, place: GoField, home: Schema) -> Decoder:
    """The decoder of a map's values. Resource amounts are rounded to thousandths."""
    if "ref" not in values:
        return _value(values, place, home)
    node = home.definition(values["ref"])
    if node.format == "quantity":
        return scalar_decoders.quantity_reader(canonical_resource_amount)
    special = _special(node, place)
    if special is not None:
        return special
    read = struct(node)

    def entry(item: Any, reading: DecodePass) -> Any:
        if isinstance(item, dict):
            return read(item, reading)
        reading.mistyped(place, item)
        return {}

    return entry
