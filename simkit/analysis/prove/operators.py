"""Operators and functions of expressions as formulas: comparison, arithmetic, membership, sizes, and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from simkit.analysis.prove.string_patterns import anything, choices, pattern_of
from simkit.analysis.prove.symbols import (
    Formula,
    Listed,
    Mapped,
    Null,
    Record,
    Scalar,
    Slot,
    Universe,
    Untranslated,
)
from simkit.analysis.prove.texts import plain_text
from simkit.language.cel.tree import Call, Literal, Node
from simkit.language.cel.values import INT_MAX, INT_MIN

_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "_<_": lambda one, other: one < other,
    "_<=_": lambda one, other: one <= other,
    "_>_": lambda one, other: one > other,
    "_>=_": lambda one, other: one >= other,
}
_COMPUTED: Final[Mapping[str, Callable[..., Any]]] = {
    "_+_": lambda one, other: one + other,
    "_-_": lambda one, other: one - other,
    "_*_": lambda one, other: one * other,
    "-_": lambda one: -one,
}
_METHODS: Final[Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "startsWith": (lambda z3, text, start: z3.PrefixOf(start, text), lambda anything, part: (part, anything)),
    "endsWith": (lambda z3, text, end: z3.SuffixOf(end, text), lambda anything, part: (anything, part)),
    "contains": (lambda z3, text, part: z3.Contains(text, part), lambda anything, part: (anything, part, anything)),
}
"""Methods of texts, as a relation of two texts, and as a pattern around a constant."""
TEXT_METHODS: Final = frozenset({*_METHODS, "matches"})
"""The methods of texts that have formulas."""
_NUMBERS: Final = ("int", "double")


@dataclass(frozen=True)
class Term:
    """The value of a part of an expression, and the formula of its error."""

    value: Any
    error: Formula


class Reader(Protocol):
    """The translator, as far as operators need it."""

    z3: Any
    universe: Universe
    limits: dict[int, int]
    """The constants with which sizes are compared."""

    def read(self, node: Node) -> Term:
        """The term of a part whose value is looked at."""
        ...

    def member(self, value: Any, name: str) -> tuple[Formula, Any]:
        """Whether a value has a member, and the member."""
        ...

    def looked_up(self, value: Mapped, key: Formula, node: Node | None = None) -> tuple[Formula, Any]:
        """Whether a map has a key, and the value under it."""
        ...

    def note_dependence(self, source: Listed | Mapped) -> None:
        """Note a quantifier over a list that does not belong to the element of the enclosing one."""
        ...


def _bool(formula: Formula, error: Formula) -> Term:
    return Term(Scalar("bool", formula), error)


def _equal(reader: Reader, node: Call) -> Term:
    return _compared_equal(reader, node, negated=False)


def _unequal(reader: Reader, node: Call) -> Term:
    return _compared_equal(reader, node, negated=True)


def _compared_equal(reader: Reader, node: Call, *, negated: bool) -> Term:
    _note_sizes(reader, node)
    one, other = (reader.read(each) for each in node.arguments)
    same = _same(reader, one.value, other.value)
    return _bool(reader.z3.Not(same) if negated else same, reader.z3.Or(one.error, other.error))


def _same(reader: Reader, one: Any, other: Any) -> Formula:
    """The formula that two values are equal; values of different types are not."""
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        if one.kind == other.kind == "string":
            return _same_texts(reader, one.term, other.term)
        comparable = one.kind == other.kind or {one.kind, other.kind} == set(_NUMBERS)
        return one.term == other.term if comparable else reader.z3.BoolVal(False)
    if isinstance(one, Null) or isinstance(other, Null):
        return reader.z3.BoolVal(isinstance(one, Null) and isinstance(other, Null))
    if isinstance(one, Listed) and isinstance(other, Listed):
        return _same_lists(reader, one, other)
    if type(one) is not type(other):
        return reader.z3.BoolVal(False)
    raise Untranslated("the comparison of objects or maps")


def _same_texts(reader: Reader, one: Formula, other: Formula) -> Formula:
    for text, constant in ((one, other), (other, one)):
        if reader.z3.is_string_value(constant):
            return reader.universe.is_text(text, plain_text(constant))
    return one == other


def _same_lists(reader: Reader, one: Listed, other: Listed) -> Formula:
    if not one.contiguous or not other.contiguous:
        raise Untranslated("the comparison of lists that are made by filter or map")
    for side, against in ((one, other), (other, one)):
        reader.universe.bounds.need(side.origins, len(against.slots) + 1)
    if one.origins and other.origins:
        reader.universe.bounds.inexact("lists of the object are compared with each other")
    z3, same = reader.z3, []
    for number in range(max(len(one.slots), len(other.slots))):
        left, right = (side.slots[number] if number < len(side.slots) else None for side in (one, other))
        if left is None or right is None:
            same.append(z3.Not((left or right).present))  # type: ignore[union-attr]
            continue
        both = z3.Implies(left.present, _same(reader, left.value, right.value))
        same.append(z3.And(left.present == right.present, both))
    return z3.And(same)


def _ordered(reader: Reader, node: Call) -> Term:
    _note_sizes(reader, node)
    one, other = (reader.read(each) for each in node.arguments)
    error = reader.z3.Or(one.error, other.error)
    kinds = [each.value.kind if isinstance(each.value, Scalar) else "" for each in (one, other)]
    if all(kind in _NUMBERS for kind in kinds) or kinds == ["string", "string"]:
        return _bool(_COMPARED[node.function](one.value.term, other.value.term), error)
    if kinds == ["bool", "bool"]:
        raise Untranslated("the order of bools")
    return _bool(reader.z3.BoolVal(False), reader.z3.BoolVal(True))


def _note_sizes(reader: Reader, node: Call) -> None:
    """Note the constants with which sizes are compared."""
    for size, other in (node.arguments, reversed(node.arguments)):
        constant = other.value if isinstance(other, Literal) else None
        if isinstance(size, Call) and size.function == "size" and isinstance(constant, int):
            reader.limits[id(size)] = constant


def _arithmetic(reader: Reader, node: Call) -> Term:
    terms = [reader.read(each) for each in node.arguments]
    values, error = [each.value for each in terms], reader.z3.Or([each.error for each in terms])
    if node.function == "_+_" and all(isinstance(value, Listed) for value in values):
        slots = tuple(slot for value in values for slot in value.slots)
        origins = frozenset[str]().union(*(value.origins for value in values))
        return Term(Listed(slots, origins, contiguous=False), error)
    kinds = {value.kind if isinstance(value, Scalar) else "" for value in values}
    if node.function == "_+_" and kinds == {"string"}:
        return Term(Scalar("string", reader.z3.Concat(values[0].term, values[1].term)), error)
    if kinds != {"int"}:
        raise Untranslated(f"the operator {node.function.strip('_')} on other than integers, texts and lists")
    found = _COMPUTED[node.function](*(value.term for value in values))
    overflow = reader.z3.Or(found < INT_MIN, found > INT_MAX)
    return Term(Scalar("int", found), reader.z3.Or(error, overflow))


def _within(reader: Reader, node: Call) -> Term:
    wanted, where = (reader.read(each) for each in node.arguments)
    z3, error = reader.z3, reader.z3.Or(wanted.error, where.error)
    if isinstance(where.value, Mapped):
        if not isinstance(wanted.value, Scalar) or wanted.value.kind != "string":
            return _bool(reader.z3.BoolVal(False), error)
        return _bool(reader.looked_up(where.value, wanted.value.term, node.arguments[0])[0], error)
    if isinstance(where.value, Record):
        if isinstance(node.arguments[0], Literal) and isinstance(node.arguments[0].value, str):
            return _bool(reader.member(where.value, node.arguments[0].value)[0], error)
        raise Untranslated("a key of an object that is no constant")
    if not isinstance(where.value, Listed):
        return _bool(reader.z3.BoolVal(False), reader.z3.BoolVal(True))
    reader.note_dependence(where.value)
    reader.universe.bounds.need(where.value.origins)
    hits = [z3.And(slot.present, _same(reader, wanted.value, slot.value)) for slot in where.value.slots]
    return _bool(z3.Or(hits), error)


def _index(reader: Reader, node: Call) -> Term:
    where, index = (reader.read(each) for each in node.arguments)
    error = reader.z3.Or(where.error, index.error)
    if isinstance(where.value, Mapped | Record) and isinstance(node.arguments[1], Literal):
        name = node.arguments[1].value
        if isinstance(name, str):
            present, value = reader.member(where.value, name)
            return Term(value, reader.z3.Or(error, reader.z3.Not(present)))
    if isinstance(where.value, Mapped) and isinstance(index.value, Scalar) and index.value.kind == "string":
        present, value = reader.looked_up(where.value, index.value.term, node.arguments[1])
        return Term(value, reader.z3.Or(error, reader.z3.Not(present)))
    position = node.arguments[1].value if isinstance(node.arguments[1], Literal) else None
    if not isinstance(where.value, Listed) or not where.value.contiguous or not isinstance(position, int):
        raise Untranslated("an index that is no constant")
    reader.universe.bounds.need(where.value.origins, position + 1)
    if position >= len(where.value.slots) or position < 0:
        return Term(Null(), reader.z3.BoolVal(True))
    slot = where.value.slots[position]
    return Term(slot.value, reader.z3.Or(error, reader.z3.Not(slot.present)))


def _size(reader: Reader, node: Call) -> Term:
    term = reader.read(node.target if node.target is not None else node.arguments[0])
    z3, value = reader.z3, term.value
    if isinstance(value, Listed | Mapped):
        _bound_size(reader, node, value)
        return Term(Scalar("int", count(reader.z3, value.slots)), term.error)
    if isinstance(value, Scalar) and value.kind == "string":
        return Term(Scalar("int", z3.Length(value.term)), term.error)
    raise Untranslated("the size of an object")


def _bound_size(reader: Reader, node: Call, value: Listed | Mapped) -> None:
    """Count what a size needs that is compared with a constant; other uses of sizes have no bound."""
    if id(node) in reader.limits:
        reader.universe.bounds.need(value.origins, max(0, reader.limits[id(node)]) + 1)
    elif value.origins:
        reader.universe.bounds.inexact("a size is used other than in a comparison with a constant")


def count(z3: Any, slots: Sequence[Slot]) -> Formula:
    """The number of slots that hold something."""
    return z3.Sum([z3.IntVal(0), *(z3.If(slot.present, z3.IntVal(1), z3.IntVal(0)) for slot in slots)])


def of_texts(reader: Reader, node: Call) -> Term:
    """A method of a text whose arguments are texts."""
    assert node.target is not None
    terms = [reader.read(each) for each in (node.target, *node.arguments)]
    error = reader.z3.Or([each.error for each in terms])
    if any(not isinstance(each.value, Scalar) or each.value.kind != "string" for each in terms):
        return _bool(reader.z3.BoolVal(False), reader.z3.BoolVal(True))
    text, other = (each.value.term for each in terms)
    if node.function == "matches":
        return _bool(_matched(reader, text, node.arguments[0]), error)
    related, parts = _METHODS[node.function]
    if not reader.z3.is_string_value(other):
        return _bool(related(reader.z3, text, other), error)
    pattern = reader.z3.Concat(*parts(anything(reader.z3), reader.z3.Re(other)))
    key = f"{node.function} {plain_text(other)!r}"
    return _bool(reader.universe.texts.test(text, key, pattern), error)


def _matched(reader: Reader, text: Formula, pattern: Node) -> Formula:
    """The formula that a part of a text matches a pattern."""
    if not isinstance(pattern, Literal):
        raise Untranslated("a pattern that is no constant")
    known = [pattern_of(reader.z3, each, reader.universe.constant) for each in choices(pattern.value)]
    key = f"matches {pattern.value!r}"
    return reader.universe.texts.test(text, key, reader.z3.Union(*known) if len(known) > 1 else known[0])


OPERATORS: Final[Mapping[str, Callable[[Reader, Call], Term]]] = {
    "_==_": _equal,
    "_!=_": _unequal,
    **dict.fromkeys(_COMPARED, _ordered),
    **dict.fromkeys(("_+_", "_-_", "_*_", "-_"), _arithmetic),
    "@in": _within,
    "_[_]": _index,
    "size": _size,
}
"""The operators and functions that take their arguments as values."""
