"""Generated code for logic, choices and comprehensions: parts that are evaluated under conditions or in loops.

cel-spec, doc/langdef.md, "Logical Operators" and "Macros".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.language.cel import runtime_cost
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.tree import Bind, Call, Comprehension, Node

if TYPE_CHECKING:
    from simkit.language.cel.generate import Generator


class Code(NamedTuple):
    """A Python expression; ``declared`` is set if its value is still JSON of that declared type."""

    text: str
    declared: DeclType | None = None


def logical(writer: Generator, node: Call) -> Code:
    """``&&`` and ``||`` over all operands of a chain."""
    stop = "False" if node.function == "_&&_" else "True"
    terms = _terms(node, node.function)
    if writer.fast and not writer.counting:
        word = " and " if stop == "False" else " or "
        joined = writer.as_expression(lambda: f"({word.join(map(writer.truth, terms))})")
        if joined is not None:
            return Code(joined)
    writer.flush()
    result = writer.fresh()
    write = _in_turn if writer.fast else _absorbing
    return Code(write(writer, terms, result, stop))


def _in_turn(writer: Generator, terms: list[Node], result: str, stop: str) -> str:
    """The terms in nested branches that are entered while the result is open; deep chains restart at the left
    margin."""
    test = f"if {result}:" if stop == "False" else f"if not {result}:"
    writer.line(f"{result} = {writer.truth(terms[0])}")
    writer.flush()
    for term in terms[1:]:
        writer.line(test)
        with writer.indented():
            writer.line(f"{result} = {writer.truth(term)}")
    return result


def _absorbing(writer: Generator, terms: list[Node], result: str, stop: str) -> str:
    """The terms in try blocks: an error counts only if no term decides."""
    error = writer.fresh()
    writer.line(f"{result} = {'True' if stop == 'False' else 'False'}; {error} = None")
    for term in terms:
        writer.line("try:")
        with writer.indented(blocks=1):
            writer.line(f"if {result} is not {stop}:")
            with writer.indented():
                writer.line(f"{result} = {writer.truth(term)}")
        writer.line("except FAILURES as failure:")
        with writer.indented():
            writer.line(f"{error} = {error} or failure")
    writer.line(f"if {error} is not None and {result} is not {stop}: raise {error}")
    return result


def conditional(writer: Generator, node: Call) -> Code:
    """``condition ? chosen : other``."""
    condition, chosen, other = node.arguments
    if writer.fast and not writer.counting:
        text = writer.as_expression(
            lambda: f"({writer.value(chosen)} if {writer.truth(condition)} else {writer.value(other)})"
        )
        if text is not None:
            return Code(text)
    writer.flush()
    result = writer.fresh()
    writer.line("while True:")  # Entered once: a chain of choices is left from the middle, so that it stays flat.
    with writer.indented(blocks=1):
        while True:
            test = writer.truth(condition)
            writer.flush()
            writer.line(f"if {test}:")
            with writer.indented():
                _chosen(writer, result, chosen)
                writer.line("break")
            if not isinstance(other, Call) or other.function != "_?_:_" or writer.tracing:
                break
            condition, chosen, other = other.arguments
        _chosen(writer, result, other)
        writer.line("break")
    return Code(result)


def _chosen(writer: Generator, result: str, branch: Node) -> None:
    writer.spend(-runtime_cost.free_branch(branch))
    writer.line(f"{result} = {writer.value(branch)}")
    writer.flush()


def is_alternative(node: Call) -> bool:
    """True if a call is ``or`` or ``orValue`` of an optional."""
    return node.function in ("or", "orValue") and node.target is not None and len(node.arguments) == 1


def alternative(writer: Generator, node: Call) -> Code:
    """The code of ``or`` and ``orValue``: they cost nothing, and evaluate their argument only where the optional is
    empty. Of what is no optional they give the value itself, as in cel-go.
    """
    assert node.target is not None
    writer.flush()
    given, result = writer.fresh(), writer.fresh()
    writer.line(f"{given} = {writer.value(node.target)}")
    writer.flush()
    writer.line(f"{result} = as_optional({given})")
    writer.line(f"if {result}.present:")
    with writer.indented():
        writer.line(f"{result} = {given}" if node.function == "or" else f"{result} = {result}.value")
    writer.line("else:")
    with writer.indented():
        writer.line(f"{result} = {writer.value(node.arguments[0])}")
        writer.flush()
    return Code(result)


def comprehension(writer: Generator, node: Comprehension) -> Code:
    """all, exists, exists_one, map and filter, and their like over keys and values."""
    text, declared = writer.code(node.source)
    inner = None
    if declared is not None and (node.key or declared.type.kind == "list"):
        inner = declared.element
    source = node.source.type
    native = source.kind == "list" or (source.kind == "map" and source.parameters[0].kind == "string")
    visited = f"watched({text})" if writer.fast and native else f"elements({text})"
    variable = writer.fresh()
    writer.locals[id(node.reference)] = variable
    writer.declared[id(node.reference)] = inner
    if node.key:
        key = writer.locals[id(node.key_reference)] = writer.fresh()
        variable, visited = f"{key}, {variable}", f"pairs({text})"
    writer.flush()
    return Code(_LOOPS[node.macro](writer, node, variable, visited))


def _quantifier(writer: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """The code of all and exists: they stop at the first element that decides."""
    assert node.condition is not None
    decided = "False" if node.macro == "all" else "True"
    around, again = (3, 2) if node.macro == "all" else (4, 3)
    result, error, steps = writer.fresh(), writer.fresh(), writer.fresh()
    writer.line(f"{result} = {'True' if decided == 'False' else 'False'}")
    if not writer.fast:
        writer.line(f"{error} = None")
    if writer.counting:
        writer.line(f"{steps} = iter({visited})")
    writer.line(f"for {variable} in {steps if writer.counting else visited}:")
    with writer.indented(blocks=1 if writer.fast else 2):
        writer.spend(around)
        if not writer.fast:
            writer.flush()
            writer.line("try:")
        with writer.indented() if not writer.fast else _nothing():
            test = writer.truth(node.condition)
            writer.checkpoint()
            writer.line(f"if {'not ' if decided == 'False' else ''}{test}:")
            with writer.indented():
                writer.line(f"{result} = {decided}")
                if writer.counting:
                    writer.line(f"if next({steps}, ENDED) is not ENDED: cost += {again}")
                writer.line("break")
        if not writer.fast:
            writer.line("except FAILURES as failure:")
            with writer.indented():
                writer.line(f"{error} = {error} or failure")
    writer.spend(1)
    if not writer.fast:
        writer.flush()
        writer.line(f"if {error} is not None and {result} is not {decided}: raise {error}")
    return result


def _exactly_one(writer: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """The code of exists_one, which counts all matches."""
    assert node.condition is not None
    result = writer.fresh()
    writer.line(f"{result} = 0")
    writer.line(f"for {variable} in {visited}:")
    with writer.indented(blocks=1), _where(writer, node.condition):
        writer.spend(2)
        writer.line(f"{result} += 1")
    writer.spend(2)
    return f"({result} == 1)"


def _collected(writer: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """The code of map and filter."""
    result = writer.fresh()
    writer.line(f"{result} = []")
    writer.line(f"for {variable} in {visited}:")
    with writer.indented(blocks=1), _where(writer, node.condition):
        _append(writer, node, variable, result)
    writer.spend(1)
    return result


def _mapped(writer: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """The code of transformMap and transformMapEntry."""
    assert node.transform is not None
    result = writer.fresh()
    writer.line(f"{result} = {{}}")
    writer.line(f"for {variable} in {visited}:")
    with writer.indented(blocks=1), _where(writer, node.condition):
        writer.spend(3 if node.macro == "transformMap" else 2)
        made = writer.value(node.transform)
        if node.macro == "transformMap":
            made = f"{{key_of({writer.locals[id(node.key_reference)]}): {made}}}"
        writer.checkpoint()
        writer.line(f"insert({result}, {made})")
    writer.spend(1)
    return result


def _append(writer: Generator, node: Comprehension, variable: str, result: str) -> None:
    if node.transform is None:
        writer.spend(13)
        declared = writer.declared[id(node.reference)]
        kept = declared is not None and declared.adapt is not None
        text = f"{writer.constant(declared.adapt)}({variable})" if kept and declared is not None else variable
    else:
        writer.spend(2 if runtime_cost.is_constant(node.transform) else 12)
        text = writer.value(node.transform)
    writer.checkpoint()
    writer.line(f"{result}.append({text})")


def bind(writer: Generator, node: Bind) -> Code:
    """A name for a value."""
    name = writer.kept(writer.value(node.value))
    writer.locals[id(node.reference)] = name
    return Code(writer.value(node.body))


@contextmanager
def _where(writer: Generator, condition: Node | None) -> Iterator[None]:
    """A block for the items that meet the condition; without a condition, for all."""
    if condition is None:
        yield
        return
    test = writer.truth(condition)
    writer.checkpoint()
    writer.line(f"if {test}:")
    with writer.indented():
        yield


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _terms(node: Node, function: str) -> list[Node]:
    """The operands of a chain of one logical operator."""
    if not isinstance(node, Call) or node.function != function:
        return [node]
    return [term for side in node.arguments for term in _terms(side, function)]


_LOOPS: Final = {
    "all": _quantifier,
    "exists": _quantifier,
    "exists_one": _exactly_one,
    "map": _collected,
    "filter": _collected,
    "transformList": _collected,
    "transformMap": _mapped,
    "transformMapEntry": _mapped,
}
