"""Decoding of an object that does not come from text: the result of a strategic merge.

kube-apiserver does not write such an object as JSON to read it again, but converts it value by value. That takes
numbers without a fraction for integers, lets integers that are too large overflow, stops at the first value of a wrong
type, and has words of its own.

Follows ``k8s.io/apimachinery/pkg/runtime/converter.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.schema.decode_pass import DecodeError, DecodePass, GoField, json_kind

_KINDS: Final[Mapping[type, str]] = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice"}


class ConversionPass(DecodePass):
    """One pass over one value that is converted, not decoded."""

    __slots__ = ()

    def mistyped(self, place: GoField, item: Any) -> None:
        raise DecodeError(_refusal(place, item))

    def no_integer(self, place: GoField, item: Any, limit: int) -> Any:
        if item.__class__ not in (int, float) or not float(item).is_integer():
            self.mistyped(place, item)
        return (int(item) + limit) % (2 * limit) - limit

    def unreadable(self, message: str) -> None:
        raise DecodeError(f"error decoding from json: {message}")

    def mismatch(self, place: GoField, item: Any, type: str = "") -> str:
        """The error of a value of a wrong type; types with a form of their own (times, ports) are decoded by
        themselves."""
        return f"json: cannot unmarshal {json_kind(item, type)} into Go value of type {type}"


def _refusal(place: GoField, item: Any) -> str:
    """The converter's message for a value of a wrong type."""
    given = _KINDS.get(item.__class__, "map")
    match place.kind:
        case "struct":
            return f"cannot restore struct from: {given}"
        case "map" | "slice":
            return f"cannot restore {place.kind} from {given}"
        case "string" if given == "int64":  # its language could make a letter of it
            return f"cannot convert int64 to {place.type}"
        case "int32" | "int64" if given == "float64":
            return f"cannot convert float64 to {place.type}"
    return f"unrecognized type: {place.kind}"
