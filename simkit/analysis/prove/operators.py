"""Operators and functions of expressions as formulas: comparison, arithmetic, membership, sizes, texts, optionals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, ge, gt, le, lt, mul, neg, sub
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.prove.either import either, over
from simkit.analysis.prove.formulas import (
    Formula,
    Untranslated,
    anything,
    conjunction,
    disjunction,
    negation,
    plain_text,
    z3,
)
from simkit.analysis.prove.symbols import (
    Either,
    Listed,
    Mapped,
    Maybe,
    Null,
    Opaque,
    Record,
    Scalar,
    Slot,
    Term,
    bool_term,
)
from simkit.language.cel.tree import Call, Literal, Node
from simkit.language.cel.values import INT_MAX, INT_MIN

if TYPE_CHECKING:
    from simkit.analysis.prove.translate import Translator

_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"_<_": lt, "_<=_": le, "_>_": gt, "_>=_": ge}
_COMPUTED: Final[Mapping[str, Callable[..., Any]]] = {"_+_": add, "_-_": sub, "_*_": mul, "-_": neg}
_METHODS: Final[Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "startsWith": (lambda text, start: z3.PrefixOf(start, text), lambda anything, part: (part, anything)),
    "endsWith": (lambda text, end: z3.SuffixOf(end, text), lambda anything, part: (anything, part)),
    "contains": (lambda text, part: z3.Contains(text, part), lambda anything, part: (anything, part, anything)),
}
"""Methods of texts, as a relation of two texts, and as a pattern around a constant."""
TEXT_METHODS: Final = frozenset({*_METHODS, "matches"})
"""The methods of texts that have formulas."""
_NUMBERS: Final = ("int", "double")


def _wrong() -> Term:
    """The term of operands for which there is no overload."""
    return Term(Scalar("bool", z3.BoolVal(False)), z3.BoolVal(True))


def _of_arguments(made: Callable[..., Term], *, sizes: bool = False) -> Callable[[Translator, Call], Term]:
    """What is made of the values of the arguments; of two compared ``sizes`` the constants are noted first."""

    def read(reader: Translator, node: Call) -> Term:
        if sizes:
            _note_sizes(reader, node)
        return reader.applied(node, node.arguments, lambda *values: made(reader, node, *values))

    return read


def _equal(reader: Translator, node: Call, one: Any, other: Any) -> Term:
    same = same_values(reader, one, other)
    return bool_term(negation(same) if node.function == "_!=_" else same)


def same_values(reader: Translator, one: Any, other: Any) -> Formula:
    """The formula that two values are equal; values of different types are not."""
    reader.universe.count_step()
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        if one.kind == other.kind == "string":
            return reader.same_text(one.term, other.term)
        comparable = one.kind == other.kind or {one.kind, other.kind} == set(_NUMBERS)
        return one.term == other.term if comparable else z3.BoolVal(False)
    if isinstance(one, Null) or isinstance(other, Null):
        return z3.BoolVal(isinstance(one, Null) and isinstance(other, Null))
    for value, against in ((one, other), (other, one)):
        if isinstance(value, Either):
            options = value.options
            return disjunction([conjunction((guard, same_values(reader, one, against))) for guard, one in options])
        if isinstance(value, Maybe | Opaque):
            raise Untranslated("the comparison of other than scalars, lists and maps")
    if isinstance(one, Listed) and isinstance(other, Listed):
        return _same_lists(reader, one, other)
    if isinstance(one, Mapped) and isinstance(other, Mapped):
        return _same_maps(reader, one, other)
    if one is other:
        return z3.BoolVal(True)
    if {type(one), type(other)} <= {Record, Mapped}:
        raise Untranslated("the comparison of objects")
    return z3.BoolVal(False)


def _same_lists(reader: Translator, one: Listed, other: Listed) -> Formula:
    if not one.contiguous or not other.contiguous:
        raise Untranslated("the comparison of lists that are made by filter or map")
    for side, against in ((one, other), (other, one)):
        reader.universe.bounds.need(side.origins, len(against.slots) + 1)
    if one.origins and other.origins:
        reader.universe.bounds.inexact("lists of the object are compared with each other")
    same = []
    for number in range(max(len(one.slots), len(other.slots))):
        left, right = (side.slots[number] if number < len(side.slots) else None for side in (one, other))
        if left is None or right is None:
            same.append(negation((left or right).present))  # type: ignore[union-attr]
            continue
        both = z3.Implies(left.present, same_values(reader, left.value, right.value))
        same.append(z3.And(left.present == right.present, both))
    return z3.And(same)


def _same_maps(reader: Translator, one: Mapped, other: Mapped) -> Formula:
    """The formula that two maps have the same entries; an entry in which they differ is the witness that they do."""
    same = []
    for side, against in ((one, other), (other, one)):
        reader.universe.bounds.need(side.origins, len(against.slots) + 1)
        for slot in side.slots:
            hits = [
                z3.And(each.present, reader.same_text(slot.key, each.key), same_values(reader, slot.value, each.value))
                for each in against.slots
            ]
            same.append(z3.Implies(slot.present, z3.Or(hits)))
    if one.origins and other.origins:
        reader.universe.bounds.inexact("maps of the object are compared with each other")
    return z3.And(same or [z3.BoolVal(True)])


def _ordered(reader: Translator, node: Call, one: Any, other: Any) -> Term:
    kinds = [each.kind if isinstance(each, Scalar) else "" for each in (one, other)]
    if all(kind in _NUMBERS for kind in kinds) or kinds == ["string", "string"]:
        return bool_term(_COMPARED[node.function](one.term, other.term))
    if kinds == ["bool", "bool"]:
        raise Untranslated("the order of bools")
    return _wrong()


def _note_sizes(reader: Translator, node: Call) -> None:
    """Note the constants with which sizes are compared."""
    for size, other in (node.arguments, reversed(node.arguments)):
        if isinstance(size, Call) and size.function == "size":
            value = other.value if isinstance(other, Literal) else _constant(reader, other)
            if isinstance(value, int):
                reader.limits[id(size)] = value


def _constant(reader: Translator, node: Node) -> int | None:
    """The integer that a part always is; None for other parts."""
    value = reader.read(node).value
    known = isinstance(value, Scalar) and z3.is_int_value(value.term)
    return int(value.term.as_long()) if known else None


def _calculated(reader: Translator, node: Call, *values: Any) -> Term:
    if node.function == "_+_" and all(isinstance(value, Listed) for value in values):
        slots = tuple(slot for value in values for slot in value.slots)
        origins = frozenset[str]().union(*(value.origins for value in values))
        return Term(Listed(slots, origins, contiguous=False))
    kinds = {value.kind if isinstance(value, Scalar) else "" for value in values}
    if node.function == "_+_" and kinds == {"string"}:
        return Term(Scalar("string", z3.simplify(z3.Concat(values[0].term, values[1].term))))
    if "double" in kinds or any(isinstance(value, Opaque) for value in values):
        raise Untranslated(f"the operator {node.function.strip('_')} on other than integers, texts and lists")
    if kinds != {"int"}:
        return _wrong()
    found = _COMPUTED[node.function](*(value.term for value in values))
    return Term(Scalar("int", found), z3.Or(found < INT_MIN, found > INT_MAX))


def _contained(reader: Translator, node: Call, wanted: Any, where: Any) -> Term:
    if isinstance(where, Mapped):
        if not isinstance(wanted, Scalar) or wanted.kind != "string":
            return bool_term(z3.BoolVal(False))
        return bool_term(reader.looked_up(where, wanted.term, node.arguments[0])[0])
    if isinstance(where, Record):
        if isinstance(node.arguments[0], Literal) and isinstance(node.arguments[0].value, str):
            return bool_term(reader.member(where, node.arguments[0].value)[0])
        raise Untranslated("a key of an object that is no constant")
    if not isinstance(where, Listed):
        return _wrong()
    reader.note_dependence(where)
    reader.universe.bounds.need(where.origins)
    hits = [conjunction((slot.present, same_values(reader, wanted, slot.value))) for slot in where.slots]
    return bool_term(disjunction(hits))


def indexed(reader: Translator, node: Call, where: Any, index: Any) -> Term:
    """The element of a list or a map at an index."""
    if isinstance(where, Mapped | Record) and isinstance(node.arguments[1], Literal):
        name = node.arguments[1].value
        if isinstance(name, str):
            present, value = reader.member(where, name)
            return Term(value, negation(present))
    if isinstance(where, Mapped) and isinstance(index, Scalar) and index.kind == "string":
        present, value = reader.looked_up(where, index.term, node.arguments[1])
        return Term(value, negation(present))
    if isinstance(where, Scalar | Null):
        return Term(Null(), z3.BoolVal(True))
    if not isinstance(where, Listed) or not isinstance(index, Scalar) or not z3.is_int_value(index.term):
        raise Untranslated("an index that is no constant")
    position = index.term.as_long()
    reader.universe.bounds.need(where.origins, max(0, position) + 1)
    return _numbered(reader, where, position)


def _numbered(reader: Translator, where: Listed, position: int) -> Term:
    """The element at a position, of those slots that hold any."""
    if where.contiguous:
        inside = 0 <= position < len(where.slots)
        slot = where.slots[position] if inside else Slot(z3.BoolVal(False), Null())
        return Term(slot.value, negation(slot.present))
    found, hits = None, []
    for number in reversed(range(len(where.slots))):
        slot = where.slots[number]
        hits.append(z3.And(slot.present, count(where.slots[:number]) == position))
        found = slot.value if found is None else either(hits[-1], slot.value, found)
    return Term(found or Null(), negation(z3.Or(hits or [z3.BoolVal(False)])))


def _size(reader: Translator, node: Call) -> Term:
    def made(value: Any) -> Term:
        if isinstance(value, Listed | Mapped):
            _bound_size(reader, node, value)
            return Term(Scalar("int", count(value.slots)))
        if isinstance(value, Scalar) and value.kind == "string":
            return Term(Scalar("int", z3.Length(value.term)))
        if isinstance(value, Record):
            raise Untranslated("the size of an object")
        return Term(Scalar("int", z3.IntVal(0)), z3.BoolVal(True))

    return reader.applied(node, [node.target if node.target is not None else node.arguments[0]], made)


def _bound_size(reader: Translator, node: Call, value: Listed | Mapped) -> None:
    """Count what a size needs that is compared with a constant; other uses of sizes have no bound."""
    if id(node) in reader.limits:
        reader.universe.bounds.need(value.origins, max(0, reader.limits[id(node)]) + 1)
    elif value.origins:
        reader.universe.bounds.inexact("a size is used other than in a comparison with a constant")


def count(slots: Sequence[Slot]) -> Formula:
    """The number of slots that hold something."""
    return z3.Sum([z3.IntVal(0), *(z3.If(slot.present, z3.IntVal(1), z3.IntVal(0)) for slot in slots)])


def of_texts(reader: Translator, node: Call) -> Term:
    """A method of a text whose arguments are texts."""
    assert node.target is not None
    return reader.applied(node, [node.target, *node.arguments], lambda *values: _of_texts(reader, node, *values))


def _of_texts(reader: Translator, node: Call, value: Any, argument: Any) -> Term:
    if any(not isinstance(each, Scalar) or each.kind != "string" for each in (value, argument)):
        return _wrong()
    text, other = value.term, argument.term
    if not z3.is_string_value(other):
        if node.function == "matches":
            raise Untranslated("matches() with a pattern that is not a constant")
        return bool_term(_METHODS[node.function][0](text, other))
    if node.function == "matches":
        return bool_term(reader.universe.is_like(text, plain_text(other)))
    pattern = z3.Concat(*_METHODS[node.function][1](anything(), z3.Re(other)))
    key = f"{node.function} {plain_text(other)!r}"
    return bool_term(reader.universe.texts.test(text, key, pattern))


def _converted(reader: Translator, node: Call, value: Any) -> Term:
    """A conversion, which changes nothing about a value that has the type already."""
    if node.function == "dyn" or (isinstance(value, Scalar) and value.kind == node.function):
        return Term(value)
    raise Untranslated(f"{node.function}()")


OPERATORS: Final[Mapping[str, Callable[[Translator, Call], Term]]] = {
    **dict.fromkeys(("_==_", "_!=_"), _of_arguments(_equal, sizes=True)),
    **dict.fromkeys(_COMPARED, _of_arguments(_ordered, sizes=True)),
    **dict.fromkeys(_COMPUTED, _of_arguments(_calculated)),
    "@in": _of_arguments(_contained),
    "_[_]": _of_arguments(indexed),
    "size": _size,
    **dict.fromkeys(("dyn", "string", "int", "double", "bool"), _of_arguments(_converted)),
}
"""The operators and functions that take their arguments as values."""


METHODS: Final = ("hasValue", "value", "orValue", "or")
"""The methods of optional values."""


def inside_optional(reader: Translator, value: Any, name: str) -> Term:
    """The optional member of a value, or of the value in an optional."""
    if isinstance(value, Maybe):
        inner = over([Term(value.value)], lambda each: inside_optional(reader, each, name))
        nothing = Maybe(z3.BoolVal(False), Null())
        return Term(either(value.present, inner.value, nothing))
    return Term(Maybe(*reader.member(value, name)))


def _member(reader: Translator, node: Call) -> Term:
    """``x.?name`` and ``x[?key]``."""
    name = node.arguments[1].value if isinstance(node.arguments[1], Literal) else None
    if isinstance(name, str):
        return reader.applied(node, node.arguments[:1], lambda value: inside_optional(reader, value, name))

    def made(value: Any, key: Any) -> Term:
        inner = value.value if isinstance(value, Maybe) else value
        found = over([Term(inner)], lambda each: indexed(reader, node, each, key))
        there = value.present if isinstance(value, Maybe) else z3.BoolVal(True)
        present = conjunction((there, negation(found.error)))
        return Term(Maybe(present, found.value))

    return reader.applied(node, node.arguments, made)


def _of_optional(reader: Translator, node: Call) -> Term:
    """``hasValue`` and ``value`` of an optional."""
    assert node.target is not None

    def made(value: Any) -> Term:
        if not isinstance(value, Maybe):
            return Term(Null(), z3.BoolVal(True))
        if node.function == "hasValue":
            return Term(Scalar("bool", value.present))
        return Term(value.value, negation(value.present))

    return reader.applied(node, [node.target], made)


def _alternative(reader: Translator, node: Call) -> Term:
    """``orValue`` and ``or``, which look at their argument only where the optional is empty.

    Of what is no optional they give the value itself.
    """
    assert node.target is not None
    other = reader.read(node.arguments[0])

    def made(value: Any) -> Term:
        if not isinstance(value, Maybe):
            return Term(value)
        chosen = value if node.function == "or" else value.value
        error = conjunction((negation(value.present), other.error))
        return Term(either(value.present, chosen, other.value), error)

    return reader.applied(node, [node.target], made)


def _made(reader: Translator, node: Call) -> Term:
    """``optional.of`` and ``optional.none``."""
    if not node.arguments:
        return Term(Maybe(z3.BoolVal(False), Null()))
    return reader.applied(node, node.arguments, lambda value: Term(Maybe(z3.BoolVal(True), value)))


OPTIONALS: Final[Mapping[str, Callable[[Translator, Call], Term]]] = {
    **dict.fromkeys(("_?._", "_[?_]"), _member),
    **dict.fromkeys(("hasValue", "value"), _of_optional),
    **dict.fromkeys(("orValue", "or"), _alternative),
    **dict.fromkeys(("optional.of", "optional.none"), _made),
}
"""The operators and functions of optional values."""
