"""Optional values as formulas: ``x.?name``, ``x[?key]``, ``orValue`` and the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.prove.either import either, over
from simkit.analysis.prove.formulas import conjunction, negation
from simkit.analysis.prove.operators import indexed
from simkit.analysis.prove.symbols import Maybe, Null, Scalar, Term
from simkit.language.cel.tree import Call, Literal

if TYPE_CHECKING:
    from simkit.analysis.prove.translate import Translator

METHODS: Final = ("hasValue", "value", "orValue", "or")
"""The methods of optional values."""


def _sure(reader: Translator, value: Any) -> Term:
    return Term(value, reader.z3.BoolVal(False))


def inside_optional(reader: Translator, value: Any, name: str) -> Term:
    """The optional member of a value, or of the value in an optional."""
    if isinstance(value, Maybe):
        inner = over(reader.z3, [_sure(reader, value.value)], lambda each: inside_optional(reader, each, name))
        nothing = Maybe(reader.z3.BoolVal(False), Null())
        return _sure(reader, either(reader.z3, value.present, inner.value, nothing))
    return _sure(reader, Maybe(*reader.member(value, name)))


def _member(reader: Translator, node: Call) -> Term:
    """``x.?name`` and ``x[?key]``."""
    name = node.arguments[1].value if isinstance(node.arguments[1], Literal) else None
    if isinstance(name, str):
        return reader.applied(node, node.arguments[:1], lambda value: inside_optional(reader, value, name))

    def made(value: Any, key: Any) -> Term:
        inner = value.value if isinstance(value, Maybe) else value
        found = over(reader.z3, [_sure(reader, inner)], lambda each: indexed(reader, node, each, key))
        there = value.present if isinstance(value, Maybe) else reader.z3.BoolVal(True)
        present = conjunction(reader.z3, (there, negation(reader.z3, found.error)))
        return _sure(reader, Maybe(present, found.value))

    return reader.applied(node, node.arguments, made)


def _of_optional(reader: Translator, node: Call) -> Term:
    """``hasValue`` and ``value`` of an optional."""
    assert node.target is not None
    z3 = reader.z3

    def made(value: Any) -> Term:
        if not isinstance(value, Maybe):
            return Term(Null(), z3.BoolVal(True))
        if node.function == "hasValue":
            return _sure(reader, Scalar("bool", value.present))
        return Term(value.value, negation(z3, value.present))

    return reader.applied(node, [node.target], made)


def _alternative(reader: Translator, node: Call) -> Term:
    """``orValue`` and ``or``, which look at their argument only where the optional is empty.

    Of what is no optional they give the value itself.
    """
    assert node.target is not None
    z3, other = reader.z3, reader.read(node.arguments[0])

    def made(value: Any) -> Term:
        if not isinstance(value, Maybe):
            return _sure(reader, value)
        chosen = value if node.function == "or" else value.value
        error = conjunction(z3, (negation(z3, value.present), other.error))
        return Term(either(z3, value.present, chosen, other.value), error)

    return reader.applied(node, [node.target], made)


def _made(reader: Translator, node: Call) -> Term:
    """``optional.of`` and ``optional.none``."""
    if not node.arguments:
        return _sure(reader, Maybe(reader.z3.BoolVal(False), Null()))
    return reader.applied(node, node.arguments, lambda value: _sure(reader, Maybe(reader.z3.BoolVal(True), value)))


OPTIONALS: Final[Mapping[str, Callable[[Translator, Call], Term]]] = {
    **dict.fromkeys(("_?._", "_[?_]"), _member),
    **dict.fromkeys(("hasValue", "value"), _of_optional),
    **dict.fromkeys(("orValue", "or"), _alternative),
    **dict.fromkeys(("optional.of", "optional.none"), _made),
}
"""The operators and functions of optional values."""
