"""Parts of an expression that are evaluated under conditions or again and again: logic, choices, comprehensions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from simkit.language.cel import runtime_cost
from simkit.language.cel.code import Code
from simkit.language.cel.tree import Bind, Call, Comprehension, Node

if TYPE_CHECKING:
    from simkit.language.cel.generate import Generator


def logical(generator: Generator, node: Call) -> Code:
    """``&&`` and ``||`` over all operands of a chain."""
    stop = "False" if node.function == "_&&_" else "True"
    terms = _terms(node, node.function)
    if generator.fast and not generator.counting:
        word = " and " if stop == "False" else " or "
        joined = generator.as_expression(lambda: f"({word.join(map(generator.truth, terms))})")
        if joined is not None:
            return Code(joined)
    generator.flush()
    result = generator.fresh()
    write = _in_turn if generator.fast else _absorbing
    return Code(write(generator, terms, result, stop))


def _in_turn(generator: Generator, terms: list[Node], result: str, stop: str) -> str:
    """Each term in a branch that is entered while the outcome is open; deep chains start over at the margin."""
    test = f"if {result}:" if stop == "False" else f"if not {result}:"
    generator.line(f"{result} = {generator.truth(terms[0])}")
    generator.flush()
    for term in terms[1:]:
        generator.line(test)
        with generator.indented():
            generator.line(f"{result} = {generator.truth(term)}")
    return result


def _absorbing(generator: Generator, terms: list[Node], result: str, stop: str) -> str:
    """Each term in a try block: an error counts only while no term decides."""
    error = generator.fresh()
    generator.line(f"{result} = {'True' if stop == 'False' else 'False'}; {error} = None")
    for term in terms:
        generator.line("try:")
        with generator.indented(blocks=1):
            generator.line(f"if {result} is not {stop}:")
            with generator.indented():
                generator.line(f"{result} = {generator.truth(term)}")
        generator.line("except FAILURES as failure:")
        with generator.indented():
            generator.line(f"{error} = {error} or failure")
    generator.line(f"if {error} is not None and {result} is not {stop}: raise {error}")
    return result


def conditional(generator: Generator, node: Call) -> Code:
    """``condition ? chosen : other``."""
    condition, chosen, other = node.arguments
    if generator.fast and not generator.counting:
        text = generator.as_expression(
            lambda: f"({generator.value(chosen)} if {generator.truth(condition)} else {generator.value(other)})"
        )
        if text is not None:
            return Code(text)
    generator.flush()
    result = generator.fresh()
    generator.line("while True:")  # Entered once: a chain of choices is left from the middle, so that it stays flat.
    with generator.indented(blocks=1):
        while True:
            test = generator.truth(condition)
            generator.flush()
            generator.line(f"if {test}:")
            with generator.indented():
                _chosen(generator, result, chosen)
                generator.line("break")
            if not isinstance(other, Call) or other.function != "_?_:_" or generator.tracing:
                break
            condition, chosen, other = other.arguments
        _chosen(generator, result, other)
        generator.line("break")
    return Code(result)


def _chosen(generator: Generator, result: str, branch: Node) -> None:
    generator.spend(-runtime_cost.free_branch(branch))
    generator.line(f"{result} = {generator.value(branch)}")
    generator.flush()


def is_alternative(node: Call) -> bool:
    """Whether a call is ``or`` or ``orValue`` of an optional."""
    return node.function in ("or", "orValue") and node.target is not None and len(node.arguments) == 1


def alternative(generator: Generator, node: Call) -> Code:
    """``or`` and ``orValue``: cost nothing, and look at their argument only where the optional is empty."""
    assert node.target is not None
    generator.flush()
    result = generator.fresh()
    generator.line(f"{result} = optional({generator.value(node.target)})")
    generator.flush()
    generator.line(f"if {result}.present:")
    with generator.indented():
        generator.line(f"{result} = {result}" if node.function == "or" else f"{result} = {result}.value")
    generator.line("else:")
    with generator.indented():
        generator.line(f"{result} = {generator.value(node.arguments[0])}")
        generator.flush()
    return Code(result)


def comprehension(generator: Generator, node: Comprehension) -> Code:
    """all, exists, exists_one, map and filter, and their like over keys and values."""
    text, declared = generator.code(node.source)
    inner = None
    if declared is not None and (node.key or declared.type.kind == "list"):
        inner = declared.element
    source = node.source.type
    native = source.kind == "list" or (source.kind == "map" and source.parameters[0].kind == "string")
    visited = text if generator.fast and native else f"elements({text})"
    variable = generator.fresh()
    generator.locals[id(node.reference)] = variable
    generator.declared[id(node.reference)] = inner
    if node.key:
        key = generator.locals[id(node.key_reference)] = generator.fresh()
        variable, visited = f"{key}, {variable}", f"pairs({text})"
    generator.flush()
    return Code(_LOOPS[node.macro](generator, node, variable, visited))


def _quantifier(generator: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """all and exists: stop at the first element that decides."""
    assert node.condition is not None
    decided = "False" if node.macro == "all" else "True"
    around, again = (3, 2) if node.macro == "all" else (4, 3)
    result, error, steps = generator.fresh(), generator.fresh(), generator.fresh()
    generator.line(f"{result} = {'True' if decided == 'False' else 'False'}")
    if not generator.fast:
        generator.line(f"{error} = None")
    if generator.counting:
        generator.line(f"{steps} = iter({visited})")
    generator.line(f"for {variable} in {steps if generator.counting else visited}:")
    with generator.indented(blocks=1 if generator.fast else 2):
        generator.spend(around)
        if not generator.fast:
            generator.flush()
            generator.line("try:")
        with generator.indented() if not generator.fast else _nothing():
            test = generator.truth(node.condition)
            generator.checkpoint()
            generator.line(f"if {'not ' if decided == 'False' else ''}{test}:")
            with generator.indented():
                generator.line(f"{result} = {decided}")
                if generator.counting:
                    generator.line(f"if next({steps}, ENDED) is not ENDED: cost += {again}")
                generator.line("break")
        if not generator.fast:
            generator.line("except FAILURES as failure:")
            with generator.indented():
                generator.line(f"{error} = {error} or failure")
    generator.spend(1)
    if not generator.fast:
        generator.flush()
        generator.line(f"if {error} is not None and {result} is not {decided}: raise {error}")
    return result


def _exactly_one(generator: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """exists_one: count them all."""
    assert node.condition is not None
    result = generator.fresh()
    generator.line(f"{result} = 0")
    generator.line(f"for {variable} in {visited}:")
    with generator.indented(blocks=1), _where(generator, node.condition):
        generator.spend(2)
        generator.line(f"{result} += 1")
    generator.spend(2)
    return f"({result} == 1)"


def _collected(generator: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """map and filter."""
    result = generator.fresh()
    generator.line(f"{result} = []")
    generator.line(f"for {variable} in {visited}:")
    with generator.indented(blocks=1), _where(generator, node.condition):
        _append(generator, node, variable, result)
    generator.spend(1)
    return result


def _mapped(generator: Generator, node: Comprehension, variable: str, visited: str) -> str:
    """transformMap and transformMapEntry."""
    assert node.transform is not None
    result = generator.fresh()
    generator.line(f"{result} = {{}}")
    generator.line(f"for {variable} in {visited}:")
    with generator.indented(blocks=1), _where(generator, node.condition):
        generator.spend(3 if node.macro == "transformMap" else 2)
        made = generator.value(node.transform)
        if node.macro == "transformMap":
            made = f"{{key_of({generator.locals[id(node.key_reference)]}): {made}}}"
        generator.checkpoint()
        generator.line(f"insert({result}, {made})")
    generator.spend(1)
    return result


def _append(generator: Generator, node: Comprehension, variable: str, result: str) -> None:
    if node.transform is None:
        generator.spend(13)
        declared = generator.declared[id(node.reference)]
        kept = declared is not None and declared.adapt is not None
        text = f"{generator.constant(declared.adapt)}({variable})" if kept and declared is not None else variable
    else:
        generator.spend(2 if runtime_cost.is_constant(node.transform) else 12)
        text = generator.value(node.transform)
    generator.checkpoint()
    generator.line(f"{result}.append({text})")


def bind(generator: Generator, node: Bind) -> Code:
    """A name for a value."""
    name = generator.kept(generator.value(node.value))
    generator.locals[id(node.reference)] = name
    return Code(generator.value(node.body))


@contextmanager
def _where(generator: Generator, condition: Node | None) -> Iterator[None]:
    """What is written inside is for the items that meet the condition; without one, for all."""
    if condition is None:
        yield
        return
    test = generator.truth(condition)
    generator.checkpoint()
    generator.line(f"if {test}:")
    with generator.indented():
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
