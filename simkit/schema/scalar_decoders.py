"""Decoders of scalar values: strings, numbers, times, quantities.

Each is made for one place, which its errors name. A wrong type is noted and the pass goes on; a text that its own type
refuses (a moment, an amount) ends the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.meta.quantity import QuantityError, canonical
from simkit.schema.decode_pass import DecodeError, DecodePass, GoField
from simkit.schema.strict_json import plain
from simkit.schema.time_and_bytes import TextError, canonical_base64, canonical_micro_time, canonical_time

Decoder = Callable[[Any, DecodePass], Any]
"""A function from a non-null value and the pass to the value that is written."""

INT_LIMITS: Final = {"int32": 2**31, "int64": 2**63, "int": 2**63}


def string(place: GoField) -> Decoder:
    """The decoder of strings."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not str:
            reading.mistyped(place, item)
        return item

    return read


def boolean(place: GoField) -> Decoder:
    """The decoder of booleans."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not bool:
            reading.mistyped(place, item)
        return item

    return read


def integer(place: GoField, limit: int) -> Decoder:
    """The decoder of integers below a limit; a number with a fraction has a wrong type."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not int or not -limit <= item < limit:
            return reading.no_integer(place, item, limit)
        return item

    return read


def number(place: GoField) -> Decoder:
    """The decoder of numbers; those without a fraction are written as integers."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is float:
            return int(item) if item.is_integer() and abs(item) < 1e21 else item
        if item.__class__ is not int:
            reading.mistyped(place, item)
        return item

    return read


def kept(item: Any, reading: DecodePass) -> Any:
    """The unchanged value."""
    return plain(item)


def anything(place: GoField) -> Decoder:
    """The decoder of values of any type."""
    return kept


def octets(place: GoField) -> Decoder:
    """The decoder of bytes in base64."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is not str:
            reading.mistyped(place, item)
            return ""
        try:
            return canonical_base64(item)
        except TextError as error:
            reading.unreadable(str(error))
            return ""

    return read


def quantity_reader(form: Callable[[str], str]) -> Decoder:
    """The decoder of quantities, written by a function of their text."""

    def read(item: Any, reading: DecodePass) -> Any:
        try:
            if item.__class__ is str:
                return form(item)
            if item.__class__ is bool or not isinstance(item, int | float):
                return form("not a number")
            return form(repr(item))
        except QuantityError as error:
            raise DecodeError(str(error)) from None

    return read


def quantity(place: GoField) -> Decoder:
    """The decoder of quantities, which may be numbers; written in canonical form."""
    return quantity_reader(canonical)


def _moment(form: Callable[[str], str | None]) -> Callable[[GoField], Decoder]:
    def maker(place: GoField) -> Decoder:
        def read(item: Any, reading: DecodePass) -> Any:
            if item.__class__ is not str:
                raise DecodeError(reading.mismatch(place, item, "string"))
            try:
                return form(item)
            except TextError as error:
                raise DecodeError(str(error)) from None

        return read

    return maker


def int_or_string(place: GoField) -> Decoder:
    """The decoder of int-or-string values, such as a port."""

    def read(item: Any, reading: DecodePass) -> Any:
        if item.__class__ is str or (item.__class__ is int and -(2**31) <= item < 2**31):
            return item
        raise DecodeError(reading.mismatch(place, item, "int32"))

    return read


time = _moment(canonical_time)
"""The decoder of times in whole seconds."""
micro_time = _moment(canonical_micro_time)
"""The decoder of times with six digits of fraction."""

TEXT_FORMATS: Final[Mapping[str, Callable[[GoField], Decoder]]] = {
    "quantity": quantity,
    "date-time": time,
    "micro-time": micro_time,
    "int-or-string": int_or_string,
    "raw": anything,
    "json": anything,
}
"""Decoders of definitions with a text form of their own, by format."""


_Decode = Callable[[Any, DecodePass], dict[str, Any]]


def _inside(decode: _Decode, place: GoField) -> _Decode:
    """The decoder of a schema inside such a type."""

    def read(item: Any, reading: DecodePass) -> dict[str, Any]:
        within = DecodePass(reading.where(place), reading.told)
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
            reading.error = reading.mismatch(place, item, wanted)


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
