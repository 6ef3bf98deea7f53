"""Macros: calls that expand to a syntax tree.

cel-spec, doc/langdef.md, "Macros"; cel-go 0.17, parser/macro.go; two-variable comprehensions: cel-go
ext/comprehensions.go, release 1.32.

Upstream: github.com/google/cel-go/parser/macro.go, version 0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from simkit.language.cel.errors import Issue
from simkit.language.cel.tree import Bind, Call, Comprehension, Ident, Literal, MapNode, Node, Select, StructNode


class _Refused(Exception):
    """A call with the form of a macro, but not its arguments."""

    def __init__(self, node: Node, text: str) -> None:
        super().__init__(text)
        self.position = node.position


def _variable(node: Node, *, told: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise _Refused(node, told)
    if node.name == "__result__":
        raise _Refused(node, "iteration variable overwrites accumulator variable")
    return node.name


def _has(call: Call) -> Node:
    operand = call.arguments[0]
    if not isinstance(operand, Select) or operand.test:
        raise _Refused(operand, "invalid argument to has() macro")
    return Select(call.position, operand.operand, operand.field, test=True)


def _loop(call: Call) -> Node:
    assert call.target is not None
    variable, *rest = call.arguments
    collects = call.function in ("map", "filter")
    name = _variable(variable, told="argument is not an identifier") if collects else _variable(variable)
    if call.function == "map":
        condition = rest[0] if len(rest) == 2 else None
        return Comprehension(call.position, "map", call.target, name, condition, rest[-1])
    return Comprehension(call.position, call.function, call.target, name, rest[0], None)


def _optional(call: Call) -> Node:
    """The expansion of ``x.optMap(v, f)``: f of the value, if there is one; ``optFlatMap`` does not wrap it again."""
    assert call.target is not None
    variable = call.arguments[0]
    if not isinstance(variable, Ident):
        raise _Refused(variable, f"{call.function}() variable name must be a simple identifier")
    at = call.position
    body: Node = Bind(at, variable.name, Call(at, "value", [], call.target), call.arguments[1])
    if call.function == "optMap":
        body = Call(at, "optional.of", [body])
    return Call(at, "_?_:_", [Call(at, "hasValue", [], call.target), body, Call(at, "optional.none", [])])


def _loop_with_key(call: Call) -> Node:
    """The expansion of all, exists, existsOne and the transformations over positions and elements, or keys and
    values."""
    assert call.target is not None
    first, second, *rest = call.arguments
    key, name = _variable(first), _variable(second)
    if key == name:
        raise _Refused(second, f"duplicate variable name: {key}")
    if not call.function.startswith("transform"):
        macro = "exists_one" if call.function == "existsOne" else call.function
        return Comprehension(call.position, macro, call.target, name, rest[0], None, key=key)
    condition = rest[0] if len(rest) == 2 else None
    return Comprehension(call.position, call.function, call.target, name, condition, rest[-1], key=key)


def _bound(call: Call) -> Node:
    """The expansion of ``cel.bind(v, x, e)``: e, with v for the value of x. Other calls of that name are no macro."""
    if not isinstance(call.target, Ident) or call.target.name != "cel":
        return call
    variable, value, body = call.arguments
    if not isinstance(variable, Ident):
        raise _Refused(variable, "cel.bind() variable names must be simple identifiers")
    return Bind(call.position, variable.name, value, body, written=True)


_SORTED: Final = "@__sortBy_input__"


def _sorted_by(call: Call) -> Node:
    """The expansion of ``x.sortBy(e, k)``: the elements ordered by the value of k for each."""
    assert call.target is not None
    if isinstance(call.target, Literal | MapNode | StructNode):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise _Refused(call.target, f"sortBy can only be applied to {kinds}")
    at, (variable, key) = call.position, call.arguments
    keys = Comprehension(at, "map", Ident(at, _SORTED), _variable(variable), None, key)
    return Bind(at, _SORTED, call.target, Call(at, "@sortByAssociatedKeys", [Ident(at, _SORTED), keys]))


Macro = Callable[[Call], Node]
MACROS: Final[dict[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): _has,
    **{(name, 2, True): _loop for name in ("all", "exists", "exists_one", "map", "filter")},
    ("map", 3, True): _loop,
    ("optMap", 2, True): _optional,
    ("optFlatMap", 2, True): _optional,
}
"""Expanders under name, number of arguments, and whether the call has a target."""
LATER_MACROS: Final[Mapping[tuple[int, int], Mapping[tuple[str, int, bool], Macro]]] = {
    (1, 32): {
        **{(name, 3, True): _loop_with_key for name in ("all", "exists", "existsOne", "exists_one")},
        **{(f"transform{kind}", 3, True): _loop_with_key for kind in ("List", "Map", "MapEntry")},
        **{(f"transform{kind}", 4, True): _loop_with_key for kind in ("List", "Map", "MapEntry")},
    },
    (1, 34): {("sortBy", 2, True): _sorted_by},
}
"""The macros that came after release 1.30, by compatibility version."""


@cache
def macros_of(version: tuple[int, int], *, bindings: bool = False) -> Mapping[tuple[str, int, bool], Macro]:
    """All macros of a compatibility version, and ``cel.bind`` if wanted."""
    found = MACROS | ({("bind", 3, True): _bound} if bindings else {})
    for since, later in LATER_MACROS.items():
        if since <= version:
            found |= later
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of parsing one expression: its macros, and the errors in its parts."""

    macros: Mapping[tuple[str, int, bool], Macro]
    issues: list[Issue] = field(default_factory=list)


READING: Final[ContextVar[Reading]] = ContextVar("reading")
"""The parsing in progress: there is one parser for all, since it is slow to make."""


def report(position: int, text: str) -> None:
    """Record an error in a part of the expression; parsing goes on."""
    READING.get().issues.append(Issue(position, text))


def expand(call: Call, start: int) -> Node:
    """The expansion of a call's macro, or the call itself. ``start`` is where its text begins."""
    macro = READING.get().macros.get((call.function, len(call.arguments), call.target is not None))
    found: Node = call
    try:
        found = call if macro is None else macro(call)
    except _Refused as refused:
        report(refused.position, str(refused))
    found.start = start
    return found
