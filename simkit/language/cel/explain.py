"""The evaluation of an expression step by step, and the position of a failure in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.language.cel.containers import elements, pairs
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import Program, compiled
from simkit.language.cel.errors import BudgetExceeded, EvaluationError, Issue
from simkit.language.cel.generate import Generator
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
    steps = [Step(text_of(generator.traced[at]), value, cost) for at, value, cost in rows]
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
    text, strength = _WRITERS[type(node)](node)
    return f"({text})" if strength < around else str(text)


def _all(nodes: list[Node]) -> str:
    return ", ".join(_text(node, 0) for node in nodes)


def _literal(node: Literal) -> tuple[str, int]:
    value = node.value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value], 8
    if isinstance(value, UInt):
        return f"{int(value)}u", 8
    if isinstance(value, float):
        text = format_float(value)
        return text if "." in text or "e" in text else f"{text}.0", 8
    return repr(value), 8


def _ident(node: Ident) -> tuple[str, int]:
    return node.name, 8


def _select(node: Select) -> tuple[str, int]:
    text = f"{_text(node.operand, _MEMBER)}.{node.field}"
    return (f"has({text})" if node.test else text), 8


def _call(node: Call) -> tuple[str, int]:
    arguments = node.arguments
    if node.function in _INFIX:
        sign, strength = _INFIX[node.function]
        return f"{_text(arguments[0], strength)} {sign} {_text(arguments[1], strength + 1)}", strength
    if node.function == "_?_:_":
        return f"{_text(arguments[0], 1)} ? {_text(arguments[1], 1)} : {_text(arguments[2], 0)}", 0
    if node.function in ("!_", "-_"):
        return f"{node.function[0]}{_text(arguments[0], 6)}", 6
    if node.function == "_?._" and isinstance(arguments[1], Literal):
        return f"{_text(arguments[0], _MEMBER)}.?{arguments[1].value}", 8
    if node.function in ("_[_]", "_[?_]"):
        mark = "?" if node.function == "_[?_]" else ""
        return f"{_text(arguments[0], _MEMBER)}[{mark}{_text(arguments[1], 0)}]", 8
    target = "" if node.target is None else f"{_text(node.target, _MEMBER)}."
    return f"{target}{node.function}({_all(arguments)})", 8


def _list(node: ListNode) -> tuple[str, int]:
    parts = [f"{'?' if at in node.optional else ''}{_text(each, 0)}" for at, each in enumerate(node.elements)]
    return f"[{', '.join(parts)}]", 8


def _entries(entries: list[Entry], *, named: bool) -> str:
    keys = [entry.key if named else _text(entry.key, 0) for entry in entries]
    marks = ["?" if entry.optional else "" for entry in entries]
    parts = [f"{mark}{key}: {_text(entry.value, 0)}" for mark, key, entry in zip(marks, keys, entries)]
    return f"{{{', '.join(parts)}}}"


def _map(node: MapNode) -> tuple[str, int]:
    return _entries(node.entries, named=False), 8


def _struct(node: StructNode) -> tuple[str, int]:
    return f"{node.name}{_entries(node.entries, named=True)}", 8


def _comprehension(node: Comprehension) -> tuple[str, int]:
    inside = [each for each in (node.condition, node.transform) if each is not None]
    names = f"{node.key}, {node.variable}" if node.key else node.variable
    return f"{_text(node.source, _MEMBER)}.{node.macro}({names}, {_all(inside)})", 8


def _bind(node: Bind) -> tuple[str, int]:
    return _text(node.body, 0), 0


_WRITERS: Final[dict[type, Any]] = {
    Literal: _literal,
    Ident: _ident,
    Select: _select,
    Call: _call,
    ListNode: _list,
    MapNode: _map,
    StructNode: _struct,
    Comprehension: _comprehension,
    Bind: _bind,
}


_CONDITIONAL = "_?_:_"


def failure_position(program: Program, bindings: Mapping[str, Any], failure: EvaluationError) -> Issue:
    """The position of a failed evaluation, as an issue that can be shown under the expression.

    Cost: each part around the one that failed is evaluated again.

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
    _, root = program.generator()
    part = _Search(program, bindings, str(failure), ()).innermost(root)
    return Issue(part.position, str(failure))


class _Local(NamedTuple):
    """A variable of a loop, bound to one element."""

    reference: Any
    value: Any
    declared: DeclType | None


class _Search:
    """The search for a failure below a node, with the loop variables that are bound there."""

    def __init__(self, program: Program, bindings: Mapping[str, Any], failure: str, inside: tuple[_Local, ...]) -> None:
        self._program, self._bindings, self._failure, self._locals = program, bindings, failure, inside

    def innermost(self, node: Node) -> Node:
        """The smallest part of a failing node that fails with the same text."""
        for search, part in self._parts(node):
            if search._fails(part):
                return search.innermost(part)
        return node

    def _parts(self, node: Node) -> Iterator[tuple[_Search, Node]]:
        if isinstance(node, Comprehension):
            yield self, node.source
            yield from self._turns(node)
        elif isinstance(node, Bind):
            yield self, node.value
            value, declared = self._value(node.value)
            yield self._with(_Local(node.reference, value, declared)), node.body
        elif isinstance(node, Call) and node.function == _CONDITIONAL:
            condition, *branches = node.arguments
            yield self, condition
            yield self, branches[0 if self._value(condition)[0] else 1]
        else:
            yield from ((self, child) for child in node.children() if not isinstance(child, Literal))

    def _turns(self, node: Comprehension) -> Iterator[tuple[_Search, Node]]:
        values, declared = self._value(node.source)
        named = declared is not None and (node.key or declared.type.kind == "list")
        element = declared.element if declared is not None and named else None
        for key, value in pairs(values) if node.key else enumerate(elements(values)):
            turn = self._with(_Local(node.reference, value, element))
            if node.key:
                turn = turn._with(_Local(node.key_reference, key, None))
            yield from ((turn, part) for part in (node.condition, node.transform) if part is not None)

    def _with(self, local: _Local) -> _Search:
        return _Search(self._program, self._bindings, self._failure, (*self._locals, local))

    def _generator(self) -> Generator:
        generator, _ = self._program.generator()
        for reference, value, declared in self._locals:
            generator.locals[id(reference)] = generator.constant(value)
            generator.declared[id(reference)] = declared
        return generator

    def _value(self, node: Node) -> tuple[Any, DeclType | None]:
        """The value of a part that does not fail, and its declared type."""
        declared = self._generator().code(node).declared
        value, _ = compiled(self._generator(), node)(self._bindings, float("inf"), [])
        return value, declared

    def _fails(self, node: Node) -> bool:
        try:
            compiled(self._generator(), node)(self._bindings, float("inf"), [])
        except BudgetExceeded:
            return False
        except EvaluationError as error:
            return str(error) == self._failure
        return False
