"""Protobuf form of the OpenAPI version 2 document, which some clients request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from simkit.schema.openapi.gnostic import CHOICES, document_class


@lru_cache(maxsize=2)
def encoded(swagger: bytes) -> bytes:
    """The protobuf form of a version 2 document's JSON. O(size of the document), computed once each.

    As in every server, what the form has no field for (``oneOf``, ``nullable``) is left out.
    """
    message: Any = document_class()()
    _fill(message, orjson.loads(swagger))
    found: bytes = message.SerializeToString(deterministic=True)
    return found


def _fill(message: Any, value: Any) -> None:
    """Write a JSON value into a message, field by field."""
    special = _SPECIAL.get(message.DESCRIPTOR.name)
    if special is not None:
        special(message, value)
        return
    if not isinstance(value, dict):
        return  # another server's document may hold anything
    message.SetInParent()
    if message.DESCRIPTOR.name in CHOICES:
        chosen = _CHOSEN[message.DESCRIPTOR.name](value)
        if chosen in message.DESCRIPTOR.fields_by_name:
            _fill(getattr(message, chosen), value)
        return
    fields = message.DESCRIPTOR.fields_by_camelcase_name
    for name, given in value.items():
        if name.startswith("x-"):
            _named(message.vendor_extension, name, given)
            continue
        field = fields.get("Ref" if name == "$ref" else name)
        if field is not None:
            _set(message, field, given)


def _set(message: Any, field: Any, given: Any) -> None:
    """Set a field if the value has its type."""
    target = getattr(message, field.name)
    repeated = hasattr(target, "extend")
    if field.message_type is not None:
        if not repeated:
            _fill(target, given)
        for each in given if repeated and isinstance(given, list) else ():
            _fill(target.add(), each)
    elif repeated:
        target.extend(each for each in (given if isinstance(given, list) else ()) if _fits(field, each))
    elif _fits(field, given):
        setattr(message, field.name, given)


def _fits(field: Any, given: Any) -> bool:
    match field.cpp_type:
        case field.CPPTYPE_STRING:
            return isinstance(given, str)
        case field.CPPTYPE_BOOL:
            return isinstance(given, bool)
        case field.CPPTYPE_INT64:
            return type(given) is int and -(2**63) <= given < 2**63
    return isinstance(given, int | float)


def _named(entries: Any, name: str, value: Any) -> None:
    """Add an entry of a map, which is a list of named values in these messages."""
    entry = entries.add(name=name)
    _fill(entry.value, value)


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _map(message: Any, value: Any) -> None:
    message.SetInParent()
    for name, each in _entries(value):
        _named(message.additional_properties, name, each)


def _paths(message: Any, value: Any) -> None:
    for name, each in _entries(value):
        _named(message.path, name, each)


def _responses(message: Any, value: Any) -> None:
    for code, each in _entries(value):
        _named(message.response_code, code, each)


def _any(message: Any, value: Any) -> None:
    """Write a value of any type as text; JSON is also YAML."""
    message.yaml = orjson.dumps(value).decode() + "\n"


def _texts(message: Any, value: Any) -> None:
    message.SetInParent()
    texts = value if isinstance(value, list) else [value]
    message.value.extend(each for each in texts if isinstance(each, str))


def _items(message: Any, value: Any) -> None:
    _fill(message.schema.add(), value)


def _additional(message: Any, value: Any) -> None:
    if isinstance(value, bool):
        message.boolean = value
    else:
        _fill(message.schema, value)


_SPECIAL: Final[Mapping[str, Callable[[Any, Any], None]]] = {
    "Definitions": _map,
    "Properties": _map,
    "SecurityDefinitions": _map,
    "SecurityRequirement": _map,
    "Paths": _paths,
    "Responses": _responses,
    "Any": _any,
    "TypeItem": _texts,
    "StringArray": _texts,
    "ItemsItem": _items,
    "AdditionalPropertiesItem": _additional,
}
_CHOSEN: Final[Mapping[str, Callable[[Any], str]]] = {
    "ParametersItem": lambda value: "json_reference" if "$ref" in value else "parameter",
    "Parameter": lambda value: "body_parameter" if value.get("in") == "body" else "non_body_parameter",
    "NonBodyParameter": lambda value: f"{value.get('in')}_parameter_sub_schema",
    "ResponseValue": lambda value: "json_reference" if "$ref" in value else "response",
    "SchemaItem": lambda _: "schema",
    "SecurityDefinitionsItem": lambda _: "api_key_security",
}
"""The field of a oneof for a value."""
