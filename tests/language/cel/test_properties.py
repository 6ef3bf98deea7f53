"""Compiled evaluation against a naive interpreter that walks the tree."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from subprocess import run
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.language.cel.environment import Environment, EvaluationError
from simkit.language.cel.explain import explain
from simkit.language.cel.types import BOOL, DYN, INT, list_of
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

VARIABLES: Final = {"i": INT, "j": INT, "b": BOOL, "l": list_of(INT), "d": DYN}
ENVIRONMENT = Environment(BEHAVIOUR, VARIABLES)
Tree = tuple[Any, ...]


class Failed(Exception):
    """The naive interpreter's one error."""


def _checked(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise Failed
    return value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise Failed
    return _checked(
        math.trunc(left / right)
        if abs(left) < 2**50
        else int(abs(left) // abs(right)) * (1 if left * right > 0 else -1)
    )


NUMBERS: Final[Mapping[str, Callable[[int, int], Any]]] = {
    "+": lambda left, right: _checked(left + right),
    "-": lambda left, right: _checked(left - right),
    "*": lambda left, right: _checked(left * right),
    "/": _divided,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


def naive(tree: Tree, names: Mapping[str, Any]) -> Any:
    """The value of a tree, or Failed."""
    kind, *parts = tree
    if kind == "value":
        return parts[0]
    if kind == "name":
        return names[parts[0]]
    if kind == "field":
        if parts[0] not in names["d"]:
            raise Failed
        return names["d"][parts[0]]
    if kind == "not":
        return not naive(parts[0], names)
    if kind in ("&&", "||"):
        return _absorbed([partial(naive, part, names) for part in parts], stop=kind == "||")
    if kind == "?":
        return naive(parts[1 if naive(parts[0], names) else 2], names)
    if kind in ("all", "exists"):
        turns = [partial(naive, parts[1], {**names, "x": x}) for x in naive(parts[0], names)]
        return _absorbed(turns, stop=kind == "exists")
    if kind in ("map", "filter"):
        found = [(x, naive(parts[1], {**names, "x": x})) for x in naive(parts[0], names)]
        return [value for _, value in found] if kind == "map" else [x for x, kept in found if kept]
    if kind == "size":
        return len(naive(parts[0], names))
    if kind == "in":
        return bool(naive(parts[0], names) in naive(parts[1], names))
    left, right = naive(parts[0], names), naive(parts[1], names)
    return NUMBERS[kind](left, right)


def _absorbed(turns: Sequence[Callable[[], Any]], *, stop: bool) -> bool:
    failed = False
    for turn in turns:
        try:
            if turn() is stop:
                return bool(stop)
        except Failed:
            failed = True
    if failed:
        raise Failed
    return not stop


def text(tree: Tree) -> str:
    """The tree as an expression."""
    kind, *parts = tree
    if kind == "value":
        return str(parts[0]).lower()
    if kind == "name":
        return str(parts[0])
    if kind == "field":
        return f"int(d.{parts[0]})"
    if kind == "not":
        return f"!({text(parts[0])})"
    if kind == "?":
        return f"({text(parts[0])} ? {text(parts[1])} : {text(parts[2])})"
    if kind in ("all", "exists", "map", "filter"):
        return f"{text(parts[0])}.{kind}(x, {text(parts[1])})"
    if kind == "size":
        return f"size({text(parts[0])})"
    return f"({f' {kind} '.join(map(text, parts))})"


def _numbers(depth: int, *, inside: bool) -> st.SearchStrategy[Tree]:
    names = ["i", "j", "x"] if inside else ["i", "j"]
    leaves = st.one_of(
        st.integers(0, 5).map(lambda value: ("value", value)),
        st.sampled_from(names).map(lambda name: ("name", name)),
        st.sampled_from(["p", "q"]).map(lambda name: ("field", name)),
    )
    if depth == 0:
        return leaves
    deeper = _numbers(depth - 1, inside=inside)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from("+-*/"), deeper, deeper),
        st.tuples(st.just("?"), _truths(depth - 1, inside=inside), deeper, deeper),
        st.tuples(st.just("size"), _lists(depth - 1, inside=inside)),
    )


def _lists(depth: int, *, inside: bool) -> st.SearchStrategy[Tree]:
    leaf: st.SearchStrategy[Tree] = st.just(("name", "l"))
    if depth == 0:
        return leaf
    deeper = _lists(depth - 1, inside=inside)
    return st.one_of(
        leaf,
        st.tuples(st.just("map"), deeper, _numbers(depth - 1, inside=True)),
        st.tuples(st.just("filter"), deeper, _truths(depth - 1, inside=True)),
    )


def _truths(depth: int, *, inside: bool) -> st.SearchStrategy[Tree]:
    leaves: st.SearchStrategy[Tree] = st.one_of(
        st.booleans().map(lambda value: ("value", value)), st.just(("name", "b"))
    )
    if depth == 0:
        return leaves
    numbers, deeper = _numbers(depth - 1, inside=inside), _truths(depth - 1, inside=inside)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["<", "<=", "==", "!="]), numbers, numbers),
        st.tuples(st.sampled_from(["&&", "||"]), deeper, deeper),
        st.tuples(st.just("not"), deeper),
        st.tuples(st.just("in"), numbers, _lists(depth - 1, inside=inside)),
        st.tuples(
            st.sampled_from(["all", "exists"]), _lists(depth - 1, inside=inside), _truths(depth - 1, inside=True)
        ),
    )


