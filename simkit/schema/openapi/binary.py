"""Protobuf form of the OpenAPI version 2 document, which some clients request.

Names and numbers of its messages are those of Gnostic's ``openapi.v2`` package, as far as the documents need them.

Upstream: github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto, as in release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.schema.binary.messages import MessagePool

if TYPE_CHECKING:
    from google.protobuf.message import Message


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
    choice = _CHOSEN.get(message.DESCRIPTOR.name)
    if choice is not None:
        chosen = choice(value)
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
    elif given and _fits(field, given):
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


PACKAGE: Final = "openapi.v2"
_LIMITS: Final = (
    "maximum={0} double, exclusive_maximum={1} bool, minimum={2} double, exclusive_minimum={3} bool, "
    "max_length={4} int64, min_length={5} int64, pattern={6} string, max_items={7} int64, min_items={8} int64, "
    "unique_items={9} bool"
)
_SUB_SCHEMA: Final = "required=1 bool, in=2 string, description=3 string, name=4 string"

_TABLE: Final = {
    "Document": "swagger=1 string, info=2 Info, paths=8 Paths, definitions=9 Definitions, "
    "security=12* SecurityRequirement, security_definitions=13 SecurityDefinitions, vendor_extension=16* NamedAny",
    "Info": "title=1 string, version=2 string, description=3 string, vendor_extension=7* NamedAny",
    "Paths": "vendor_extension=1* NamedAny, path=2* NamedPathItem",
    "NamedPathItem": "name=1 string, value=2 PathItem",
    "PathItem": "_ref=1 string, get=2 Operation, put=3 Operation, post=4 Operation, delete=5 Operation, "
    "options=6 Operation, head=7 Operation, patch=8 Operation, parameters=9* ParametersItem, "
    "vendor_extension=10* NamedAny",
    "Operation": "tags=1* string, summary=2 string, description=3 string, operation_id=5 string, produces=6* string, "
    "consumes=7* string, parameters=8* ParametersItem, responses=9 Responses, schemes=10* string, deprecated=11 bool, "
    "vendor_extension=13* NamedAny",
    "ParametersItem": "parameter=1 Parameter, json_reference=2 JsonReference",
    "JsonReference": "_ref=1 string, description=2 string",
    "Parameter": "body_parameter=1 BodyParameter, non_body_parameter=2 NonBodyParameter",
    "BodyParameter": "description=1 string, name=2 string, in=3 string, required=4 bool, schema=5 Schema, "
    "vendor_extension=6* NamedAny",
    "NonBodyParameter": "header_parameter_sub_schema=1 HeaderParameterSubSchema, "
    "query_parameter_sub_schema=3 QueryParameterSubSchema, path_parameter_sub_schema=4 PathParameterSubSchema",
    "HeaderParameterSubSchema": f"{_SUB_SCHEMA}, type=5 string, format=6 string, {_LIMITS.format(*range(10, 20))}, "
    "vendor_extension=22* NamedAny",
    "QueryParameterSubSchema": f"{_SUB_SCHEMA}, allow_empty_value=5 bool, type=6 string, format=7 string, "
    f"{_LIMITS.format(*range(11, 21))}, vendor_extension=23* NamedAny",
    "PathParameterSubSchema": f"{_SUB_SCHEMA}, type=5 string, format=6 string, {_LIMITS.format(*range(10, 20))}, "
    "vendor_extension=22* NamedAny",
    "Responses": "response_code=1* NamedResponseValue, vendor_extension=2* NamedAny",
    "NamedResponseValue": "name=1 string, value=2 ResponseValue",
    "ResponseValue": "response=1 Response, json_reference=2 JsonReference",
    "Response": "description=1 string, schema=2 SchemaItem, vendor_extension=5* NamedAny",
    "SchemaItem": "schema=1 Schema",
    "Definitions": "additional_properties=1* NamedSchema",
    "Properties": "additional_properties=1* NamedSchema",
    "NamedSchema": "name=1 string, value=2 Schema",
    "Schema": "_ref=1 string, format=2 string, title=3 string, description=4 string, default=5 Any, "
    f"multiple_of=6 double, {_LIMITS.format(*range(7, 17))}, max_properties=17 int64, min_properties=18 int64, "
    "required=19* string, enum=20* Any, additional_properties=21 AdditionalPropertiesItem, type=22 TypeItem, "
    "items=23 ItemsItem, all_of=24* Schema, properties=25 Properties, example=30 Any, vendor_extension=31* NamedAny",
    "AdditionalPropertiesItem": "schema=1 Schema, boolean=2 bool",
    "TypeItem": "value=1* string",
    "ItemsItem": "schema=1* Schema",
    "Any": "yaml=2 string",
    "NamedAny": "name=1 string, value=2 Any",
    "SecurityRequirement": "additional_properties=1* NamedStringArray",
    "NamedStringArray": "name=1 string, value=2 StringArray",
    "StringArray": "value=1* string",
    "SecurityDefinitions": "additional_properties=1* NamedSecurityDefinitionsItem",
    "NamedSecurityDefinitionsItem": "name=1 string, value=2 SecurityDefinitionsItem",
    "SecurityDefinitionsItem": "api_key_security=2 ApiKeySecurity",
    "ApiKeySecurity": "type=1 string, name=2 string, in=3 string, description=4 string, vendor_extension=5* NamedAny",
}
"""Fields of each message: name, number, a star for repeated ones, type."""


def _rows(fields: str) -> Iterator[tuple[str, str]]:
    """The fields of a message in the form of ``MessagePool``."""
    for field in fields.split(", "):
        spelled, kind = field.split(" ")
        name, number = spelled.split("=")
        yield name, f"{number.rstrip('*')} {kind}{' repeated' if number.endswith('*') else ''}"


@cache
def document_class() -> type[Message]:
    """The class of a whole document."""
    pool = MessagePool({PACKAGE: {name: dict(_rows(fields)) for name, fields in _TABLE.items()}})
    return pool.message_class(f"{PACKAGE}.Document")
