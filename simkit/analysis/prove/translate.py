"""Expressions as formulas: for every part its value, and the condition under which evaluating it is an error.

The meaning is that of ``simkit.language.cel``: ``&&`` and ``||`` take an error only if no other side decides, and so
do ``all`` and ``exists``. What has no formula raises Untranslated, which names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from simkit.analysis.prove.operators import OPERATORS, TEXT_METHODS, Term, count, of_texts
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
from simkit.language.cel.names import Local
from simkit.language.cel.tree import Bind, Call, Comprehension, Ident, ListNode, Literal, Node, Select
from simkit.language.cel.values import UInt

Facts = frozenset[str]
"""What of a condition must stay as it is when elements are left out: that it is true, false, not true, not false."""
EVERYTHING: Final[Facts] = frozenset({"true", "false", "not true", "not false"})
_NEGATED: Final = {"true": "false", "false": "true", "not true": "not false", "not false": "not true"}
_OF_ONE_ELEMENT: Final[Mapping[str, Facts]] = {
    "all": frozenset({"false", "not true"}),
    "exists": frozenset({"true", "not false"}),
}
"""The facts that one element is the witness of; the others hold of every element, and so of fewer elements, too."""


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
        self.universe, self._variables, self.z3 = universe, variables, universe.z3
        self._locals: dict[int, Term] = {}
        self._inside: list[frozenset[str]] = []
        """The origins of the lists of enclosing quantifiers."""
        self._visiting: dict[int, Mapped] = {}
        """The maps whose keys the variables of enclosing quantifiers are."""
        self.limits: dict[int, int] = {}
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
        term = self.read(node)
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

    def read(self, node: Node) -> Term:
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
            return self._sure(Scalar("string", self.universe.constant(value)))
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
        operand = self.read(node.operand)
        present, value = self.member(operand.value, node.field)
        if node.test:
            return self._bool(present, operand.error)
        return Term(value, self.z3.Or(operand.error, self.z3.Not(present)))

    def member(self, value: Any, name: str) -> tuple[Formula, Any]:
        """Whether a value has a member, and the member."""
        if isinstance(value, Record):
            return value.named(name)
        if isinstance(value, Mapped):
            return self.looked_up(value, self.universe.constant(name))
        return self._false, Null()

    def looked_up(self, value: Mapped, key: Formula, node: Node | None = None) -> tuple[Formula, Any]:
        """Whether a map has a key, and the value under it; ``node`` is the key where it is no constant."""
        if isinstance(node, Ident) and self._visiting.get(id(node.reference)) is value:
            return next((slot.present, slot.value) for slot in value.slots if slot.key is key)
        self.universe.bounds.need(value.origins)
        if self._inside and node is not None and not isinstance(node, Literal):
            self.universe.bounds.inexact("a key depends on the elements of a list")
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
        if made is not None and (node.target is None or node.function == "size"):
            return made(self, node)
        if node.target is not None and node.function in TEXT_METHODS:
            return of_texts(self, node)
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

    def _list(self, node: ListNode) -> Term:
        if node.optional:
            raise Untranslated("optional elements of a list")
        terms = [self.read(each) for each in node.elements]
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
            source = self.read(node.source)
        if node.key or node.macro not in ("all", "exists", "exists_one", "filter", "map"):
            raise Untranslated(f"the macro {node.macro} with two variables")
        if not isinstance(source.value, Listed | Mapped):
            if isinstance(source.value, Record):
                raise Untranslated("a macro over the fields of an object")
            return Term(Null(), self._true)
        self.note_dependence(source.value)
        self._inside.append(source.value.origins)
        with self._keeping(self._kept if node.macro in _OF_ONE_ELEMENT else EVERYTHING):
            visited = [self._visited(node, slot, source.value) for slot in source.value.slots]
        self._inside.pop()
        found = self._collected(node, source.value, visited)
        return Term(found.value, self.z3.Or(source.error, found.error))

    def note_dependence(self, source: Listed | Mapped) -> None:
        """Note a quantifier over a list that does not belong to the element of the enclosing one."""
        for outer in self._inside:
            if outer and any(not path.startswith(tuple(f"{each}[]" for each in outer)) for path in source.origins):
                self.universe.bounds.inexact("a quantifier over one list depends on the elements of another")

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
        z3, bounds = self.z3, self.universe.bounds
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
            return self._bool(count(self.z3, kept) == 1, error)
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
    **OPERATORS,
}
