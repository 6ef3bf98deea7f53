"""Python's own operators in place of the careful functions, if the checked types allow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from simkit.language.cel.tree import Call, ListNode, Literal, Node
from simkit.language.cel.values import INT_MAX, INT_MIN

if TYPE_CHECKING:
    from simkit.language.cel.generate import Generator

GENERIC: Final = {
    "_+_": "add",
    "_-_": "subtract",
    "_*_": "multiply",
    "_/_": "divide",
    "_%_": "modulo",
    "-_": "negate",
    "!_": "negation",
    "_<_": "less",
    "_<=_": "less_equal",
    "_>_": "greater",
    "_>=_": "greater_equal",
    "_==_": "equals",
    "_!=_": "differs",
    "@in": "contained",
}
"""Names of the careful functions of operators."""
_SIMPLE: Final = frozenset({"bool", "int", "uint", "string", "bytes", "duration", "timestamp"})
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_SIGNS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}


def form(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    """A Python expression for the call, or None if it needs the careful function."""
    work = _FORMS.get(node.function)
    return None if work is None else work(writer, node, arguments, texts)


def _equality(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    sign = "==" if node.function == "_==_" else "!="
    one, other = (each.type.kind for each in arguments)
    if "null" in (one, other):
        return f"({texts[0]} {'is' if sign == '==' else 'is not'} {texts[1]})"
    if one == other and one in _SIMPLE:
        return f"({texts[0]} {sign} {texts[1]})"
    if one in _NUMBERS and other in _NUMBERS:
        left, right = _same_numbers(texts, one, other)
        return f"({left} {sign} {right})"
    if any(map(_plainly_compared, arguments)):
        return f"({texts[0]} {sign} {texts[1]})"
    return _guessed(writer, arguments, texts, f"{{}} {sign} {{}}", GENERIC[node.function])


_CLASSES: Final = {"int": "int", "string": "str", "double": "float"}


def _guessed(
    writer: Generator, arguments: Sequence[Node], texts: Sequence[str], native: str, careful: str
) -> str | None:
    """The native form if a dynamic value has the other one's kind, else the careful function."""
    for at, other in ((0, 1), (1, 0)):
        found = _CLASSES.get(arguments[other].type.kind)
        if arguments[at].type.kind == "dyn" and found and isinstance(arguments[other], Literal):
            name = writer.fresh()
            both = (name, texts[1]) if at == 0 else (texts[0], name)
            test = f"type({name} := {texts[at]}) is {found}"
            return f"({native.format(*both)} if {test} else {careful}({both[0]}, {both[1]}))"
    return None


def dynamic_size(writer: Generator, text: str) -> str:
    """The code of ``size(x)`` for x of any type."""
    name = writer.fresh()
    return f"(len({name}) if type({name} := {text}) in SIZED else size({name}))"


def _plainly_compared(node: Node) -> bool:
    """True for constants that Python compares with any value as CEL does; 0 and 1 also equal bools."""
    if not isinstance(node, Literal):
        return False
    value = node.value
    return isinstance(value, str | bytes) or (type(value) is int and value not in (0, 1))


