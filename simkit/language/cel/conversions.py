"""Conversions between types: ``int(x)``, ``string(x)``, ``duration(x)`` and the others.

cel-spec, doc/langdef.md, "List of Standard Definitions"; cel-go 0.17, ConvertToType in common/types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from simkit.language.cel.errors import EvaluationError, no_overload
from simkit.language.cel.operations import checked_int, checked_uint
from simkit.language.cel.values import (
    CelType,
    Duration,
    Timestamp,
    UInt,
    kind_of,
    parsed_duration,
    parsed_timestamp,
    timestamp,
)
from simkit.meta.go_fmt import format_float

_DIGITS: Final = 1000
"""The most digits of a number; Python itself refuses some thousands."""
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
TYPE_NAMES: Final = {
    "null": "null_type",
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "optional": "optional_type",
}
"""Names of type values that differ from their kind."""


def signature(function: str, values: Iterable[Any]) -> str:
    """The call in the form of errors: ``function(int, string)``."""
    return f"{function}({', '.join(TYPE_NAMES.get(kind, kind) for kind in map(kind_of, values))})"


def _impossible(value: Any, wanted: str) -> EvaluationError:
    if kind_of(value) not in ("string", "bytes"):
        return no_overload(signature(wanted.rpartition(".")[2].lower(), [value]))
    return EvaluationError(f"type conversion error from '{type_of(value)}' to '{wanted}'")


def _digits(text: str) -> bool:
    return text.isascii() and text.lstrip("+-").isdigit() and len(text) - len(text.lstrip("+-")) <= 1


def to_int(value: Any) -> int:
    """``int(value)``."""
    kind = kind_of(value)
    if kind == "int":
        return int(value)
    if kind == "uint":
        return checked_int(int(value))
    if kind == "double":
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if kind == "timestamp":
        return int(value.nanos // 10**9)
    if kind == "duration":
        return int(value.nanos)
    if kind == "string" and _digits(value) and len(value) <= _DIGITS and -(2**63) <= int(value) < 2**63:
        return int(value)
    raise _impossible(value, "int")


def to_uint(value: Any) -> UInt:
    """``uint(value)``."""
    kind = kind_of(value)
    if kind in ("int", "uint"):
        return checked_uint(int(value))
    if kind == "double":
        if not 0 <= value < 2.0**64:
            raise EvaluationError("unsigned integer overflow")
        return UInt(int(value))
    if kind == "string" and value.isascii() and value.isdigit() and len(value) <= _DIGITS and int(value) < 2**64:
        return UInt(int(value))
    raise _impossible(value, "uint")


def to_double(value: Any) -> float:
    """``double(value)``."""
    kind = kind_of(value)
    if kind in ("int", "uint", "double"):
        return float(value)
    if kind == "string":
        with suppress(ValueError):
            found = float(value)
            huge = math.isinf(found) and "n" not in value.lower()  # and not written as infinite
            if not huge and value == value.strip() and "_" not in value:
                return found
    raise _impossible(value, "double")


def to_bool(value: Any) -> bool:
    """``bool(value)``."""
    kind = kind_of(value)
    if kind == "bool":
        return bool(value)
    if kind == "string" and value in _TRUE | _FALSE:
        return value in _TRUE
    raise _impossible(value, "bool")


def to_string(value: Any) -> str:
    """``string(value)``."""
    kind = kind_of(value)
    if kind == "string":
        return str(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "double":
        return format_float(value)
    if kind == "bytes":
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if kind in ("int", "uint", "timestamp", "duration", "net.IP", "net.CIDR"):
        return str(value) if kind not in ("int", "uint") else str(int(value))
    raise _impossible(value, "string")


def to_bytes(value: Any) -> bytes:
    """``bytes(value)``."""
    kind = kind_of(value)
    if kind == "bytes":
        return bytes(value)
    if kind == "string":
        return str(value).encode("utf-8", "surrogatepass")
    raise _impossible(value, "bytes")


def to_duration(value: Any) -> Duration:
    """``duration(value)``."""
    if type(value) is Duration:
        return value
    kind = kind_of(value)
    found = parsed_duration(value) if kind == "string" else Duration(value) if kind == "int" else None
    if found is None:
        raise _impossible(value, "google.protobuf.Duration")
    return found


def to_timestamp(value: Any) -> Timestamp:
    """``timestamp(value)``."""
    if type(value) is Timestamp:
        return value
    if kind_of(value) == "int":
        return timestamp(value * 10**9)
    found = parsed_timestamp(value) if kind_of(value) == "string" else None
    if found is None:
        raise _impossible(value, "google.protobuf.Timestamp")
    return found


def to_dyn(value: Any) -> Any:
    """``dyn(value)``: the value."""
    return value


def type_of(value: Any) -> CelType:
    """``type(value)``."""
    kind = kind_of(value)
    if kind == "dyn":
        raise no_overload()
    return CelType(TYPE_NAMES.get(kind, kind))


CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bool": to_bool,
    "string": to_string,
    "bytes": to_bytes,
    "duration": to_duration,
    "timestamp": to_timestamp,
    "dyn": to_dyn,
    "type": type_of,
}
"""Conversion functions, which cel-go evaluates early where their argument is a constant."""
