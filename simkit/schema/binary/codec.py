"""Translation between the JSON form of an object and its protobuf message, field by field.

Times, quantities, int-or-string and raw JSON have messages whose JSON form is not a mapping of their fields.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.schema.binary.messages import Field, fields

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


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _fill_time(message: Any, value: str) -> None:
    _fill_micro_time(message, value)
    message.nanos = 0


def _fill_micro_time(message: Any, value: str) -> None:
    passed = _moment(value) - _EPOCH
    message.seconds, message.nanos = passed.days * 86400 + passed.seconds, passed.microseconds * 1000


def _read_time(message: Any, fraction: str = "") -> str | None:
    if not message.HasField("seconds"):
        return None
    return f"{datetime.fromtimestamp(message.seconds, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _read_micro_time(message: Any) -> str | None:
    return _read_time(message, f".{message.nanos // 1000:06d}")


def _fill_quantity(message: Any, value: Any) -> None:
    message.string = str(value)


def _fill_int_or_string(message: Any, value: Any) -> None:
    is_text = isinstance(value, str)
    message.type = int(is_text)
    message.intVal, message.strVal = (0, value) if is_text else (int(value), "")


def _read_int_or_string(message: Any) -> int | str:
    return message.strVal if message.type == 1 else message.intVal  # type: ignore[no-any-return]


def _fill_raw(message: Any, value: Any) -> None:
    if value is not None:
        message.raw = orjson.dumps(value)


def _fill_fields(message: Any, value: Any) -> None:
    message.Raw = orjson.dumps(value)


Fill = Callable[[Any, Any], None]
Read = Callable[[Any], Any]

_META: Final = "apimachinery.pkg.apis.meta.v1"
_ITEMS: Final[tuple[Fill, Read]] = (
    lambda message, value: message.items.extend(value),
    lambda message: list(message.items),
)
_RAW: Final[tuple[Fill, Read]] = (_fill_raw, lambda message: orjson.loads(message.raw) if message.raw else None)
SPECIAL: Final[Mapping[str, tuple[Fill, Read]]] = {
    f"{_META}.Time": (_fill_time, _read_time),
    f"{_META}.MicroTime": (_fill_micro_time, _read_micro_time),
    f"{_META}.FieldsV1": (_fill_fields, lambda message: orjson.loads(message.Raw) if message.Raw else {}),
    f"{_META}.Verbs": _ITEMS,
    "apimachinery.pkg.api.resource.Quantity": (_fill_quantity, lambda message: str(message.string) or "0"),
    "apimachinery.pkg.util.intstr.IntOrString": (_fill_int_or_string, _read_int_or_string),
    "apimachinery.pkg.runtime.RawExtension": _RAW,
    "ExtraValue": _ITEMS,
    "apiextensions.v1.JSON": _RAW,
    "apiextensions.v1beta1.JSON": _RAW,
}
"""Functions that fill a message from JSON and read JSON from it, by the end of the message's name."""


def special(full_name: str) -> tuple[Fill, Read] | None:
    """The functions of a special message; None for ordinary ones."""
    found = SPECIAL.get(full_name.rpartition(".")[2])
    if found is not None:
        return found
    return next((pair for ending, pair in SPECIAL.items() if full_name.endswith(f".{ending}")), None)
