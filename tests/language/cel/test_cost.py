"""Costs: estimated for what a schema admits, counted for what is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import BudgetExceeded, Environment, EvaluationError
from simkit.language.cel.types import BOOL, BYTES, DYN, INT, STRING, Type, list_of, map_of
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

STRINGS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "number"}}


def _bounded(schema: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The schema with all sizes bounded."""
    bound = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}.get(schema["type"])
    found = {**schema, **({bound: most} if bound else {})}
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = _bounded(found[key], most)
    return found


@pytest.mark.parametrize(
    ("schema", "rule", "cost", "most", "bounded"),
    [
        (NUMBERS, "self.all(x, true)", 4718591, 10, 32),
        (STRINGS, "self.all(x, true)", 3145727, 20, 62),
        ({"type": "array", "items": {"type": "boolean"}}, "self.all(x, true)", 1887437, 5, 17),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "self.all(x, true)", 1348169, 10, 32),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "self.all(x, true)", 1179647, 3, 11),
        ({"type": "string"}, "self.contains('test')", 314574, 10, 5),
        ({"type": "string"}, "self.startsWith('test')", 2, 15, 2),
        ({"type": "string"}, 'size(self + "hello") > size("hello")', 314578, 4, 7),
        (NUMBERS, "self[1] == 0.0", 2, 5000, 2),
        (NUMBERS, "self.all(x, self.all(y, true))", None, 10, 352),
        (NUMBERS, "self.all(x, self.all(y, self.all(z, true)))", None, 10, 3552),
        ({"type": "string"}, 'self.matches("x")', 314574, 50, 22),
        ({"type": "string"}, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
        ({"type": "string"}, 'self == "x"', 2, 0, 1),
        ({"type": "string", "format": "byte"}, 'self == b"x"', 2, 0, 1),
        (NUMBERS, "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
        ({"type": "string"}, "self.find('[0-9]+') == ''", 629147, 10, 11),
        (STRINGS, "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
        (STRINGS, "self.isSorted() == true", 329854432052, 10, 52),
        ({"type": "string"}, "self.lowerAscii() == 'lower!'", 314575, 10, 6),
        ({"type": "array", "items": {"type": "string", "format": "duration"}}, "self[0].getHours() == 2", 4, 525, 4),
        ({"type": "array", "items": {"type": "string", "format": "date"}}, "self.all(x, true)", 725936, 15, 47),
        ({"type": "array", "items": {"type": "string", "format": "date-time"}}, "self.all(x, true)", 428963, 25, 77),
        ({"type": "array", "items": {"x-kubernetes-int-or-string": True, "type": ""}}, "self[0] == 5", 3, 10, 3),
    ],
)
def test_estimates(
    schema: Mapping[str, Any], rule: str, cost: int | None, most: int, bounded: int, declared: Callable[..., DeclType]
) -> None:
    """Estimates are kube-apiserver's, without bounds in the schema and with them."""
    free = Environment(BEHAVIOUR, {"self": declared(schema)}).compile(rule).estimate()[1]
    assert free == cost if cost is not None else free > 100_000_000
    assert Environment(BEHAVIOUR, {"self": declared(_bounded(schema, most))}).compile(rule).estimate()[1] == bounded


def test_estimate_of_replace_and_split(declared: Callable[..., DeclType]) -> None:
    """Sizes of results are estimated too: replace by its texts, split by its target."""
    fields = {
        "str": {"type": "string"},
        "before": {"type": "string", "maxLength": 2},
        "after": {"type": "string", "maxLength": 4},
    }
    environment = Environment(BEHAVIOUR, {"self": declared({"type": "object", "properties": fields})})
    assert environment.compile("self.str.replace(self.before, self.after) == 'does not matter'").estimate()[1] == 629154
    two = {"str": {"type": "string"}, "separator": {"type": "string"}}
    environment = Environment(BEHAVIOUR, {"self": declared({"type": "object", "properties": two})})
    assert environment.compile("self.str.split(self.separator) == []").estimate()[1] == 629160


LONG = "x" * 500
COUNTED: list[tuple[str, dict[str, Type], dict[str, Any], int]] = [
    ('"Hello World!"', {}, {}, 0),
    ("input", {"input": list_of(INT)}, {"input": [1, 2]}, 1),
    ("input['key']", {"input": map_of(STRING, STRING)}, {"input": {"key": "v"}}, 2),
    ("input[0]", {"input": list_of(STRING)}, {"input": ["v"]}, 2),
    ("input['ke' + 'y']", {"input": map_of(STRING, STRING)}, {"input": {"key": "v"}}, 3),
    ("input[3-3]", {"input": list_of(STRING)}, {"input": ["v"]}, 3),
    ("has(input.key)", {"input": map_of(STRING, STRING)}, {"input": {"key": "v"}}, 1),
    ("has(input.a.b)", {"input": map_of(STRING, map_of(STRING, STRING))}, {"input": {"a": {"b": "0"}}}, 2),
    ("[1, 2, 3]", {}, {}, 0),
    ("[x, 2, 3]", {"x": INT}, {"x": 1}, 11),
    ("{'a': x}", {"x": INT}, {"x": 1}, 31),
    ("input.all(x, true)", {"input": list_of(INT)}, {"input": []}, 2),
    ("[1, 2, 3].all(x, true)", {}, {}, 10),
    ("input.matches('[0-9]')", {"input": STRING}, {"input": LONG}, 103),
    ("'123'.matches('[0-9]')", {}, {}, 2),
    ("false || false", {}, {}, 0),
    ("a || b || c || d", dict.fromkeys("abcd", BOOL), dict.fromkeys("abcd", False), 4),
    ("a && b && c && d", dict.fromkeys("abcd", BOOL), dict.fromkeys("abcd", True), 4),
    ("a || b", dict.fromkeys("ab", BOOL), {"a": True, "b": True}, 1),
    ("1 < 2", {}, {}, 1),
    ("1 == 2", {}, {}, 1),
    ("2 in [1, 2, 3]", {}, {}, 0),
    ("2 in input", {"input": list_of(INT)}, {"input": [1, 2, 3]}, 4),
    ("1 + 1", {}, {}, 1),
    ("true ? 1 : 2", {}, {}, 0),
    ('size("123")', {}, {}, 1),
    ("'12345678901234567890' == '123456789012345678901234567890'", {}, {}, 2),
    ("string(input)", {"input": BYTES}, {"input": LONG.encode()}, 51),
    ("bytes(input)", {"input": STRING}, {"input": LONG}, 51),
    ("string(1)", {}, {}, 0),
    ("input.contains(arg)", {"input": STRING, "arg": STRING}, {"input": LONG, "arg": LONG}, 2502),
    ("input.startsWith(arg)", {"input": STRING, "arg": STRING}, {"input": "idc", "arg": LONG}, 3),
    ("input.size()", {"input": STRING}, {"input": "500"}, 2),
    ("(x > 2 ? a : b).all(y, true)", {"x": INT, "a": list_of(INT), "b": list_of(INT)}, {"x": 1, "a": [1], "b": [1]}, 6),
    ("false ? false : 1 > 3", {}, {}, 1),
    (
        "input.all(k, input[k].n > 3)",
        {"input": map_of(STRING, map_of(STRING, INT))},
        {"input": {"val": {"n": 0}}},
        9,
    ),
    ("input.exists(x, x > 1)", {"input": list_of(INT)}, {"input": [1, 2, 3]}, 2 + 2 * (3 + 1 + 2) + 3),
    ("input.exists_one(x, x > 1)", {"input": list_of(INT)}, {"input": [1, 2]}, 1 + 2 * 2 + 2 + 2),
    ("input.map(x, x + 1)", {"input": list_of(INT)}, {"input": [1, 2]}, 2 + 2 * (12 + 2)),
    ("input.filter(x, x > 1)", {"input": list_of(INT)}, {"input": [1, 2]}, 2 + 2 * 2 + 13),
    ("input.sum()", {"input": list_of(INT)}, {"input": [1, 2, 3]}, 4),
    ("input.join(',')", {"input": list_of(STRING)}, {"input": ["aaaa", "bbbb"]}, 1 + 2),
    ("input.name.size() > 3", {"input": DYN}, {"input": {"name": "abcd"}}, 4),
]


@pytest.mark.parametrize(("source", "types", "bindings", "cost"), COUNTED)
def test_counted(source: str, types: dict[str, Type], bindings: dict[str, Any], cost: int) -> None:
    """The spent cost is that of kube-apiserver's interpreter."""
    assert Environment(BEHAVIOUR, types).compile(source).evaluate(bindings, budget=10**6).cost == cost


@pytest.mark.parametrize(("source", "types", "bindings", "cost"), COUNTED)
def test_the_careful_way_costs_the_same(
    source: str, types: dict[str, Type], bindings: dict[str, Any], cost: int
) -> None:
    """An expression that an absorbed error sends the careful way spends the same on its other part."""
    program = Environment(BEHAVIOUR, {**types, "none": DYN}).compile(f"none.x || (({source}) == ({source}) || true)")
    plain = Environment(BEHAVIOUR, types).compile(f"({source}) == ({source})").evaluate(bindings, budget=10**6).cost
    assert program.evaluate({**bindings, "none": {}}, budget=10**6).cost == plain + 2


def test_library_calls_are_charged_where_asked() -> None:
    """Rules pay for library functions by size; admission policies of the release pay 1 for each call."""
    types, bindings = {"name": STRING}, {"name": "x" * 100}
    source = "name.upperAscii()"
    assert Environment(BEHAVIOUR, types).compile(source).evaluate(bindings, budget=100).cost == 11
    assert Environment(BEHAVIOUR, types, strict=False).compile(source).evaluate(bindings, budget=100).cost == 2


def test_budget() -> None:
    """An evaluation beyond its budget is cancelled, also inside of operators that absorb errors."""
    program = Environment(BEHAVIOUR, {"l": list_of(INT)}).compile("l.all(x, l.all(y, x >= y || x < y)) || true")
    assert program.evaluate({"l": list(range(10))}, budget=10_000).cost < 1_000
    with pytest.raises(BudgetExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({"l": list(range(1000))}, budget=10_000)


def test_a_failure_tells_its_cost() -> None:
    """The error carries what was spent until then."""
    with pytest.raises(EvaluationError) as caught:
        Environment(BEHAVIOUR, {"m": DYN}).compile("m.a == 1 && m.b == 2").evaluate({"m": {"a": 1}}, budget=100)
    assert caught.value.cost == 5