def _order(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    one, other = (each.type.kind for each in arguments)
    left, right = texts
    sign = _SIGNS[node.function]
    if one == other and one in _SIMPLE:
        return f"({left} {sign} {right})"
    if one in _NUMBERS and other in _NUMBERS:
        left, right = _same_numbers(texts, one, other)
        checks = [text for text, kind in ((left, one), (right, other)) if kind == "double" and not _is_number(text)]
        if not checks:
            return f"({left} {sign} {right})"
        a, b = writer.fresh(), writer.fresh()
        return f"({a} {sign} {b} if ({a} := {left}) == {a} and ({b} := {right}) == {b} else unordered())"
    if "double" in (one, other):
        return None
    return _guessed(writer, arguments, texts, f"{{}} {sign} {{}}", GENERIC[node.function])


def _same_numbers(texts: Sequence[str], one: str, other: str) -> tuple[str, str]:
    """Both texts as doubles if one of them is a double."""
    left, right = texts
    if (one == "double") == (other == "double"):
        return left, right
    return (f"float({left})", right) if other == "double" else (left, f"float({right})")


def _is_number(text: str) -> bool:
    return text.lstrip("-")[:1].isdigit()


def _arithmetic(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    one, other = (each.type.kind for each in arguments)
    sign = node.function[1]
    if one != other:
        return None
    if one == "int":
        name = writer.fresh()
        return f"({name} if {INT_MIN} <= ({name} := {texts[0]} {sign} {texts[1]}) <= {INT_MAX} else int_overflow())"
    if one == "double" or (sign == "+" and one in ("string", "bytes")):
        return f"({texts[0]} {sign} {texts[1]})"
    return "joined({}, {})".format(*texts) if one == "list" else None


def _whole(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    one, other = (each.type.kind for each in arguments)
    if one == other == "int":
        return f"{'divide_int' if node.function == '_/_' else 'modulo_int'}({texts[0]}, {texts[1]})"
    return None


def _negation(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    return f"(not {texts[0]})" if arguments[0].type.kind == "bool" else None


def _minus(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    return f"(-{texts[0]})" if arguments[0].type.kind == "double" else None


def _membership(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    value, container = arguments
    if isinstance(container, ListNode) and container.elements and not container.optional:
        constants = [each.value if isinstance(each, Literal) else None for each in container.elements]
        if all(type(each) is str for each in constants):
            return f"({texts[0]} in {writer.constant(frozenset(constants))})"
    kind = value.type.kind
    inner = container.type.parameters[0].kind if container.type.parameters else ""
    if kind in _SIMPLE and kind != "bool" and inner == kind:
        return f"({texts[0]} in {texts[1]})"
    if kind == "string" and container.type.kind == "dyn" and isinstance(value, Literal):
        name = writer.fresh()
        return f"({texts[0]} in {name} if type({name} := {texts[1]}) in PLAIN else contained({texts[0]}, {name}))"
    return None


def _member(text: str) -> Callable[[Generator, Call, Sequence[Node], Sequence[str]], str | None]:
    def found(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
        if node.target is None or len(arguments) != 2 or arguments[1].type.kind != "string":
            return None
        if arguments[0].type.kind == "string":
            return text.format(*texts)
        careful = writer.dispatcher(node)
        return _guessed(writer, arguments, texts, text, f"{careful}") if careful else None

    return found


def _matches(writer: Generator, node: Call, arguments: Sequence[Node], texts: Sequence[str]) -> str | None:
    test = writer.pattern(arguments[1]) if len(arguments) == 2 else None
    if test is None:
        return None
    if arguments[0].type.kind == "string":
        return f"({test}({texts[0]}) is not None)"
    return _guessed(writer, arguments, texts, f"({test}({{}}) is not None)", writer.dispatcher(node))


def indexed(writer: Generator, operand: Node, key: Node, text: str, index: str) -> str:
    """The code of ``operand[key]``."""
    kind = operand.type.kind
    constant = isinstance(key, Literal)
    if kind == "map" and key.type.kind in ("string", "int", "uint"):
        return f"{text}[{index}]"
    if kind == "dyn" and constant and key.type.kind == "string":
        return f"{text}[{index}]"
    if kind == "list" and key.type.kind == "int":
        if constant and not index.startswith("-"):
            return f"{text}[{index}]"
        name = writer.fresh()
        return f"({text}[{name}] if ({name} := {index}) >= 0 else out_of_bounds({name}))"
    return f"index({text}, {index})"


_FORMS: Final = {
    "_==_": _equality,
    "_!=_": _equality,
    "_<_": _order,
    "_<=_": _order,
    "_>_": _order,
    "_>=_": _order,
    "_+_": _arithmetic,
    "_-_": _arithmetic,
    "_*_": _arithmetic,
    "_/_": _whole,
    "_%_": _whole,
    "!_": _negation,
    "-_": _minus,
    "@in": _membership,
    "startsWith": _member("{}.startswith({})"),
    "endsWith": _member("{}.endswith({})"),
    "contains": _member("({1} in {0})"),
    "matches": _matches,
}
