"""The type checker: what it lets through, and how it words the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import CompileError, Environment, ResultTypeError, type_named
from simkit.language.cel.types import BOOL, STRING, Substitutions, list_of, parameter, parsed
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

TYPED = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True},
    },
}


@pytest.fixture
def environment(declared: Callable[..., DeclType]) -> Environment:
    """One with a typed and a dynamic variable."""
    return Environment(BEHAVIOUR, {"self": declared(TYPED), "any": type_named("dyn"), "o": type_named("optional(int)")})


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("self.name", "string"),
        ("self.tags.map(t, size(t))", "list(int)"),
        ("self.labels['a']", "string"),
        ("self.port", "dyn"),
        ("any.a.b", "dyn"),
        ("[]", "list(dyn)"),
        ("[] + [1]", "list(int)"),
        ("{}", "map(dyn, dyn)"),
        ("{'a': [1]}", "map(string, list(int))"),
        ("true ? any : 1", "dyn"),
        ("self.tags.filter(t, t != '')", "list(string)"),
        ("o.optMap(x, string(x))", "optional_type(string)"),
        ("self.?name", "optional_type(string)"),
        ("self.labels[?'a'].orValue('')", "string"),
        ("type(1)", "type(int)"),
        ("optional.none()", "optional_type(dyn)"),
        ("any == 1 || any.all(x, x)", "bool"),
        ("timestamp('2020-01-01T00:00:00Z') - timestamp('2020-01-01T00:00:00Z')", "duration"),
        ("quantity('1')", "kubernetes.Quantity"),
    ],
)
def test_types(source: str, found: str, environment: Environment) -> None:
    """Every well-typed expression has the type that its parts give it."""
    assert str(environment.compile(source).type) == found


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("self.nam", "1:5: undefined field 'nam'"),
        ("self.name.x", "1:10: type 'string' does not support field selection"),
        ("quantity('1').x", "1:14: unexpected failed resolution of 'kubernetes.Quantity'"),
        ("self.count + self.name", "1:12: found no matching overload for '_+_' applied to '(int, string)'"),
        ("type(1) + 1", "1:9: found no matching overload for '_+_' applied to '(type(int), int)'"),
        ("-1u == 1u", "1:1: found no matching overload for '-_' applied to '(uint)'"),
        ("size(1)", "1:5: found no matching overload for 'size' applied to '(int)'"),
        (
            "self.name.all(x, true)",
            "1:5: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("[1].exists_one(x, x)", "1:15: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
        ("1 && true", "1:1: expected type 'bool' but found 'int'"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("{1: 1, 'a': 1}", "1:8: expected type 'int' but found 'string'"),
        ("duration('1x')", "1:10: invalid duration argument"),
        ("timestamp('now')", "1:11: invalid timestamp argument"),
        ("Message{a: 1}", "1:8: undeclared reference to 'Message' (in container '')"),
        ("x.y.z()", "1:1: undeclared reference to 'x' (in container '')"),
        ("9223372036854775808", "1:1: invalid int literal"),
        ("self.name == 'é' && self.nope", "1:25: undefined field 'nope'"),
    ],
)
def test_errors(source: str, error: str, environment: Environment) -> None:
    """Errors point at the place at which kube-apiserver's point."""
    with pytest.raises(CompileError) as caught:
        environment.compile(source)
    assert str(caught.value).startswith(f"ERROR: <input>:{error}\n | ")


def test_wide_letters_move_the_caret() -> None:
    """Under letters outside of ASCII the dots are wide."""
    with pytest.raises(CompileError) as caught:
        Environment(BEHAVIOUR).compile("'é' == nope")
    assert str(caught.value).splitlines()[-1] == " | .．.....^"


def test_optional_entries_that_are_wrong() -> None:
    """An optional element whose value is an error is reported as no optional, too."""
    with pytest.raises(CompileError) as caught:
        Environment(BEHAVIOUR).compile("[?nope]")
    assert [str(issue.text) for issue in caught.value.issues] == [
        "undeclared reference to 'nope' (in container '')",
        "expected type 'optional(!error!)' but found '!error!'",
    ]


def test_every_error_is_reported() -> None:
    """All errors of an expression come at once, in the order of their places."""
    with pytest.raises(CompileError) as caught:
        Environment(BEHAVIOUR).compile("a + b\n  + c")
    places = [line.split(": ")[1] for line in str(caught.value).splitlines() if line.startswith("ERROR")]
    assert places == ["<input>:1:1", "<input>:1:5", "<input>:2:5"]


def test_wrong_result_type() -> None:
    """A well-typed expression of another type is refused by itself, so that callers can word it."""
    with pytest.raises(ResultTypeError) as caught:
        Environment(BEHAVIOUR).compile("1 + 1", expected=BOOL)
    assert (caught.value.stage, caught.value.wanted, caught.value.found) == ("result", "bool", "int")
    assert Environment(BEHAVIOUR).compile("'a'", expected=(BOOL, STRING)).type == STRING


def test_formats_may_mix_types() -> None:
    """The arguments of format are the one list literal that may mix types."""
    assert Environment(BEHAVIOUR).compile("'%s %d'.format(['a', 1])").evaluate({}).value == "a 1"


def test_variables_of_types_bind_to_the_more_general() -> None:
    """A variable bound to a type later takes a more general one, but never one that contains it."""
    known = Substitutions()
    variable = parameter("A")
    assert known.assignable(variable, parsed("int"))
    assert not known.assignable(variable, parsed("string"))
    assert known.assignable(variable, parsed("dyn"))
    assert known.apply(variable) == parsed("dyn")
    assert not Substitutions().assignable(variable, list_of(variable))


def test_deep_expressions_are_refused() -> None:
    """Nesting beyond kube-apiserver's limit is an error and not a crash."""
    with pytest.raises(CompileError, match="expression recursion limit exceeded: 250"):
        Environment(BEHAVIOUR).compile("(" * 2 + "+".join(["1"] * 300) + ")" * 2)
    assert Environment(BEHAVIOUR).compile("&&".join(["true"] * 5000)).evaluate({}).value is True
