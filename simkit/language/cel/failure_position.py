"""The position of a failure: the innermost part that fails by itself in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from simkit.language.cel.containers import elements, pairs
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import Program, compiled
from simkit.language.cel.errors import BudgetExceeded, EvaluationError, Issue
from simkit.language.cel.generate import Generator
from simkit.language.cel.tree import Bind, Call, Comprehension, Literal, Node

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
