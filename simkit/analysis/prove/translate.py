"""Expressions as formulas: for every part its value, and the condition under which evaluating it is an error.

The meaning is that of ``simkit.language.cel``: ``&&`` and ``||`` take an error only if no other side decides, and so
do ``all`` and ``exists``. What has no formula raises Untranslated, which names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from simkit.analysis.prove.string_patterns import anything, choices, pattern_of
from simkit.analysis.prove.symbols import (
    Formula,
    Listed,
    Mapped,
    Null,
    Opaque,
    Record,
    Scalar,
    Slot,
    Universe,
    Untranslated,
)
from simkit.analysis.prove.texts import plain_text
from simkit.language.cel.names import Local
from simkit.language.cel.tree import Bind, Call, Comprehension, Ident, ListNode, Literal, Node, Select
from simkit.language.cel.values import INT_MAX, INT_MIN, UInt

_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "_<_": lambda one, other: one < other,
    "_<=_": lambda one, other: one <= other,
    "_>_": lambda one, other: one > other,
    "_>=_": lambda one, other: one >= other,
}
_NUMBERS: Final = ("int", "double")


Facts = frozenset[str]
"""What of a condition must stay as it is when elements are left out: that it is true, false, not true, not false."""
EVERYTHING: Final[Facts] = frozenset({"true", "false", "not true", "not false"})
_NEGATED: Final = {"true": "false", "false": "true", "not true": "not false", "not false": "not true"}
_OF_ONE_ELEMENT: Final[Mapping[str, Facts]] = {
    "all": frozenset({"false", "not true"}),
    "exists": frozenset({"true", "not false"}),
}
"""The facts that one element is the witness of; the others hold of every element, and so of fewer elements, too."""


@dataclass(frozen=True)
class Term:
    """The value of a part of an expression, and the formula of its error."""

    value: Any
    error: Formula


class Translator:
    """Formulas of expressions over the unknown values of some variables.

    Parameters
    ----------
    universe
        The variables of the solver.
    variables
        The values of ``object``, ``self`` and others by name; functions are called when a name is used.
    """

    def __init__(self, universe: Universe, variables: Mapping[str, Callable[[], Term]]) -> None:
        self._universe, self._variables, self.z3 = universe, variables, universe.z3
        self._locals: dict[int, Term] = {}
        self._inside: list[frozenset[str]] = []
        """The origins of the lists of enclosing quantifiers."""
        self._visiting: dict[int, Mapped] = {}
        """The maps whose keys the variables of enclosing quantifiers are."""
        self._limits: dict[int, int] = {}
        """The constants with which sizes are compared."""
        self._kept = EVERYTHING
        """What of the present part must stay as it is when elements are left out."""

    def condition(self, node: Node, kept: Facts) -> tuple[Formula, Formula]:
        """The formulas of a condition, of which these facts count alone."""
        with self._keeping(kept):
            return self.truth(node)

    @contextmanager
    def _keeping(self, kept: Facts) -> Iterator[None]:
        before, self._kept = self._kept, kept
        yield
        self._kept = before

    def truth(self, node: Node) -> tuple[Formula, Formula]:
        """The formulas of a condition: that it is true, and that it is an error."""
        term = self._read(node)
        if not isinstance(term.value, Scalar) or term.value.kind != "bool":
            return self._false, self._true  # no such overload
        return term.value.term, term.error

    @property
    def _true(self) -> Formula:
        return self.z3.BoolVal(True)

    @property
    def _false(self) -> Formula:
        return self.z3.BoolVal(False)

    def _sure(self, value: Any) -> Term:
        return Term(value, self._false)

    def _bool(self, formula: Formula, error: Formula) -> Term:
        return Term(Scalar("bool", formula), error)

    def term(self, node: Node) -> Term:
        """The value of a part, and the formula of its error."""
        if self._kept is not EVERYTHING and not _passes_on(node):
            with self._keeping(EVERYTHING):
                return self.term(node)
        made: Callable[[Translator, Any], Term] | None = _FORMULAS.get(type(node))
        if made is None:
            raise Untranslated(f"a literal of a map or message at offset {node.position}")
        return made(self, node)

    def _read(self, node: Node) -> Term:
        """The term of a part whose value is looked at."""
        term = self.term(node)
        if isinstance(term.value, Opaque):
            raise Untranslated(term.value.what)
        return term

    def _literal(self, node: Literal) -> Term:
        value = node.value
        if value is None:
            return self._sure(Null())
        if isinstance(value, bool):
            return self._sure(Scalar("bool", self.z3.BoolVal(value)))
        if isinstance(value, str):
            return self._sure(Scalar("string", self._universe.constant(value)))
        if isinstance(value, int) and not isinstance(value, UInt):
            return self._sure(Scalar("int", self.z3.IntVal(value)))
        if isinstance(value, float) and value == value and abs(value) != float("inf"):
            return self._sure(Scalar("double", self.z3.RealVal(repr(value))))
        raise Untranslated(f"the literal {value!r}")

    def _ident(self, node: Ident) -> Term:
        if isinstance(node.reference, Local):
            return self._locals[id(node.reference)]
        return self._variable(node.name.lstrip("."))

    def _variable(self, name: str) -> Term:
        known = self._variables.get(name)
        if known is None:
            raise Untranslated(f"the variable {name}")
        return known()

    def _select(self, node: Select) -> Term:
        if isinstance(node.operand, Ident) and node.operand.name == "variables" and not node.test:
            return self._variable(f"variables.{node.field}")
        if isinstance(node.operand, Ident) and node.operand.name == "request":
            return self._variable(f"request.{node.field}")
        operand = self._read(node.operand)
        present, value = self._member(operand.value, node.field)
        if node.test:
            return self._bool(present, operand.error)
        return Term(value, self.z3.Or(operand.error, self.z3.Not(present)))

    def _member(self, value: Any, name: str) -> tuple[Formula, Any]:
        """Whether a value has a member, and the member."""
        if isinstance(value, Record):
            return value.named(name)
        if isinstance(value, Mapped):
            return self._looked_up(value, self._universe.constant(name))
        return self._false, Null()

    def _looked_up(self, value: Mapped, key: Formula, node: Node | None = None) -> tuple[Formula, Any]:
        """Whether a map has a key, and the value under it; ``node`` is the key where it is no constant."""
        if isinstance(node, Ident) and self._visiting.get(id(node.reference)) is value:
            return next((slot.present, slot.value) for slot in value.slots if slot.key is key)
        self._universe.bounds.need(value.origins)
        if self._inside and node is not None and not isinstance(node, Literal):
            self._universe.bounds.inexact("a key depends on the elements of a list")
        z3 = self.z3
        hits = [(z3.And(slot.present, slot.key == key), slot.value) for slot in value.slots]
        found = hits[-1][1]
        for hit, item in reversed(hits[:-1]):
            found = self._either(hit, item, found)
        return z3.Or([hit for hit, _ in hits]), found

    def _either(self, condition: Formula, chosen: Any, other: Any) -> Any:
        """The one value where the condition holds, and the other one elsewhere."""
        if chosen is other or self.z3.is_true(condition):
            return chosen
        if isinstance(chosen, Scalar) and isinstance(other, Scalar) and chosen.kind == other.kind:
            return Scalar(chosen.kind, self.z3.If(condition, chosen.term, other.term))
        if isinstance(chosen, Listed) and isinstance(other, Listed):
            z3 = self.z3
            slots = (
                *(Slot(z3.And(condition, slot.present), slot.value) for slot in chosen.slots),
                *(Slot(z3.And(z3.Not(condition), slot.present), slot.value) for slot in other.slots),
            )
            return Listed(slots, chosen.origins | other.origins, contiguous=False)
        return Opaque("a value that may be one of several objects")

    def _call(self, node: Call) -> Term:
        made: Callable[[Translator, Call], Term] | None = _OPERATORS.get(node.function)
        if made is not None and (node.target is None or node.function in ("size",)):
            return made(self, node)
        if node.target is not None and node.function in (*_METHODS, "matches"):
            return self._of_texts(node)
        raise Untranslated(f"the function {node.function}")

    def _and(self, node: Call) -> Term:
        return self._decided(node, stop=False)

    def _or(self, node: Call) -> Term:
        return self._decided(node, stop=True)

    def _decided(self, node: Call, *, stop: bool) -> Term:
        """``&&`` and ``||``: a side that decides makes errors of the other one irrelevant."""
        z3 = self.z3
        sides = [self.truth(each) for each in node.arguments]
        return self._absorbed([(z3.BoolVal(True), value, error) for value, error in sides], stop=stop)

    def _absorbed(self, sides: Sequence[tuple[Formula, Formula, Formula]], *, stop: bool) -> Term:
        """The conjunction (stop=False) or disjunction of those sides that count; each is: counts, value, error."""
        z3 = self.z3
        decides = [z3.And(counts, z3.Not(error), value if stop else z3.Not(value)) for counts, value, error in sides]
        decided = z3.Or(decides)
        error = z3.And(z3.Not(decided), z3.Or([z3.And(counts, error) for counts, _, error in sides]))
        return self._bool(decided if stop else z3.Not(decided), error)

    def _not(self, node: Call) -> Term:
        value, error = self.condition(node.arguments[0], frozenset(_NEGATED[fact] for fact in self._kept))
        return self._bool(self.z3.Not(value), error)

    def _conditional(self, node: Call) -> Term:
        z3 = self.z3
        condition, failed = self.condition(node.arguments[0], EVERYTHING)
        chosen, other = self.term(node.arguments[1]), self.term(node.arguments[2])
        error = z3.Or(failed, z3.If(condition, chosen.error, other.error))
        return Term(self._either(condition, chosen.value, other.value), error)

    def _equal(self, node: Call) -> Term:
        return self._compared_equal(node, negated=False)

    def _unequal(self, node: Call) -> Term:
        return self._compared_equal(node, negated=True)

    def _compared_equal(self, node: Call, *, negated: bool) -> Term:
        self._note_sizes(node)
        one, other = (self._read(each) for each in node.arguments)
        same = self._same(one.value, other.value)
        return self._bool(self.z3.Not(same) if negated else same, self.z3.Or(one.error, other.error))

    def _same(self, one: Any, other: Any) -> Formula:
        """The formula that two values are equal; values of different types are not."""
        if isinstance(one, Scalar) and isinstance(other, Scalar):
            if one.kind == other.kind == "string":
                return self._same_texts(one.term, other.term)
            comparable = one.kind == other.kind or {one.kind, other.kind} == set(_NUMBERS)
            return one.term == other.term if comparable else self._false
        if isinstance(one, Null) or isinstance(other, Null):
            return self.z3.BoolVal(isinstance(one, Null) and isinstance(other, Null))
        if isinstance(one, Listed) and isinstance(other, Listed):
            return self._same_lists(one, other)
        if type(one) is not type(other):
            return self._false
        raise Untranslated("the comparison of objects or maps")

    def _same_texts(self, one: Formula, other: Formula) -> Formula:
        for text, constant in ((one, other), (other, one)):
            if self.z3.is_string_value(constant):
                return self._universe.is_text(text, plain_text(constant))
        return one == other

    def _same_lists(self, one: Listed, other: Listed) -> Formula:
        if not one.contiguous or not other.contiguous:
            raise Untranslated("the comparison of lists that are made by filter or map")
        for side, against in ((one, other), (other, one)):
            self._universe.bounds.need(side.origins, len(against.slots) + 1)
        if one.origins and other.origins:
            self._universe.bounds.inexact("lists of the object are compared with each other")
        z3, same = self.z3, []
        for number in range(max(len(one.slots), len(other.slots))):
            left, right = (side.slots[number] if number < len(side.slots) else None for side in (one, other))
            if left is None or right is None:
                same.append(z3.Not((left or right).present))  # type: ignore[union-attr]
                continue
            both = z3.Implies(left.present, self._same(left.value, right.value))
            same.append(z3.And(left.present == right.present, both))
        return z3.And(same)

    def _ordered(self, node: Call) -> Term:
        self._note_sizes(node)
        one, other = (self._read(each) for each in node.arguments)
        error = self.z3.Or(one.error, other.error)
        kinds = [each.value.kind if isinstance(each.value, Scalar) else "" for each in (one, other)]
        if all(kind in _NUMBERS for kind in kinds) or kinds == ["string", "string"]:
            return self._bool(_COMPARED[node.function](one.value.term, other.value.term), error)
        return self._bool(self._false, self._true)

    def _note_sizes(self, node: Call) -> None:
        """Note the constants with which sizes are compared."""
        for size, other in (node.arguments, reversed(node.arguments)):
            if isinstance(size, Call) and size.function == "size" and isinstance(other, Literal):
                self._limits[id(size)] = other.value if isinstance(other.value, int) else 0

    def _arithmetic(self, node: Call) -> Term:
        terms = [self._read(each) for each in node.arguments]
        values, error = [each.value for each in terms], self.z3.Or([each.error for each in terms])
        if node.function == "_+_" and all(isinstance(value, Listed) for value in values):
            slots = tuple(slot for value in values for slot in value.slots)
            origins = frozenset[str]().union(*(value.origins for value in values))
            return Term(Listed(slots, origins, contiguous=False), error)
        kinds = {value.kind if isinstance(value, Scalar) else "" for value in values}
        if node.function == "_+_" and kinds == {"string"}:
            return Term(Scalar("string", self.z3.Concat(values[0].term, values[1].term)), error)
        if kinds != {"int"}:
            raise Untranslated(f"the operator {node.function.strip('_')} on other than integers, texts and lists")
        found = _COMPUTED[node.function](*(value.term for value in values))
        overflow = self.z3.Or(found < INT_MIN, found > INT_MAX)
        return Term(Scalar("int", found), self.z3.Or(error, overflow))

    def _within(self, node: Call) -> Term:
        wanted, where = (self._read(each) for each in node.arguments)
        z3, error = self.z3, self.z3.Or(wanted.error, where.error)
        if isinstance(where.value, Mapped):
            if not isinstance(wanted.value, Scalar) or wanted.value.kind != "string":
                return self._bool(self._false, error)
            return self._bool(self._looked_up(where.value, wanted.value.term, node.arguments[0])[0], error)
        if not isinstance(where.value, Listed):
            return self._bool(self._false, self._true)
        self._note_dependence(where.value)
        self._universe.bounds.need(where.value.origins)
        hits = [z3.And(slot.present, self._same(wanted.value, slot.value)) for slot in where.value.slots]
        return self._bool(z3.Or(hits), error)

    def _index(self, node: Call) -> Term:
        where, index = (self._read(each) for each in node.arguments)
        error = self.z3.Or(where.error, index.error)
        if isinstance(where.value, Mapped | Record) and isinstance(node.arguments[1], Literal):
            name = node.arguments[1].value
            if isinstance(name, str):
                present, value = self._member(where.value, name)
                return Term(value, self.z3.Or(error, self.z3.Not(present)))
        if isinstance(where.value, Mapped) and isinstance(index.value, Scalar) and index.value.kind == "string":
            present, value = self._looked_up(where.value, index.value.term, node.arguments[1])
            return Term(value, self.z3.Or(error, self.z3.Not(present)))
        position = node.arguments[1].value if isinstance(node.arguments[1], Literal) else None
        if not isinstance(where.value, Listed) or not where.value.contiguous or not isinstance(position, int):
            raise Untranslated("an index that is no constant")
        self._universe.bounds.need(where.value.origins, position + 1)
        if position >= len(where.value.slots) or position < 0:
            return Term(Null(), self._true)
        slot = where.value.slots[position]
        return Term(slot.value, self.z3.Or(error, self.z3.Not(slot.present)))

    def _size(self, node: Call) -> Term:
        term = self._read(node.target if node.target is not None else node.arguments[0])
        z3, value = self.z3, term.value
        if isinstance(value, Listed | Mapped):
            self._bound_size(node, value)
            return Term(Scalar("int", self._count(value.slots)), term.error)
        if isinstance(value, Scalar) and value.kind == "string":
            return Term(Scalar("int", z3.Length(value.term)), term.error)
        raise Untranslated("the size of an object")

    def _bound_size(self, node: Call, value: Listed | Mapped) -> None:
        """Count what a size needs that is compared with a constant; other uses of sizes have no bound."""
        if id(node) in self._limits:
            self._universe.bounds.need(value.origins, max(0, self._limits[id(node)]) + 1)
        elif value.origins:
            self._universe.bounds.inexact("a size is used other than in a comparison with a constant")

    def _count(self, slots: Sequence[Slot]) -> Formula:
        z3 = self.z3
        return z3.Sum([z3.IntVal(0), *(z3.If(slot.present, z3.IntVal(1), z3.IntVal(0)) for slot in slots)])

    def _of_texts(self, node: Call) -> Term:
        """A method of a text whose arguments are texts."""
        assert node.target is not None
        terms = [self._read(each) for each in (node.target, *node.arguments)]
        error = self.z3.Or([each.error for each in terms])
        if any(not isinstance(each.value, Scalar) or each.value.kind != "string" for each in terms):
            return self._bool(self._false, self._true)
        text, other = (each.value.term for each in terms)
        if node.function == "matches":
            return self._bool(self._matched(text, node.arguments[0]), error)
        related, parts = _METHODS[node.function]
        if not self.z3.is_string_value(other):
            return self._bool(related(self.z3, text, other), error)
        pattern = self.z3.Concat(*parts(anything(self.z3), self.z3.Re(other)))
        key = f"{node.function} {plain_text(other)!r}"
        return self._bool(self._universe.texts.test(text, key, pattern), error)

    def _matched(self, text: Formula, pattern: Node) -> Formula:
        """The formula that a part of a text matches a pattern."""
        if not isinstance(pattern, Literal):
            raise Untranslated("a pattern that is no constant")
        known = [pattern_of(self.z3, each, self._universe.constant) for each in choices(pattern.value)]
        key = f"matches {pattern.value!r}"
        return self._universe.texts.test(text, key, self.z3.Union(*known) if len(known) > 1 else known[0])

    def _list(self, node: ListNode) -> Term:
        if node.optional:
            raise Untranslated("optional elements of a list")
        terms = [self._read(each) for each in node.elements]
        slots = tuple(Slot(self._true, each.value) for each in terms)
        return Term(Listed(slots), self.z3.Or([each.error for each in terms] or [self._false]))

    def _bind(self, node: Bind) -> Term:
        with self._keeping(EVERYTHING):
            value = self.term(node.value)
        self._locals[id(node.reference)] = value
        body = self.term(node.body)
        return Term(body.value, self.z3.Or(value.error, body.error))

    def _comprehension(self, node: Comprehension) -> Term:
        with self._keeping(EVERYTHING):
            source = self._read(node.source)
        if node.key or node.macro not in ("all", "exists", "exists_one", "filter", "map"):
            raise Untranslated(f"the macro {node.macro} with two variables")
        if not isinstance(source.value, Listed | Mapped):
            if isinstance(source.value, Record):
                raise Untranslated("a macro over the fields of an object")
            return Term(Null(), self._true)
        self._note_dependence(source.value)
        self._inside.append(source.value.origins)
        with self._keeping(self._kept if node.macro in _OF_ONE_ELEMENT else EVERYTHING):
            visited = [self._visited(node, slot, source.value) for slot in source.value.slots]
        self._inside.pop()
        found = self._collected(node, source.value, visited)
        return Term(found.value, self.z3.Or(source.error, found.error))

    def _note_dependence(self, source: Listed | Mapped) -> None:
        """Note a quantifier over a list that does not belong to the element of the enclosing one."""
        for outer in self._inside:
            if outer and any(not path.startswith(tuple(f"{each}[]" for each in outer)) for path in source.origins):
                self._universe.bounds.inexact("a quantifier over one list depends on the elements of another")

    def _visited(
        self, node: Comprehension, slot: Slot, source: Listed | Mapped
    ) -> tuple[Slot, Term | None, Term | None]:
        item = Scalar("string", slot.key) if isinstance(source, Mapped) else slot.value
        self._locals[id(node.reference)] = self._sure(item)
        if isinstance(source, Mapped):
            self._visiting[id(node.reference)] = source
        condition = None if node.condition is None else self._bool(*self.truth(node.condition))
        transform = None if node.transform is None else self.term(node.transform)
        return Slot(slot.present, item), condition, transform

    def _collected(
        self, node: Comprehension, source: Listed | Mapped, visited: Sequence[tuple[Slot, Term | None, Term | None]]
    ) -> Term:
        z3, bounds = self.z3, self._universe.bounds
        if node.macro in ("all", "exists"):
            sides = [(slot.present, test.value.term, test.error) for slot, test, _ in visited if test is not None]
            bounds.need(source.origins, int(bool(self._kept & _OF_ONE_ELEMENT[node.macro])))
            return (
                self._absorbed(sides, stop=node.macro == "exists")
                if sides
                else self._bool(z3.BoolVal(node.macro == "all"), self._false)
            )
        error = z3.Or(
            [
                z3.And(slot.present, each.error)
                for slot, test, made in visited
                for each in (test, made)
                if each is not None
            ]
            or [self._false]
        )
        bounds.need(source.origins, 2 if node.macro == "exists_one" else 1)
        kept = [
            Slot(
                slot.present if test is None else z3.And(slot.present, test.value.term),
                made.value if made else slot.value,
            )
            for slot, test, made in visited
        ]
        if node.macro == "exists_one":
            return self._bool(self._count(kept) == 1, error)
        plain = all(test is None for _, test, _ in visited) and getattr(source, "contiguous", False)
        return Term(Listed(tuple(kept), source.origins, contiguous=plain), error)


def _passes_on(node: Node) -> bool:
    """True if what must stay of a part follows from the same of its conditions."""
    if isinstance(node, Call):
        return node.function in ("_&&_", "_||_", "!_", "_?_:_")
    if isinstance(node, Select):
        return isinstance(node.operand, Ident) and node.operand.name == "variables" and not node.test
    return isinstance(node, Bind) or (isinstance(node, Comprehension) and node.macro in _OF_ONE_ELEMENT)


_FORMULAS: Final[Mapping[type, Any]] = {
    Literal: Translator._literal,
    Ident: Translator._ident,
    Select: Translator._select,
    Call: Translator._call,
    ListNode: Translator._list,
    Comprehension: Translator._comprehension,
    Bind: Translator._bind,
}
_OPERATORS: Final[Mapping[str, Any]] = {
    "_&&_": Translator._and,
    "_||_": Translator._or,
    "!_": Translator._not,
    "_?_:_": Translator._conditional,
    "_==_": Translator._equal,
    "_!=_": Translator._unequal,
    **dict.fromkeys(_COMPARED, Translator._ordered),
    **dict.fromkeys(("_+_", "_-_", "_*_", "-_"), Translator._arithmetic),
    "@in": Translator._within,
    "_[_]": Translator._index,
    "size": Translator._size,
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