BINDINGS = st.fixed_dictionaries(
    {
        "i": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
        "j": st.integers(-3, 3),
        "b": st.booleans(),
        "l": st.lists(st.integers(-3, 3), max_size=4),
        "d": st.dictionaries(st.sampled_from(["p", "q"]), st.integers(-3, 3)),
    }
)


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except (EvaluationError, Failed):
        return "failed"


@pytest.mark.slow
@settings(max_examples=150)
@given(_truths(4, inside=False), BINDINGS)
def test_against_a_naive_interpreter(tree: Tree, bindings: dict[str, Any]) -> None:
    """Arithmetic, logic and comprehensions come to the same, counted or not, and the trace ends with it."""
    program = ENVIRONMENT.compile(text(tree))
    wanted = _outcome(lambda: naive(tree, bindings))
    assert _outcome(lambda: program.evaluate(bindings).value) == wanted
    assert _outcome(lambda: program.evaluate(bindings, budget=10**9).value) == wanted
    steps = explain(program, bindings)
    if steps:
        assert isinstance(steps[-1].value, EvaluationError) if wanted == "failed" else steps[-1].value == wanted


@settings(max_examples=60)
@given(_truths(3, inside=False), BINDINGS)
def test_costs_of_both_ways_agree(tree: Tree, bindings: dict[str, Any]) -> None:
    """Without failures, both ways spend the same cost, within the estimate."""
    program = ENVIRONMENT.compile(text(tree))
    if _outcome(lambda: naive(tree, bindings)) == "failed":
        return
    spent = program.evaluate(bindings, budget=10**9).cost
    trace = explain(program, bindings)
    careful = trace[-1].cost if trace else 0
    assert spent == careful or "/" in text(tree) or "d." in text(tree)
    assert spent <= program.estimate()[1] or "d." in text(tree)  # Dynamic fields are not estimated.


def test_heavy_libraries_are_imported_with_the_first_expression() -> None:
    """Importing the environment loads neither lark nor re2 nor celpy; the first expression loads what it needs."""
    script = (
        "import sys; from simkit.language.cel.environment import Environment\n"
        "assert not {'lark', 're2', 'celpy'} & set(sys.modules)\n"
        "from simkit.schema.behaviour import OWN\n"
        "assert Environment(OWN).compile('1 + 1').evaluate({}).value == 2\n"
        "assert 'lark' in sys.modules and 'celpy' not in sys.modules\n"
    )
    assert run([sys.executable, "-c", script], check=False).returncode == 0
