"""Macros: calls that stand for a piece of syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.language.cel.errors import CompileError, Issue
from simkit.language.cel.tree import Bind, Call, Comprehension, Ident, Node, Select


def _refuse(node: Node, text: str) -> CompileError:
    return CompileError("", [Issue(node.position, text)])


def _variable(node: Node) -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise _refuse(node, "argument must be a simple name")
    if node.name == "__result__":
        raise _refuse(node, "iteration variable overwrites accumulator variable")
    return node.name


def _has(call: Call) -> Node:
    operand = call.arguments[0]
    if not isinstance(operand, Select) or operand.test:
        raise _refuse(operand, "invalid argument to has() macro")
    return Select(call.position, operand.operand, operand.field, test=True)


def _loop(call: Call) -> Node:
    assert call.target is not None
    variable, *rest = call.arguments
    name = _variable(variable)
    if call.function == "map":
        condition = rest[0] if len(rest) == 2 else None
        return Comprehension(call.position, "map", call.target, name, condition, rest[-1])
    return Comprehension(call.position, call.function, call.target, name, rest[0], None)


def _optional(call: Call) -> Node:
    """``x.optMap(v, f)``: f of the value where there is one; ``optFlatMap`` does not wrap it again."""
    assert call.target is not None
    variable = call.arguments[0]
    if not isinstance(variable, Ident):
        raise _refuse(variable, f"{call.function}() variable name must be a simple identifier")
    at = call.position
    body: Node = Bind(at, variable.name, Call(at, "value", [], call.target), call.arguments[1])
    if call.function == "optMap":
        body = Call(at, "optional.of", [body])
    return Call(at, "_?_:_", [Call(at, "hasValue", [], call.target), body, Call(at, "optional.none", [])])


MACROS: Final[dict[tuple[str, int, bool], Callable[[Call], Node]]] = {
    ("has", 1, False): _has,
    **{(name, 2, True): _loop for name in ("all", "exists", "exists_one", "map", "filter")},
    ("map", 3, True): _loop,
    ("optMap", 2, True): _optional,
    ("optFlatMap", 2, True): _optional,
}
"""Expanders under name, number of arguments, and whether the call has a target."""


def expand(call: Call, start: int) -> Node:
    """What a call stands for: its macro's expansion, or the call itself. ``start`` is where its text begins."""
    macro = MACROS.get((call.function, len(call.arguments), call.target is not None))
    found = call if macro is None else macro(call)
    found.start = start
    return found
