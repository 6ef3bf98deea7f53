"""The evaluation of an expression step by step, and the position of a failure in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from traceback import walk_tb
from typing import Any, Final, NamedTuple

from simkit.language.cel.environment import EXPRESSION, Program, compiled
from simkit.language.cel.errors import EvaluationError, Issue
from simkit.language.cel.tree import (
    Bind,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
)
from simkit.language.cel.values import UInt
from simkit.meta.go_fmt import format_float


class Step(NamedTuple):
    """One part, evaluated once: its text, its value, and the total cost so far."""

    expression: str
    value: Any
    cost: int


def explain(program: Program, bindings: Mapping[str, Any]) -> list[Step]:
    """The steps of an evaluation in the order in which they end; a part inside a loop has a step for each iteration.

    The last step is the whole expression, or the failure: its value is then the EvaluationError.

    Examples
    --------
    >>> from simkit.language.cel.environment import Environment
    >>> from simkit.language.cel.types import INT
    >>> from simkit.schema.behaviour import default_behaviour
    >>> steps = explain(Environment(default_behaviour("1.30"), {"x": INT}).compile("x + 1 > 2"), {"x": 1})
    >>> [(step.expression, step.value, step.cost) for step in steps]
    [('x', 1, 1), ('x + 1', 2, 2), ('x + 1 > 2', False, 3)]
    """
    generator, node = program.generator(tracing=True)
    run = compiled(generator, node)
    rows: list[tuple[int, Any, int]] = []
    try:
        run(bindings, float("inf"), rows)
        failure: EvaluationError | None = None
    except EvaluationError as error:
        failure = error
    steps = [Step(text_of(generator.traced[at][1]), value, cost) for at, value, cost in rows]
    if failure is not None:
        steps.append(Step(program.source, failure, failure.cost))
    return steps


_INFIX: Final = {
    "_||_": ("||", 1),
    "_&&_": ("&&", 2),
    "_<_": ("<", 3),
    "_<=_": ("<=", 3),
    "_>_": (">", 3),
    "_>=_": (">=", 3),
    "_==_": ("==", 3),
    "_!=_": ("!=", 3),
    "@in": ("in", 3),
    "_+_": ("+", 4),
    "_-_": ("-", 4),
    "_*_": ("*", 5),
    "_/_": ("/", 5),
    "_%_": ("%", 5),
}
_MEMBER: Final = 7


def text_of(node: Node) -> str:
    """The source of a part, generated from its tree."""
    return _text(node, 0)


def _text(node: Node, around: int) -> str:
    text, strength = _written(node)
    return f"({text})" if strength < around else text


def _written(node: Node) -> tuple[str, int]:
    """The text of a part, and how strongly it holds together."""
    match node:
        case Literal():
            return _literal(node.value), 8
        case Ident():
            return node.name, 8
        case Select():
            text = f"{_text(node.operand, _MEMBER)}.{node.field}"
            return (f"has({text})" if node.test else text), 8
        case Call():
            return _call(node)
        case ListNode():
            return f"[{', '.join(_marked(at in node.optional, each) for at, each in enumerate(node.elements))}]", 8
        case MapNode():
            return _entries((text_of(entry.key), entry) for entry in node.entries), 8
        case StructNode():
            return f"{node.name}{_entries((entry.key, entry) for entry in node.entries)}", 8
        case Comprehension():
            inside = [text_of(each) for each in (node.condition, node.transform) if each is not None]
            names = f"{node.key}, {node.variable}" if node.key else node.variable
            return f"{_text(node.source, _MEMBER)}.{node.macro}({', '.join([names, *inside])})", 8
        case Bind():
            return text_of(node.body), 0
    raise AssertionError(node)


def _marked(optional: bool, node: Node) -> str:
    return f"{'?' if optional else ''}{text_of(node)}"


def _entries(entries: Iterable[tuple[str, Entry]]) -> str:
    parts = (f"{'?' if entry.optional else ''}{key}: {text_of(entry.value)}" for key, entry in entries)
    return f"{{{', '.join(parts)}}}"


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, UInt):
        return f"{int(value)}u"
    if isinstance(value, float):
        text = format_float(value)
        return text if "." in text or "e" in text else f"{text}.0"
    return repr(value)


def _call(node: Call) -> tuple[str, int]:
    arguments = node.arguments
    if node.function in _INFIX:
        sign, strength = _INFIX[node.function]
        return f"{_text(arguments[0], strength)} {sign} {_text(arguments[1], strength + 1)}", strength
    if node.function == "_?_:_":
        return f"{_text(arguments[0], 1)} ? {_text(arguments[1], 1)} : {text_of(arguments[2])}", 0
    if node.function in ("!_", "-_"):
        return f"{node.function[0]}{_text(arguments[0], 6)}", 6
    if node.function == "_?._" and isinstance(arguments[1], Literal):
        return f"{_text(arguments[0], _MEMBER)}.?{arguments[1].value}", 8
    if node.function in ("_[_]", "_[?_]"):
        mark = "?" if node.function == "_[?_]" else ""
        return f"{_text(arguments[0], _MEMBER)}[{mark}{text_of(arguments[1])}]", 8
    target = "" if node.target is None else f"{_text(node.target, _MEMBER)}."
    return f"{target}{node.function}({', '.join(map(text_of, arguments))})", 8


def failure_position(program: Program, bindings: Mapping[str, Any], failure: EvaluationError) -> Issue:
    """The position of a failed evaluation, as an issue that can be shown under the expression.

    The expression is evaluated again, one part per line of the generated function, and the line tells the part.

    Examples
    --------
    >>> from simkit.language.cel.environment import Environment
    >>> from simkit.language.cel.types import DYN
    >>> from simkit.schema.behaviour import default_behaviour
    >>> program = Environment(default_behaviour("1.30"), {"self": DYN}).compile("self.a && self.bb")
    >>> values = {"self": {"a": True}}
    >>> print(failure_position(program, values, EvaluationError("no such key: bb")).rendered(program.source))
    ERROR: <input>:1:15: no such key: bb
     | self.a && self.bb
     | ..............^
    """
    generator, node = program.generator(tracing=True)
    run = compiled(generator, node)
    try:
        run(bindings, float("inf"), [])
    except EvaluationError as again:
        raised = [error.__traceback__ for error in (again.__context__, again) if error is not None]
        frames = [each for found in raised for each in walk_tb(found)]
        line = [line for frame, line in frames if frame.f_code.co_filename == EXPRESSION][-1]
        node = next((part for end, part in generator.traced if end >= line), node)
    return Issue(node.position, str(failure))
