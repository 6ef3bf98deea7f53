"""The standard functions and operators of the language.

cel-spec, doc/langdef.md, "List of Standard Definitions"; cel-go 0.17, common/stdlib/standard.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simkit.language.cel import containers
from simkit.language.cel import operations as run
from simkit.language.cel.conversions import CONVERSIONS
from simkit.language.cel.declarations import Library, Overload, declared, operator
from simkit.language.cel.lib_strings import matches
from simkit.language.cel.values import Duration, Timestamp

_WORD: Final = {
    "int": "int64",
    "uint": "uint64",
    "timestamp": "timestamp",
    "duration": "duration",
    "string": "string",
    "bytes": "bytes",
    "double": "double",
    "bool": "bool",
}


def _arithmetic() -> list[Overload]:
    found: list[Overload] = []
    for name, function, kinds, work in (
        ("add", "_+_", ("bytes", "double", "int", "string", "uint"), run.add),
        ("subtract", "_-_", ("double", "int", "uint"), run.subtract),
        ("multiply", "_*_", ("double", "int", "uint"), run.multiply),
        ("divide", "_/_", ("double", "int", "uint"), run.divide),
        ("modulo", "_%_", ("int", "uint"), run.modulo),
    ):
        found += [operator(f"{name}_{_WORD[kind]}", function, f"{kind}, {kind}", kind, work) for kind in kinds]
    return [
        *found,
        operator("add_duration_duration", "_+_", "duration, duration", "duration", run.add),
        operator("add_duration_timestamp", "_+_", "duration, timestamp", "timestamp", run.add),
        operator("add_timestamp_duration", "_+_", "timestamp, duration", "timestamp", run.add),
        operator("add_list", "_+_", "list(A), list(A)", "list(A)", run.add),
        operator("subtract_duration_duration", "_-_", "duration, duration", "duration", run.subtract),
        operator("subtract_timestamp_duration", "_-_", "timestamp, duration", "timestamp", run.subtract),
        operator("subtract_timestamp_timestamp", "_-_", "timestamp, timestamp", "duration", run.subtract),
        operator("negate_double", "-_", "double", "double", run.negate),
        operator("negate_int64", "-_", "int", "int", run.negate),
    ]


_COMPARISONS: Final = (
    ("less", "_<_", run.less),
    ("less_equals", "_<=_", run.less_equal),
    ("greater", "_>_", run.greater),
    ("greater_equals", "_>=_", run.greater_equal),
)


def _mixed_comparisons() -> list[Overload]:
    numbers = ("int", "double", "uint")
    return [
        operator(f"{name}_{_WORD[one]}_{_WORD[other]}", function, f"{one}, {other}", "bool", work)
        for name, function, work in _COMPARISONS
        for one in numbers
        for other in numbers
        if one != other
    ]


def _conversions() -> list[Overload]:
    sources = {
        "bool": ("bool", "string"),
        "bytes": ("bytes", "string"),
        "double": ("double", "int", "string", "uint"),
        "duration": ("duration", "int", "string"),
        "int": ("int", "double", "duration", "string", "timestamp", "uint"),
        "string": ("string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint"),
        "timestamp": ("timestamp", "int", "string"),
        "uint": ("uint", "double", "int", "string"),
    }
    found = [
        declared(f"{_WORD[source]}_to_{_WORD[kind]}", f"{kind}({source}) {kind}", CONVERSIONS[kind])
        for kind, kinds in sources.items()
        for source in kinds
    ]
    found.append(declared("to_dyn", "dyn(A) dyn", CONVERSIONS["dyn"]))
    return [*found, declared("type", "type(A) type(A)", CONVERSIONS["type"])]


def _sizes() -> list[Overload]:
    shapes = {"string": "string", "bytes": "bytes", "list": "list(A)", "map": "map(A, B)"}
    both = [(declared(f"size_{name}", f"size({shape}) int", containers.size)) for name, shape in shapes.items()]
    return both + [declared(f"{name}_size", f"{shape}.size() int", containers.size) for name, shape in shapes.items()]


def _strings() -> list[Overload]:
    return [
        declared("contains_string", "string.contains(string) bool", lambda text, part: part in text),
        declared("ends_with_string", "string.endsWith(string) bool", lambda text, end: text.endswith(end)),
        declared("starts_with_string", "string.startsWith(string) bool", lambda text, start: text.startswith(start)),
        declared("matches", "matches(string, string) bool", matches),
        declared("matches_string", "string.matches(string) bool", matches),
    ]


_PARTS: Final[dict[str, Callable[[Any], int]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}
_LENGTHS: Final = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}
_IDS: Final = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}


def _part(name: str) -> Callable[..., int]:
    work = _PARTS.get(name)

    def found(moment: Timestamp, zone: str = "") -> int:
        local = moment.local(zone)
        return work(local) if work is not None else moment.nanos // 10**6 % 1000

    return found


def _length(name: str) -> Callable[[Duration], int]:
    unit = _LENGTHS[name]
    return lambda length: abs(length.nanos) // unit * (-1 if length.nanos < 0 else 1)


def _times() -> list[Overload]:
    found: list[Overload] = []
    for name, part in _IDS.items():
        found.append(declared(f"timestamp_to_{part}", f"timestamp.{name}() int", _part(name)))
        found.append(declared(f"timestamp_to_{part}_with_tz", f"timestamp.{name}(string) int", _part(name)))
        if name in _LENGTHS:
            found.append(declared(f"duration_to_{part}", f"duration.{name}() int", _length(name)))
    return found


def _choose(condition: Any, one: Any, other: Any) -> Any:
    return one if run.truth(condition) else other


STANDARD: Final = Library(
    "standard",
    (1, 0),
    (
        operator("conditional", "_?_:_", "bool, A, A", "A", _choose),
        operator("logical_and", "_&&_", "bool, bool", "bool", lambda left, right: left and right),
        operator("logical_or", "_||_", "bool, bool", "bool", lambda left, right: left or right),
        operator("logical_not", "!_", "bool", "bool", run.negation),
        operator("equals", "_==_", "A, A", "bool", run.equals),
        operator("not_equals", "_!=_", "A, A", "bool", run.differs),
        *_arithmetic(),
        *[
            operator(f"{name}_{_WORD[kind]}", function, f"{kind}, {kind}", "bool", work)
            for name, function, work in _COMPARISONS
            for kind in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
        ],
        operator("in_list", "@in", "A, list(A)", "bool", run.contained),
        operator("in_map", "@in", "A, map(A, B)", "bool", run.contained),
        operator("index_list", "_[_]", "list(A), int", "A", containers.index),
        operator("index_map", "_[_]", "map(A, B), A", "B", containers.index),
        *_sizes(),
        *_conversions(),
        *_strings(),
        *_times(),
    ),
)

MIXED_NUMBERS: Final = Library("mixed comparisons", (1, 28), tuple(_mixed_comparisons()))
