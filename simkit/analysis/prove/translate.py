"""Expressions as formulas: for every part its value, and the condition under which evaluating it is an error.

The meaning is that of ``simkit.language.cel``: ``&&`` and ``||`` take an error only if no other side decides, and so
do ``all`` and ``exists``. What has no formula raises Untranslated, which names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from simkit.analysis.prove.either import either, over
from simkit.analysis.prove.formulas import (
    Formula,
    Untranslated,
    conjunction,
    constant,
    disjunction,
    negation,
    plain_text,
    z3,
)
from simkit.analysis.prove.operators import (
    METHODS,
    OPERATORS,
    OPTIONALS,
    TEXT_METHODS,
    count,
    inside_optional,
    of_texts,
)
from simkit.analysis.prove.symbols import (
    Listed,
    Mapped,
    Maybe,
    Null,
    Opaque,
    Record,
    Scalar,
    Slot,
    Term,
    Universe,
    bool_term,
)
from simkit.language.cel.names import Local
from simkit.language.cel.tree import Bind, Call, Comprehension, Ident, ListNode, Literal, MapNode, Node, Select
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
    names
        Functions that make the values of ``object``, ``params`` and others, called when a name is used.
    variables
        The expressions of ``variables``, by name.
    """

    def __init__(
        self,
        universe: Universe,
        names: Mapping[str, Callable[[], Term]],
        variables: Mapping[str, Node] | None = None,
    ) -> None:
        self.universe, self._names = universe, names
        self._variables = variables or {}
        self._known: dict[tuple[str, Facts], Term] = {}
        """The values of variables, each for the facts that count where it is used."""
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
        term = over([self.read(node)], self._condition)
        return term.value.term, term.error

    def _condition(self, value: Any) -> Term:
        if not isinstance(value, Scalar) or value.kind != "bool":
            return bool_term(z3.BoolVal(False), z3.BoolVal(True))  # no such overload
        return Term(value)

    def term(self, node: Node) -> Term:
        """The value of a part, and the formula of its error."""
        if self._kept is not EVERYTHING and not _passes_on(node):
            with self._keeping(EVERYTHING):
                return self.term(node)
        self.universe.count_step()
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
            return Term(Null())
        if isinstance(value, bool):
            return bool_term(z3.BoolVal(value))
        if isinstance(value, str):
            return Term(Scalar("string", constant(value)))
        if isinstance(value, int) and not isinstance(value, UInt):
            return Term(Scalar("int", z3.IntVal(value)))
        if isinstance(value, float) and value == value and abs(value) != float("inf"):
            return Term(Scalar("double", z3.RealVal(repr(value))))
        raise Untranslated(f"the literal {value!r}")

    def _ident(self, node: Ident) -> Term:
        if isinstance(node.reference, Local):
            return self._locals[id(node.reference)]
        name = node.name.lstrip(".")
        if name not in self._names:
            raise Untranslated(f"the variable {name}")
        return self._names[name]()

    def _variable(self, name: str) -> Term:
        """The value of a variable, which does not depend on the elements that enclosing quantifiers look at."""
        if name not in self._variables:
            raise Untranslated(f"the variable {name}")
        key = name, self._kept
        if key not in self._known:
            inside, self._inside = self._inside, []
            self._known[key] = self.term(self._variables[name])
            self._inside = inside
        return self._known[key]

    def _select(self, node: Select) -> Term:
        if isinstance(node.operand, Ident) and node.operand.name == "variables":
            if node.test:
                return bool_term(z3.BoolVal(node.field in self._variables))
            return self._variable(node.field)
        return self.applied(node, [node.operand], lambda value: self._selected(value, node.field, test=node.test))

    def _selected(self, value: Any, name: str, *, test: bool) -> Term:
        if isinstance(value, Maybe):
            found = inside_optional(self, value, name)
            return bool_term(found.value.present) if test else found
        if isinstance(value, Listed):
            return Term(Null(), z3.BoolVal(True))
        present, inner = self.member(value, name)
        return bool_term(present) if test else Term(inner, negation(present))

    def member(self, value: Any, name: str) -> tuple[Formula, Any]:
        """Whether a value has a member, and the member."""
        if isinstance(value, Record):
            return value.named(name)
        if isinstance(value, Mapped):
            return self.looked_up(value, constant(name))
        if isinstance(value, Opaque):
            raise Untranslated(value.what)
        return z3.BoolVal(False), Null()

    def looked_up(self, value: Mapped, key: Formula, node: Node | None = None) -> tuple[Formula, Any]:
        """Whether a map has a key, and the value under it; ``node`` is the key where it is no constant."""
        if isinstance(node, Ident) and self._visiting.get(id(node.reference)) is value:
            return next((slot.present, slot.value) for slot in value.slots if slot.key is key)
        self.universe.bounds.need(value.origins)
        if self._inside and node is not None and not isinstance(node, Literal):
            self.universe.bounds.inexact("a key depends on the elements of a list")
        hits = []
        for slot in value.slots:
            hit = conjunction((slot.present, self.same_text(slot.key, key)))
            hits += [] if z3.is_false(hit) else [(hit, slot.value)]
        if not hits:
            return z3.BoolVal(False), Null()
        found = hits[-1][1]
        for hit, item in reversed(hits[:-1]):
            found = either(hit, item, found)
        return disjunction([hit for hit, _ in hits]), found

    def same_text(self, one: Formula, other: Formula) -> Formula:
        """The formula that two texts are the same."""
        for text, known in ((one, other), (other, one)):
            if z3.is_string_value(known):
                return self.universe.is_text(text, plain_text(known))
        return self.universe.texts.same(one, other)

    def _call(self, node: Call) -> Term:
        made: Callable[[Translator, Call], Term] | None = _OPERATORS.get(node.function)
        if made is not None and (node.target is None or node.function in {"size", *METHODS}):
            return made(self, node)
        if node.target is not None and node.function in TEXT_METHODS:
            return of_texts(self, node)
        raise Untranslated(f"{node.function}()")

    def applied(self, node: Node, parts: Sequence[Node], made: Callable[..., Term]) -> Term:
        """What is made of the values of some parts, whichever of several values each one is."""

        def one(*values: Any) -> Term:
            self.universe.count_step()
            return made(*values)

        return over([self.read(each) for each in parts], one)

    def _decided(self, node: Call) -> Term:
        """``&&`` and ``||``: a side that decides makes errors of the other one irrelevant."""
        stop, sides, problems = node.function == "_||_", [], []
        for each in node.arguments:
            try:
                value, error = self.truth(each)
            except Untranslated as problem:
                problems.append(problem)
                continue
            decides = value if stop else negation(value)
            if z3.is_true(decides) and z3.is_false(error):
                return bool_term(value)
            sides.append((z3.BoolVal(True), value, error))
        if problems:
            raise problems[0]
        return self._absorbed(sides, stop=stop)

    def _absorbed(self, sides: Sequence[tuple[Formula, Formula, Formula]], *, stop: bool) -> Term:
        """The conjunction (stop=False) or disjunction of those sides that count; each is: counts, value, error."""
        decided = disjunction(
            [
                conjunction((counts, negation(error), value if stop else negation(value)))
                for counts, value, error in sides
            ],
        )
        failed = disjunction([conjunction((counts, error)) for counts, _, error in sides])
        error = conjunction((negation(decided), failed))
        return bool_term(decided if stop else negation(decided), error)

    def _not(self, node: Call) -> Term:
        value, error = self.condition(node.arguments[0], frozenset(_NEGATED[fact] for fact in self._kept))
        return bool_term(negation(value), error)

    def _conditional(self, node: Call) -> Term:
        condition, failed = self.condition(node.arguments[0], EVERYTHING)
        if z3.is_true(condition) or z3.is_false(condition):
            term = self.term(node.arguments[1 if z3.is_true(condition) else 2])
            return Term(term.value, disjunction((failed, term.error)))
        chosen, other = self.term(node.arguments[1]), self.term(node.arguments[2])
        inner = chosen.error if chosen.error.eq(other.error) else z3.If(condition, chosen.error, other.error)
        error = disjunction((failed, inner))
        return Term(either(condition, chosen.value, other.value), error)

    def _list(self, node: ListNode) -> Term:
        if node.optional:
            raise Untranslated("optional elements of a list")
        terms = [self.read(each) for each in node.elements]
        slots = tuple(Slot(z3.BoolVal(True), each.value) for each in terms)
        return Term(Listed(slots), disjunction([each.error for each in terms]))

    def _map(self, node: MapNode) -> Term:
        keys, values = (
            ([self.read(each) for each in some] for some in zip(*((e.key, e.value) for e in node.entries)))
            if node.entries
            else ([], [])
        )
        if any(not isinstance(key.value, Scalar) or not z3.is_string_value(key.value.term) for key in keys):
            raise Untranslated("a map whose keys are no constant texts")
        if len({plain_text(key.value.term) for key in keys}) < len(keys) or any(each.optional for each in node.entries):
            raise Untranslated("a map with optional entries or repeated keys")
        slots = tuple(Slot(z3.BoolVal(True), value.value, key.value.term) for key, value in zip(keys, values))
        return Term(Mapped(slots), disjunction([each.error for each in values]))

    def _bind(self, node: Bind) -> Term:
        with self._keeping(EVERYTHING):
            value = self.term(node.value)
        self._locals[id(node.reference)] = value
        body = self.term(node.body)
        return Term(body.value, disjunction((value.error, body.error)))

    def _comprehension(self, node: Comprehension) -> Term:
        with self._keeping(EVERYTHING):
            source = self.read(node.source)
        if node.key or node.macro not in ("all", "exists", "exists_one", "filter", "map"):
            raise Untranslated(f"the macro {node.macro} with two variables")
        return over([source], lambda value: self._looped(node, value))

    def _looped(self, node: Comprehension, source: Any) -> Term:
        if isinstance(source, Opaque):
            raise Untranslated(source.what)
        if not isinstance(source, Listed | Mapped):
            if isinstance(source, Record):
                raise Untranslated("a macro over the fields of an object")
            return Term(Null(), z3.BoolVal(True))
        self.note_dependence(source)
        self._inside.append(source.origins)
        with self._keeping(self._kept if node.macro in _OF_ONE_ELEMENT else EVERYTHING):
            visited = [self._visited(node, slot, source) for slot in source.slots]
        self._inside.pop()
        return self._collected(node, source, visited)

    def note_dependence(self, source: Listed | Mapped) -> None:
        """Note a quantifier over a list that does not belong to the element of the enclosing one."""
        for outer in self._inside:
            if outer and any(not path.startswith(tuple(f"{each}[]" for each in outer)) for path in source.origins):
                self.universe.bounds.inexact("a quantifier over one list depends on the elements of another")

    def _visited(
        self, node: Comprehension, slot: Slot, source: Listed | Mapped
    ) -> tuple[Slot, Term | None, Term | None]:
        item = Scalar("string", slot.key) if isinstance(source, Mapped) else slot.value
        self._locals[id(node.reference)] = Term(item)
        if isinstance(source, Mapped):
            self._visiting[id(node.reference)] = source
        condition = None if node.condition is None else bool_term(*self.truth(node.condition))
        transform = None if node.transform is None else self.term(node.transform)
        return Slot(slot.present, item), condition, transform

    def _collected(
        self, node: Comprehension, source: Listed | Mapped, visited: Sequence[tuple[Slot, Term | None, Term | None]]
    ) -> Term:
        bounds = self.universe.bounds
        if node.macro in ("all", "exists"):
            sides = [(slot.present, test.value.term, test.error) for slot, test, _ in visited if test is not None]
            bounds.need(source.origins, int(bool(self._kept & _OF_ONE_ELEMENT[node.macro])))
            return (
                self._absorbed(sides, stop=node.macro == "exists")
                if sides
                else bool_term(z3.BoolVal(node.macro == "all"))
            )
        error = disjunction(
            [
                conjunction((slot.present, each.error))
                for slot, test, made in visited
                for each in (test, made)
                if each is not None
            ],
        )
        bounds.need(source.origins, 2 if node.macro == "exists_one" else 1)
        kept = [
            Slot(
                slot.present if test is None else conjunction((slot.present, test.value.term)),
                made.value if made else slot.value,
            )
            for slot, test, made in visited
        ]
        if node.macro == "exists_one":
            return bool_term(count(kept) == 1, error)
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
    MapNode: Translator._map,
    Comprehension: Translator._comprehension,
    Bind: Translator._bind,
}
_OPERATORS: Final[Mapping[str, Any]] = {
    "_&&_": Translator._decided,
    "_||_": Translator._decided,
    "!_": Translator._not,
    "_?_:_": Translator._conditional,
    **OPTIONALS,
    **OPERATORS,
}
