"""Translation between the JSON form of an object and its protobuf message, field by field."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.schema.binary.messages import Field, fields
from simkit.schema.binary.special import special

if TYPE_CHECKING:
    from google.protobuf.message import Message

_ZEROS: Final[Mapping[str, Any]] = {"string": "", "int32": 0, "int64": 0, "bool": False, "double": 0.0, "bytes": b""}
_ALTERNATIVES: Final = ("JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrStringArray")


class Unfit(ValueError):
    """A value that its field cannot hold."""


def fill(message: Any, value: Mapping[str, Any], name: str) -> None:
    """Write a mapping into a message. Fields that are no pointers are written even if zero. Raises Unfit."""
    for field in fields(name):
        if field.inline:
            fill(getattr(message, field.name), value, field.type)
            getattr(message, field.name).SetInParent()
            continue
        item = value.get(field.json_name)
        try:
            _fill_field(message, field, item)
        except (TypeError, ValueError, AttributeError) as error:
            raise Unfit(f"{field.json_name}: {error}") from error


def _fill_field(message: Any, field: Field, item: Any) -> None:
    if field.key:
        _fill_map(getattr(message, field.name), field, item)
    elif field.repeated:
        target = getattr(message, field.name)
        for each in item or ():
            if field.scalar:
                target.append(_scalar(field, each))
            else:
                fill_message(target.add(), field.type, each)
    elif field.scalar:
        if item is not None:
            setattr(message, field.name, _scalar(field, item))
        elif not field.pointer and field.type != "bytes":
            setattr(message, field.name, _ZEROS[field.type])
    elif item is not None:
        target = getattr(message, field.name)
        target.SetInParent()
        fill_message(target, field.type, item)
    elif not field.pointer:
        target = getattr(message, field.name)
        target.SetInParent()
        if special(field.type) is None:
            fill(target, {}, field.type)
        elif field.type.endswith(".Quantity"):
            target.string = "0"


def _fill_map(target: Any, field: Field, item: Mapping[Any, Any] | None) -> None:
    for key, each in (item or {}).items():
        if field.scalar:
            target[key] = _scalar(field, each)
        else:
            entry = target[key]
            entry.SetInParent()
            fill_message(entry, field.type, each)


def fill_message(message: Any, name: str, value: Any) -> None:
    """Write a value into a message of a type, which may have a form of its own in JSON."""
    found = special(name)
    if found is not None:
        found[0](message, value)
    elif name.rpartition(".")[2] in _ALTERNATIVES:
        _fill_alternative(message, name, value)
    else:
        fill(message, value or {}, name)


def _fill_alternative(message: Any, name: str, value: Any) -> None:
    """Write a schema, or a boolean, a list of schemas, or a list of names in its place."""
    package, _, kind = name.rpartition(".")
    schema = f"{package}.JSONSchemaProps"
    if kind == "JSONSchemaPropsOrBool":
        message.allows = value if isinstance(value, bool) else True
    if isinstance(value, Mapping):
        message.schema.SetInParent()
        fill(message.schema, value, schema)
    elif isinstance(value, list):
        for each in value:
            if kind == "JSONSchemaPropsOrArray":
                fill(message.jSONSchemas.add(), each, schema)
            else:
                message.property.append(each)


def _scalar(field: Field, item: Any) -> Any:
    if field.type == "bytes":
        return base64.b64decode(item) if item else b""
    if field.type in ("int32", "int64"):
        return int(item)
    return float(item) if field.type == "double" else item


def read(message: Message, name: str) -> dict[str, Any]:
    """The mapping in a message. Unset pointers, and empty lists and maps, are left out. Raises Unfit."""
    value: dict[str, Any] = {}
    by_number = {field.number: field for field in fields(name)}
    for descriptor, item in message.ListFields():
        field = by_number[descriptor.number]
        if field.inline:
            value.update(read(item, field.type))
        else:
            value[field.json_name] = _read_field(field, item)
    return value


def _read_field(field: Field, item: Any) -> Any:
    if field.key:
        return {key: _read_item(field, item[key]) for key in sorted(item)}
    if field.repeated:
        return [_read_item(field, each) for each in item]
    return _read_item(field, item)


def _read_item(field: Field, item: Any) -> Any:
    if field.scalar:
        if field.type == "bytes":
            return base64.b64encode(item).decode()
        return item.decode("utf-8", "replace") if isinstance(item, bytes) else item  # texts that are no UTF-8
    found = special(field.type)
    if found is not None:
        try:
            return found[1](item)
        except (ValueError, OverflowError, OSError) as error:
            raise Unfit(f"{field.json_name}: {error}") from error
    if field.type.rpartition(".")[2] in _ALTERNATIVES:
        return _read_alternative(item, field.type)
    return read(item, field.type)


def _read_alternative(message: Any, name: str) -> Any:
    package, _, kind = name.rpartition(".")
    schema = f"{package}.JSONSchemaProps"
    if message.HasField("schema"):
        return read(message.schema, schema)
    if kind == "JSONSchemaPropsOrBool":
        return bool(message.allows)
    if kind == "JSONSchemaPropsOrArray":
        return [read(each, schema) for each in message.jSONSchemas]
    return list(message.property)
