"""Evaluation: values, errors and what absorbs them, over plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import CompileError, Environment, EvaluationError, InstantiationError, object_of
from simkit.language.cel.explain import explain, text_of
from simkit.language.cel.grammar import parse
from simkit.language.cel.types import DYN, INT, list_of
from simkit.language.cel.values import NONE, Optional, UInt
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

ENVIRONMENT = Environment(BEHAVIOUR, {"o": DYN, "l": list_of(INT)}, version="1.30")
BINDINGS = {"o": {"a": 1, "s": "text", "n": None, "l": [1, 2], "m": {"x-y": 2}}, "l": [3, 0, 1]}


def evaluated(source: str) -> Any:
    """The value of an expression, the same when counted."""
    program = ENVIRONMENT.compile(source)
    found = program.evaluate(BINDINGS).value
    assert program.evaluate(BINDINGS, budget=10**6).value == found
    return found


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("o.a + 1 == 2", True),
        ("o.m['x-y']", 2),
        ("has(o.zz) || has(o.a)", True),
        ("has(o.s.x)", False),
        ("o.n == null", True),
        ("o.l[1]", 2),
        ("2 in o.l && 'm' in o", True),
        ("o.?zz.orValue(5)", 5),
        ("o.a.orValue(5)", 1),
        ("dyn(o.a.or(o.?zz)) == 1", True),
        ("o.?a.hasValue() && !o.?zz.hasValue()", True),
        ("[?o.?a, ?o.?zz]", [1]),
        ("{?'a': o.?a, ?'b': o.?zz}", {"a": 1}),
        ("o[?'a'].optMap(x, x + 1).value()", 2),
        ("o[?'a'].optFlatMap(x, optional.of(x)).or(optional.none())", Optional(True, 1)),
        ("o.?a.orValue(1 / l[1]) + 1", 2),
        ("o.?zz.or(o.?a).orValue(o.missing)", 1),
        ("1 / l[1] in []", False),
        ("optional.ofNonZeroValue(0)", NONE),
        ("o.zz == 1 || true", True),
        ("true || o.zz == 1", True),
        ("o.zz == 1 && false", False),
        ("l.exists(x, 6 / x == 6)", True),
        ("l.all(x, 6 / x > 6)", False),
        ("l.map(x, x > 0, 6 / x)", [2, 6]),
        ("l.filter(x, x > 0).map(y, [y, y]).map(z, z.sum())", [6, 2]),
        ("l.exists_one(x, x == 0)", True),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7u / 2u", UInt(3)),
        ("1.0 / 0.0 > 1e308", True),
        ("dyn(1) == 1.0 && dyn(1u) == 1 && dyn(1) != dyn(true)", True),
        ("dyn([true]) == [1]", False),
        ("{true: 1, false: 2}[false]", 2),
        ("{'a': {'b': 1}}.a.b", 1),
        ("size('é😀') + size(b'ab') + size({'a': 1}) + 'abc'.size()", 8),
        ("(o.a == 1 ? 'one' : 'other') + '!'", "one!"),
        ("!(o.a in [1, 2])", False),
        ("o.s in ['text', 'word']", True),
        ("o.s.matches('^t') && o.s.contains('ex') && o.s.endsWith('t')", True),
        ("string(1) + string(1.5) + string(true) + string(2u)", "11.5true2"),
        ("int('12') + int(3.9) + int(4u)", 19),
        ("type(o.l) == list && type(o.m) == map && type(o.n) == null_type", True),
        ("timestamp('2023-01-01T00:00:00Z') + duration('90m') > timestamp('2023-01-01T01:00:00Z')", True),
        ("duration('1h30m') == duration('90m') && string(duration('-1.5s')) == '-1.5s'", True),
    ],
)
def test_values(source: str, value: Any) -> None:
    """Expressions come to the values of the language."""
    found = evaluated(source)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("o.zz", "no such key: zz"),
        ("o.m.zz.deeper", "no such key: zz"),
        ("o.a.b", "no such key: b"),
        ("o.n.b", "no such key: b"),
        ("o['zz']", "no such key: zz"),
        ("l[7]", "index out of bounds: 7"),
        ("l[0 - 1]", "index out of bounds: -1"),
        ("1 / (l[1])", "division by zero"),
        ("1 % l[1]", "modulus by zero"),
        ("9223372036854775807 + l[2]", "integer overflow"),
        ("-9223372036854775808 - l[2]", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("o.a + o.s", "no such overload"),
        ("o.s < 1", "no such overload"),
        ("o.s && true", "no such overload"),
        ("o.a ? 1 : 2", "no such overload"),
        ("o.a.all(x, true)", "got 'types.Int', expected iterable type"),
        ("dyn(type(o)).map(x, x)", "got '*types.Type', expected iterable type"),
        ("o.a[0]", "no such key: 0"),
        ("l[dyn(1.5)]", "unsupported index value 1.5 in list"),
        ("o.a.lowerAscii()", "no such overload: lowerAscii(int)"),
        ("o.a.replace(o.s, 'b')", "no such overload: replace(int, string, string)"),
        ("o.a.startsWith('b')", "no such overload"),
        ("bool(o.a)", "no such overload: bool(int)"),
        ("timestamp(o.l)", "no such overload: timestamp(list)"),
        ("o.l.join(',') == ''", "no such overload"),
        ("l.all(x, 6 / x > 1)", "division by zero"),
        ("o.zz == 1 || 1 / l[1] == 1", "no such key: zz"),
        ("int(o.s)", "type conversion error from 'string' to 'int'"),
        ("double('NaN') < o.a", "NaN values cannot be ordered"),
        ("optional.none().value()", "optional.none() dereference"),
        ("[].max()", "max called on empty list"),
        ("o.s.substring(9)", "index out of range: 9"),
        ("o.s.matches(o.s + '(')", "error parsing regexp: missing closing ): `text(`"),
        ("o.s.find(o.s + '[')", "Illegal regex: error parsing regexp: missing closing ]: `[`"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
    ],
)
def test_errors(source: str, text: str) -> None:
    """Failures are worded as kube-apiserver words them, however often they happen."""
    program = ENVIRONMENT.compile(source)
    for budget in (None, 10**6) * 10:
        with pytest.raises(EvaluationError) as caught:
            program.evaluate(BINDINGS, budget=budget)
        assert str(caught.value) == text


def test_unbound_variable() -> None:
    """A declared variable without a value fails only where it is needed."""
    with pytest.raises(EvaluationError, match="no such attribute"):
        ENVIRONMENT.compile("o.a").evaluate({})
    assert ENVIRONMENT.compile("o.a == 1 || true").evaluate({}).value is True


class Lazy(Mapping[str, Any]):
    """A mapping that makes its values when they are asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return {"a": 1}[key]

    def __contains__(self, key: object) -> bool:
        return key == "a"

    def __iter__(self) -> Iterator[str]:
        return iter(("a",))

    def __len__(self) -> int:
        return 1


