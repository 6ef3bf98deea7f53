"""Expressions and values without bound: each ends in a clear failure, soon and in little memory."""

from __future__ import annotations

import pytest

from simkit.language.cel.environment import STORED_EXPRESSIONS, BudgetExceeded, CompileError, Environment
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.types import DYN, STRING
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

DEEP = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
DIGITS = "9" * 5000


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(BEHAVIOUR, {"s": STRING, "x": DYN}, version=STORED_EXPRESSIONS)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "1 + " * 30_000 + "1",
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 120001, limit 100000",
        ),
        ("(" * 250 + "1" + ")" * 250, DEEP),
        ("[" * 250 + "]" * 250, DEEP),
        ("x" + ".a" * 300, DEEP),
        ("x" + "[0]" * 300, DEEP),
        ("+".join(["1"] * 300), DEEP),
        ("true ? 1 : " * 300 + "1", DEEP),
    ],
)
def test_too_large_to_read(environment: Environment, source: str, text: str) -> None:
    """Length and depth are those of kube-apiserver, and so are the words."""
    with pytest.raises(CompileError) as caught:
        environment.compile(source)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "source",
    [
        "(" * 249 + "1" + ")" * 249,
        " && ".join(["x.a == 1"] * 2000),
        "!" * 5000 + "true",
        "'" + "(" * 5000 + "' == \"" + "[" * 5000 + '"',
    ],
)
def test_large_and_yet_read(environment: Environment, source: str) -> None:
    """Chains that do not nest, and brackets inside of strings, are no depth."""
    assert str(environment.compile(source).type) in ("bool", "int")


@pytest.mark.parametrize(
    ("source", "value", "text"),
    [
        ("s.replace('a', s)", "a" * 100_000, "a text of 10000000000 letters is larger than 67108864"),
        ("[s, s].join(s)", "a" * 30_000_000, "a text of 90000000 letters is larger than 67108864"),
        ("'%.1000000000f'.format([1.0])", "", "could not parse precision: 1000000000 is too large"),
        ("int(s)", DIGITS, "type conversion error from 'string' to 'int'"),
        ("uint(s)", DIGITS, "type conversion error from 'string' to 'uint'"),
        ("double(s)", DIGITS, "type conversion error from 'string' to 'double'"),
        ("duration(s)", f"{DIGITS}h", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        (
            "timestamp(s)",
            f"{DIGITS}-01-01T00:00:00Z",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        ("quantity(s)", f"1e{DIGITS}", "unable to parse quantity's suffix"),
        (
            "cidr(s)",
            f"10.0.0.0/{DIGITS}",
            "network address parse error during conversion from string: "
            "network address parse error during conversion from string: "
            f'netip.ParsePrefix("10.0.0.0/{DIGITS}"): bad bits after slash: "{DIGITS}"',
        ),
    ],
)
def test_too_large_to_make(environment: Environment, source: str, value: str, text: str) -> None:
    """A result that would fill the memory, and numbers that no type holds, are errors."""
    with pytest.raises(EvaluationError) as caught:
        environment.compile(source).evaluate({"s": value})
    assert str(caught.value) == text


def test_work_is_bounded_by_the_budget(environment: Environment) -> None:
    """Loops inside of loops stop when the budget is spent, long before they end."""
    ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    source = "".join(f"{ten}.map(v{depth}, " for depth in range(9)) + "1" + ")" * 9
    with pytest.raises(BudgetExceeded):
        environment.compile(source).evaluate({}, budget=10_000)


def test_patterns_do_not_explode(environment: Environment) -> None:
    """A pattern that other engines need forever for is matched at once; one that would be too large is refused."""
    assert environment.compile("s.matches('(a+)+$')").evaluate({"s": "a" * 100_000 + "b"}).value is False
    with pytest.raises(CompileError, match="invalid matches argument"):
        environment.compile("s.matches('((a{1000}){1000}){1000}')")


def test_long_precisions_are_written_out(environment: Environment) -> None:
    """Digits behind the point are exact, however many are asked for."""
    found = environment.compile("'%.60f'.format([0.1])").evaluate({}).value
    assert found == "0.100000000000000005551115123125782702118158340454101562500000"
