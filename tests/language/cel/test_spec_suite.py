"""The language's own conformance suite, as far as it needs no protobuf messages."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import pytest

from simkit.language.cel.environment import CompileError, Environment, EvaluationError
from simkit.language.cel.operations import equals
from simkit.language.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
)
from simkit.language.cel.values import BOOL_KEYS, CelType, UInt, kind_of, parsed_duration, parsed_timestamp
from tests.shared import SHARED

SUITE = SHARED / "datasets" / "public" / "cel-spec-v0.15.0.json"

DIFFERENT: Final[Mapping[str, str]] = {
    "timestamps/duration_converters/get_milliseconds": (
        "the real server's library gives the whole length in milliseconds, the suite wants the part below a second"
    ),
}
"""Cases that the release answers otherwise, with the reason."""
ABSENT: Final[Mapping[str, str]] = {
    "math_ext": "release 1.30 has no math library",
    "bindings_ext": "release 1.30 has no cel.bind",
    "encoders_ext": "release 1.30 has no base64 functions",
    "proto2": "protobuf messages",
    "proto3": "protobuf messages",
    "proto2_ext": "protobuf messages",
}
"""Files of the suite about what the release does not have, with the reason."""

_PRIMITIVE: Final = {"INT64": INT, "UINT64": UINT, "DOUBLE": DOUBLE, "BOOL": BOOL, "STRING": STRING, "BYTES": BYTES}
_KNOWN: Final = {"google.protobuf.Timestamp": TIMESTAMP, "google.protobuf.Duration": DURATION}
_NAMED: Final = {"null": NULL, "dyn": DYN, "type": TYPE}


class NeedsMessageError(Exception):
    """The case is about protobuf messages."""


def _type(spec: Mapping[str, Any]) -> Type:
    if "primitive" in spec:
        return _PRIMITIVE[spec["primitive"]]
    if spec.get("message_type") in _KNOWN:
        return _KNOWN[spec["message_type"]]
    if "map_type" in spec:
        return map_of(_type(spec["map_type"]["key_type"]), _type(spec["map_type"]["value_type"]))
    if "list_type" in spec:
        return list_of(_type(spec["list_type"]["elem_type"]))
    for name, found in _NAMED.items():
        if name in spec:
            return found
    raise NeedsMessageError


def _key(value: Any) -> Any:
    return BOOL_KEYS[value] if isinstance(value, bool) else value


def _value(spec: Mapping[str, Any]) -> Any:
    ((kind, found),) = spec.items()
    if kind == "object_value":
        name = found["@type"].rpartition("/")[2]
        if name not in _KNOWN:
            raise NeedsMessageError
        return parsed_timestamp(found["value"]) if name.endswith("Timestamp") else parsed_duration(found["value"])
    readers: dict[str, Any] = {
        "int64_value": int,
        "uint64_value": lambda text: UInt(int(text)),
        "double_value": float,
        "bytes_value": base64.b64decode,
        "null_value": lambda _: None,
        "list_value": lambda spec: [_value(each) for each in spec.get("values", [])],
        "map_value": lambda spec: {_key(_value(e["key"])): _value(e["value"]) for e in spec.get("entries", [])},
        "type_value": CelType,
    }
    return readers[kind](found) if kind in readers else found


def _about_messages(case: Mapping[str, Any]) -> bool:
    expression = case["expr"]
    wrapped = "google.protobuf." in json.dumps(case) and "{" in expression
    return "TestAllTypes" in json.dumps(case) or wrapped or case["section"] == "value_null"


def _cases() -> list[Any]:
    if not SUITE.is_file():
        return []
    cases = [case for case in json.loads(SUITE.read_text()) if case["file"] not in ABSENT and not _about_messages(case)]
    found = []
    for case in cases:
        name = f"{case['file']}/{case['section']}/{case['name']}"
        try:
            types = {e["name"]: _type(e["ident"]["type"]) for e in case.get("type_env", []) if "ident" in e}
            bindings = {key: _value(spec["value"]) for key, spec in case.get("bindings", {}).items()}
            wanted = (_value(case["value"]),) if "value" in case else None
        except NeedsMessageError:
            continue
        marks = [pytest.mark.xfail(reason=DIFFERENT[name])] if name in DIFFERENT else []
        found.append(pytest.param(case, types, bindings, wanted, id=name, marks=marks))
    return found


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return kind_of(wanted) == kind_of(found) and equals(wanted, found)


@pytest.mark.parametrize(("case", "types", "bindings", "wanted"), _cases())
@pytest.mark.parametrize("budget", [None, 10**9])
def test_suite(
    case: Mapping[str, Any],
    types: Mapping[str, Type],
    bindings: Mapping[str, Any],
    wanted: tuple[Any] | None,
    budget: int | None,
) -> None:
    """Each case of the suite gives the value, or fails where an error is wanted, counted or not."""
    variables = {**dict.fromkeys(bindings, DYN), **types}
    environment = Environment(variables, version="1.30", container=case.get("container", ""), homogeneous=False)
    try:
        program = environment.compile(case["expr"], check=not case.get("disable_check"))
        found = program.evaluate(bindings, budget=budget).value
    except (CompileError, EvaluationError):
        assert "eval_error" in case
        return
    assert "eval_error" not in case
    assert found is True if wanted is None else _same(wanted[0], found)


def test_the_suite_is_there_where_the_data_is() -> None:
    """Beside the recorded data the suite has its cases: none is lost without notice."""
    if SHARED.is_dir():
        assert len(_cases()) >= 965