def test_mappings_may_be_lazy() -> None:
    """Only what an expression reaches is asked for."""
    lazy = Lazy()
    assert ENVIRONMENT.compile("o.a == 1 || o.b == 2").evaluate({"o": lazy}).value is True
    assert lazy.asked == ["a"]


def test_constants_are_read_when_compiled() -> None:
    """A constant that cannot be converted, and a pattern of find, are found before the first evaluation."""
    for source, text in (
        ("'a'.find('[a') == ''", "error parsing regexp: missing closing ]: `[a`"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("bool(string(1e3))", "type conversion error from 'string' to 'bool'"),
        ("type(uint(double(-3))) == int", "unsigned integer overflow"),
        ("int(dyn([1])) == 1", "no such overload: int(list)"),
    ):
        with pytest.raises(InstantiationError) as caught:
            ENVIRONMENT.compile(source)
        assert str(caught.value) == text
    ENVIRONMENT.compile("1 / 0 == 1")
    ENVIRONMENT.compile("quantity('zz').isInteger()")


def test_objects_without_a_schema() -> None:
    """The variables of a policy have declared types, and are made only when they are used."""
    environment = Environment(BEHAVIOUR, {"variables": object_of("variables", {"a": INT, "b": DYN})})
    lazy = Lazy()
    assert environment.compile("variables.a + 1 == 2 && !has(variables.b)").evaluate({"variables": lazy}).value is True
    assert "b" not in lazy.asked
    with pytest.raises(CompileError, match="undefined field 'zz'"):
        environment.compile("variables.zz == 1")


def test_versions() -> None:
    """Libraries exist from the version on that brought them; stored expressions may use the newest."""
    assert Environment(BEHAVIOUR, version="1.30").compile("ip('10.0.0.1').family()").evaluate({}).value == 4
    for version, source in (("1.29", "isIP('')"), ("1.28", "sets.contains([1], [1])"), ("1.27", "quantity('1')")):
        with pytest.raises(Exception, match="undeclared reference"):
            Environment(BEHAVIOUR, version=version).compile(source)
    with pytest.raises(Exception, match="found no matching overload for '_<_'"):
        Environment(BEHAVIOUR, version="1.27").compile("1 < 1.5")


def test_declared_values(declared: Callable[..., DeclType]) -> None:
    """JSON becomes dates, lengths, bytes and doubles by its schema, also inside of what is compared whole."""
    fields = {
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "long": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "ratio": {"type": "number"},
        "times": {"type": "array", "items": {"type": "string", "format": "date"}},
        "by": {"type": "object", "additionalProperties": {"type": "number"}},
        "set": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "in": {"type": "object", "properties": {"a.b": {"type": "integer"}}},
    }
    raw = {
        "when": "2023-01-01T02:03:04Z",
        "day": "2023-01-01",
        "long": "1h",
        "data": "aGk=",
        "ratio": 2,
        "times": ["2023-01-01", "2023-01-02"],
        "by": {"x": 1},
        "set": [2, 1],
        "in": {"a.b": 1},
    }
    environment = Environment(BEHAVIOUR, {"self": declared({"type": "object", "properties": fields})})
    for source in (
        "self.when.getHours() == 2 && self.day < self.when",
        "self.long == duration('60m') && self.data == b'hi' && size(self.data) == 2",
        "type(self.ratio) == double && self.ratio / 4.0 == 0.5",
        "self.times.all(t, t.getFullYear() == 2023) && self.times.max().getDate() == 2",
        "self.times[0] == self.day && self.day in self.times && size(self.times) == 2",
        "self.times.filter(t, t > self.times[0]).map(t, t.getDate()) == [2]",
        "self.by.x == 1.0 && self.by.all(k, self.by[k] > 0.5) && self.by == {'x': 1.0}",
        "self.set == [1, 2] && self.set + [3] == [3, 2, 1] && self.set.exists(x, x == 2)",
        "self.__in__.a__dot__b == 1 && dyn(self).__in__.a__dot__b == 1 && has(self.__in__.a__dot__b)",
        "self == self && self.?when.hasValue() && self.?long.value() == self.long",
    ):
        program = environment.compile(source)
        assert program.evaluate({"self": raw}).value is True, source
        assert program.evaluate({"self": raw}, budget=10**6).value is True, source


def test_keyed_lists(declared: Callable[..., DeclType]) -> None:
    """Keyed lists compare by key, and ``+`` overwrites in place."""
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    environment = Environment(BEHAVIOUR, {"self": declared(keyed)})
    a, b = {"k": "a", "v": 1}, {"k": "b", "v": 2}
    source = "self + self.filter(x, x.k == 'a') == self && self.map(x, x.v).sum() == 3"
    assert environment.compile(source).evaluate({"self": [a, b]}).value is True


def test_explain() -> None:
    """Every part has its value and the cost up to it, each turn of a loop apart; a failure comes last."""
    program = ENVIRONMENT.compile("l.exists(x, x == 0)")
    steps = explain(program, BINDINGS)
    assert [(step.expression, step.value) for step in steps] == [
        ("x", 3),
        ("x == 0", False),
        ("x", 0),
        ("x == 0", True),
        ("l.exists(x, x == 0)", True),
    ]
    assert steps[-1].cost == program.evaluate(BINDINGS, budget=1000).cost
    failed = explain(ENVIRONMENT.compile("o.a == o.zz"), BINDINGS)[-1]
    assert str(failed.value) == "no such key: zz"


@pytest.mark.parametrize(
    "source",
    [
        "a.b.all(x, x > 1 && !has(x.y)) || f(1u, 'x', [1, ?y], {'a': b'c', ?'d': e.?f[?0]})",
        "(a || b) && c ? -x : y[1] + 2.0 * (3 - z)",
        "a.map(x, x > 1, x + 1).size() in M{a: 1}",
    ],
)
def test_text_of(source: str) -> None:
    """A tree written as text reads as the same text again."""
    assert text_of(parse(source)) == source
    assert text_of(parse(text_of(parse(source)))) == source


def test_many_blocks() -> None:
    """Comprehensions nest deeper than Python's blocks may."""
    source = "o.zz == 1 || " + "".join(f"[1].all(x{at}, " for at in range(30)) + "o.zz == 1 || true" + ")" * 30
    assert evaluated(source) is True
