"""The language's own conformance suite, as far as it needs no protobuf messages."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import pytest

from simkit.language.cel.environment import STORED_EXPRESSIONS, CompileError, Environment, EvaluationError
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
    optional_of,
)
from simkit.language.cel.values import BOOL_KEYS, CelType, UInt, kind_of, parsed_duration, parsed_timestamp
from simkit.schema.behaviour import default_behaviour
from tests.shared import SHARED

pytestmark = pytest.mark.slow

BEHAVIOUR = default_behaviour("1.30")

SUITES = SHARED / "datasets" / "public"
"""Holds one file ``cel-spec-<edition>.json`` for each edition of the suite."""

_STRICT_NULL: Final = "the suite turns on an option by which asking what has no fields is an error"
_LOCALE: Final = "the release writes numbers as the language of its locale does"
_MAPPED: Final = "kube-apiserver takes no IPv4 addresses written as IPv6 ones"
_LITERALS_INSIDE: Final = "the release writes what is inside of lists and maps as literals"
_LAST_KEY: Final = "kube-apiserver 1.30 takes a map literal that repeats a key, the suite wants an error"
DIFFERENT: Final[Mapping[str, str]] = {
    "timestamps/duration_converters/get_milliseconds": (
        "kube-apiserver's library gives the whole length in milliseconds, the suite wants the part below a second"
    ),
    "optionals/optionals/map_null_entry_no_such_key": _STRICT_NULL,
    "optionals/optionals/map_present_key_invalid_field": _STRICT_NULL,
    "type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": (
        "the library of the release takes the last of two types that take each other"
    ),
    "fields/qualified_identifier_resolution/map_value_repeat_key": _LAST_KEY,
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous": _LAST_KEY,
    "network_ext/ipv4/ipv4_equals_ipv6": _MAPPED,
    "network_ext/ipv4/ipv4_not_equals_ipv6": _MAPPED,
    "string_ext/format/scientific notation formatting clause": _LOCALE,
    "string_ext/format/scientific notation formatting clause in a string variable": _LOCALE,
    "string_ext/format/default precision for scientific notation": _LOCALE,
    "string_ext/format/dyntype support for scientific notation": _LOCALE,
    "string_ext/format/positive infinity support for scientific notation": _LOCALE,
    "string_ext/format/negative infinity support for scientific notation": _LOCALE,
    "string_ext/format/positive infinity support for fixed-point": _LOCALE,
    "string_ext/format/negative infinity support for fixed-point": _LOCALE,
    "string_ext/format/list support for string": _LITERALS_INSIDE,
    "string_ext/format/map support for string": _LITERALS_INSIDE,
    "string_ext/format/map support (all key types)": _LITERALS_INSIDE,
    "string_ext/format/dyntype NaN/infinity support": _LITERALS_INSIDE,
    "string_ext/format/dyntype support for lists": _LITERALS_INSIDE,
    "string_ext/format/dyntype support for maps": _LITERALS_INSIDE,
}
"""Cases that the release answers otherwise than some edition of the suite wants, with the reason."""
_OWN_FUNCTIONS: Final = "functions that the case declares itself"
ABSENT: Final[Mapping[str, str]] = {
    "math_ext": "no release of kube-apiserver has the math library",
    "bindings_ext": "no release has cel.bind",
    "block_ext": "no release has cel.block",
    "encoders_ext": "no release has base64 functions",
    "fields/quoted_map_fields": "no release has names in backticks",
    "type_deductions/functions": _OWN_FUNCTIONS,
    "type_deductions/type_parameters": _OWN_FUNCTIONS,
    "proto2": "protobuf messages",
    "proto3": "protobuf messages",
    "proto2_ext": "protobuf messages",
    "enums": "protobuf messages",
}
"""Files and sections of the suite about what no release of kube-apiserver has, with the reason."""

_PRIMITIVE: Final = {"INT64": INT, "UINT64": UINT, "DOUBLE": DOUBLE, "BOOL": BOOL, "STRING": STRING, "BYTES": BYTES}
_KNOWN: Final = {"google.protobuf.Timestamp": TIMESTAMP, "google.protobuf.Duration": DURATION}
_NAMED: Final = {"null": NULL, "dyn": DYN, "type": TYPE, "any": DYN}
_OPTIONAL: Final = ("optional_type", "optional")


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
    if spec.get("abstract_type", {}).get("name") in _OPTIONAL:
        return optional_of(*map(_type, spec["abstract_type"]["parameter_types"]))
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


_MESSAGES: Final = re.compile(r"TestAllTypes|TestRequired|GlobalEnum|NestedEnum|cel\.expr\.conformance\.")


def _about_messages(case: Mapping[str, Any]) -> bool:
    written = json.dumps(case)
    wrapped = "google.protobuf." in written and "{" in case["expr"]
    return bool(_MESSAGES.search(written)) or wrapped or case["section"] == "value_null"


def _is_absent(case: Mapping[str, Any]) -> bool:
    return case["file"] in ABSENT or f"{case['file']}/{case['section']}" in ABSENT


def _wanted(case: Mapping[str, Any]) -> tuple[Any, ...]:
    """The value, in a tuple; an empty one where an error is wanted. Without either the value is to be true."""
    if "eval_error" in case or "any_eval_errors" in case:
        return ()
    result = case.get("typed_result", {}).get("result")
    return (_value(case.get("value", result or {"bool_value": True})),)


def _cases() -> list[Any]:
    """Every case that needs no message, of every edition that is there; what editions share is asked once."""
    found: dict[str, Any] = {}
    for suite in sorted(SUITES.glob("cel-spec-*.json")):
        for case in json.loads(suite.read_text()):
            name = f"{case['file']}/{case['section']}/{case['name']}"
            if _is_absent(case) or _about_messages(case):
                continue
            try:
                types = {e["name"]: _type(e["ident"]["type"]) for e in case.get("type_env", []) if "ident" in e}
                bindings = {key: _value(spec["value"]) for key, spec in case.get("bindings", {}).items()}
                wanted = _wanted(case)
                deduced = case.get("typed_result", {}).get("deduced_type")
                type_wanted = None if deduced is None else _type(deduced)
            except NeedsMessageError:
                continue
            marks = [pytest.mark.xfail(reason=DIFFERENT[name], strict=False)] if name in DIFFERENT else []
            key = json.dumps([name, case], sort_keys=True)
            found[key] = pytest.param(case, types, bindings, wanted, type_wanted, id=name, marks=marks)
    return list(found.values())


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return kind_of(wanted) == kind_of(found) and equals(wanted, found)


@pytest.mark.parametrize(("case", "types", "bindings", "wanted", "type_wanted"), _cases())
@pytest.mark.parametrize("budget", [None, 10**9])
def test_suite(
    case: Mapping[str, Any],
    types: Mapping[str, Type],
    bindings: Mapping[str, Any],
    wanted: tuple[Any, ...],
    type_wanted: Type | None,
    budget: int | None,
) -> None:
    """Each case of the suite gives the value and the type, or fails where an error is wanted, counted or not."""
    variables = {**dict.fromkeys(bindings, DYN), **types}
    environment = Environment(
        BEHAVIOUR, variables, version=STORED_EXPRESSIONS, container=case.get("container", ""), homogeneous=False
    )
    try:
        program = environment.compile(case["expr"], check=not case.get("disable_check"))
        found = () if case.get("check_only") else (program.evaluate(bindings, budget=budget).value,)
    except (CompileError, EvaluationError):
        assert wanted == ()
        return
    assert type_wanted in (None, program.type)
    if found:
        assert wanted
        assert _same(wanted[0], found[0])


def test_the_suite_is_there_where_the_data_is() -> None:
    """Beside the recorded data the suite has its cases: none is lost without notice."""
    if SHARED.is_dir():
        assert len(_cases()) >= 965
