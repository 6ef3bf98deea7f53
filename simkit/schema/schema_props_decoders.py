"""Decoders of the fields of OpenAPI schemas that hold a schema or something else.

Their types have an ``UnmarshalJSON`` of their own: unknown fields inside them are not reported, and of a value of a
wrong type only the field that holds it is named.

Upstream: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.schema.decode_pass import DecodeError, DecodePass, GoField
from simkit.schema.scalar_decoders import Decoder

_Decode = Callable[[Any, DecodePass], dict[str, Any]]


def _inside(decode: _Decode, place: GoField) -> _Decode:
    """The decoder of a schema inside such a type."""

    def read(item: Any, reading: DecodePass) -> dict[str, Any]:
        within = DecodePass(reading.within or reading.named(place))
        made = decode(item, within)
        reading.error = reading.error or within.error
        return made

    return read


def _each(items: list[Any], kind: type, wanted: str, place: GoField, reading: DecodePass) -> Iterator[Any]:
    """The values of a list that have the type; the first one of another type is reported."""
    for item in items:
        if isinstance(item, kind):
            yield item
        elif item is not None and reading.error is None:
            reading.error = DecodePass(reading.within or reading.named(place)).mismatch(place, item, wanted)


def _schema_or_list(schema: _Decode, place: GoField) -> Decoder:
    inner = _inside(schema, place)

    def read(item: Any, reading: DecodePass) -> Any:
        if isinstance(item, dict):
            return inner(item, reading)
        if isinstance(item, list):
            return [inner(each, reading) for each in _each(item, dict, "v1.JSONSchemaProps", place, reading)]
        return None

    return read


def _schema_or_bool(schema: _Decode, place: GoField) -> Decoder:
    inner = _inside(schema, place)

    def read(item: Any, reading: DecodePass) -> Any:
        if isinstance(item, dict):
            return inner(item, reading)
        if item.__class__ is bool:
            return item
        raise DecodeError("boolean or JSON schema expected")

    return read


def _schema_or_strings(schema: _Decode, place: GoField) -> Decoder:
    inner = _inside(schema, place)

    def read(item: Any, reading: DecodePass) -> Any:
        if isinstance(item, dict):
            return inner(item, reading)
        return list(_each(item, str, "string", place, reading)) if isinstance(item, list) else None

    return read


SCHEMA_HOLDERS: Final[Mapping[str, Callable[[_Decode, GoField], Decoder]]] = {
    "schema-or-list": _schema_or_list,
    "schema-or-bool": _schema_or_bool,
    "schema-or-strings": _schema_or_strings,
}
"""The decoders by format, given the decoder of a schema."""
