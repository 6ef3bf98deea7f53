"""Functions without formulas: unknown values of which instances are known.

What ``quantity(x).compareTo(quantity('1Gi'))`` gives is an unknown number and perhaps an error, which depends on x. So
a proof that no object exists holds for any meaning of the function. Where an object is found, the function is evaluated
on the x of that object, and if the answer is another one, the search goes on knowing it. Texts that occur in the
expressions, and those that servers take, are evaluated first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any, Final

import orjson

from simkit.analysis.prove.formulas import Formula, Untranslated
from simkit.analysis.prove.symbols import Computed, Listed, Null, Scalar, Term, Universe
from simkit.analysis.prove.texts import plain_text
from simkit.language.cel.environment import OWN_EXPRESSIONS, Environment
from simkit.language.cel.errors import CompileError, EvaluationError
from simkit.language.cel.tree import Call
from simkit.language.cel.types import parsed
from simkit.meta.behaviour import ServedBehaviour

_MOST_EXAMPLES: Final = 24
_MOST_INSTANCES: Final = 64
_KINDS: Final = frozenset({"bool", "int", "double", "string"})
_ORDINARY: Final[Mapping[str, tuple[Any, ...]]] = {
    "string": ("a", "1", "10", "A", ""),
    "int": (0, 1, 2, 10, 1000),
    "double": (0.0, 1.5),
    "bool": (False, True),
}
_OF_FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "quantity": ("1", "100m", "64Mi", "1Gi", "100Gi", "0"),
    "Quantity": ("1", "64Mi"),
    "duration": ("1s", "1h", "1000h"),
    "timestamp": ("2024-01-01T00:00:00Z", "2034-01-01T00:00:00Z"),
    "ip": ("10.0.0.1", "8.8.8.8", "fd00::1"),
    "cidr": ("10.0.0.0/8", "0.0.0.0/0"),
    "url": ("https://example.com/a", "http://example.com"),
    "split": ("a/b", "a:b", "a.b", "a,b", "a-b"),
}
"""Texts that are usual arguments of functions, by a part of the function's name."""
_ESCAPES: Final = re.compile(r"\\[a-zA-Z]")
_WORDS: Final = re.compile(r"[\w./:-]+")
AUTHORIZER: Final = "authorizer"


@dataclass(frozen=True)
class _Call:
    """A call whose value is unknown."""

    text: str
    leaves: tuple[Scalar, ...]
    value: Scalar | None
    error: Formula


class Functions:
    """The calls of functions without formulas in one question.

    Parameters
    ----------
    universe
        The variables of the solver.
    behaviour
        That of the server whose functions they are.
    """

    def __init__(self, universe: Universe, behaviour: ServedBehaviour) -> None:
        self._universe, self._behaviour = universe, behaviour
        self._calls: dict[tuple[str, tuple[int, ...]], _Call] = {}
        self._answers: dict[tuple[str, tuple[Any, ...], tuple[str, ...]], Any] = {}

    @property
    def names(self) -> list[str]:
        """The calls, as texts."""
        return sorted({call.text for call in self._calls.values()})

    def term(self, parts: Sequence[str | Scalar], kind: str) -> Term:
        """The value of a call: a scalar of a kind, or what other calls take."""
        leaves: dict[int, Scalar] = {}
        for part in parts:
            if not isinstance(part, str):
                leaves.setdefault(part.term.get_id(), part)
        names = {term: f"v{number}" for number, term in enumerate(leaves)}
        text = "".join(part if isinstance(part, str) else names[part.term.get_id()] for part in parts)
        made = Computed(tuple(parts))
        if not leaves and AUTHORIZER not in text:
            return self._constant(text, made, kind)
        if AUTHORIZER in text:
            self._universe.approximate(text)
        key = text, tuple(leaves)
        if key not in self._calls:
            z3, universe = self._universe.z3, self._universe
            sorts = {"bool": z3.Bool, "int": z3.Int, "double": z3.Real, "string": z3.String}
            value = Scalar(kind, sorts[kind](universe.fresh(text)), made) if kind in _KINDS else None
            if value is not None and kind == "int":
                universe.require(z3.And(value.term >= -(2**63), value.term < 2**63))
            self._calls[key] = _Call(text, tuple(leaves.values()), value, z3.Bool(universe.fresh(f"{text} fails")))
        call = self._calls[key]
        return Term(made if call.value is None else call.value, call.error)

    def _constant(self, text: str, made: Computed, kind: str) -> Term:
        z3, found = self._universe.z3, self._evaluated(text, (), ())
        if isinstance(found, EvaluationError):
            return Term(Null(), z3.BoolVal(True))
        if kind not in _KINDS:
            return Term(made, z3.BoolVal(False))
        return Term(Scalar(kind, self._term(found), made), z3.BoolVal(False))

    def _term(self, value: Any) -> Formula:
        """A plain value as a constant of the solver."""
        z3 = self._universe.z3
        if isinstance(value, bool):
            return z3.BoolVal(value)
        if isinstance(value, str):
            return self._universe.constant(value)
        return z3.IntVal(value) if isinstance(value, int) else z3.RealVal(str(Fraction(value)))

    def instances(self) -> tuple[list[Formula], list[Formula]]:
        """What is known of the calls on some texts and numbers, and the preference for these."""
        known: list[Formula] = []
        preferred: dict[int, tuple[Scalar, list[Any]]] = {}
        for call in self._calls.values():
            if AUTHORIZER in call.text:
                continue
            some = [self._examples(leaf, call.text, len(call.leaves)) for leaf in call.leaves]
            known += [self._fact(call, values) for values in islice(product(*some), _MOST_INSTANCES)]
            for leaf, examples in zip(call.leaves, some):
                preferred.setdefault(leaf.term.get_id(), (leaf, []))[1].extend(examples)
        z3 = self._universe.z3
        return known, [z3.Or([self._is(leaf, value) for value in values]) for leaf, values in preferred.values()]

    def _examples(self, leaf: Scalar, text: str, leaves: int) -> list[Any]:
        found: dict[Any, None] = {}
        if leaf.kind == "string":
            found |= dict.fromkeys(self._universe.examples.get(str(leaf.term), ()))
            for part, examples in _OF_FUNCTIONS.items():
                found |= dict.fromkeys(examples if part in text else ())
            for literal in self._universe.literals:
                found |= dict.fromkeys([literal, *_WORDS.findall(_ESCAPES.sub(" ", literal))])
        found |= dict.fromkeys(_ORDINARY[leaf.kind])
        return list(islice(found, _MOST_EXAMPLES if leaves == 1 else _MOST_INSTANCES // 8))

    def lemmas(self, value_of: Callable[[Scalar], Any], holds: Callable[[Formula], bool]) -> Iterator[Formula]:
        """What is known of the calls on the values in a model, as far as the model has it otherwise."""
        for call in self._calls.values():
            if AUTHORIZER not in call.text:
                values = tuple(value_of(leaf) for leaf in call.leaves)
                answer = self._answer(call, values)
                if not holds(answer):
                    yield self._universe.z3.Implies(self._given(call, values), answer)

    def _fact(self, call: _Call, values: Sequence[Any]) -> Formula:
        return self._universe.z3.Implies(self._given(call, values), self._answer(call, values))

    def _given(self, call: _Call, values: Sequence[Any]) -> Formula:
        return self._universe.z3.And([self._is(leaf, value) for leaf, value in zip(call.leaves, values)])

    def _answer(self, call: _Call, values: Sequence[Any]) -> Formula:
        """What the call gives for some values of its leaves."""
        z3, texts = self._universe.z3, self._universe.texts
        found = self._evaluated(call.text, values, [leaf.kind for leaf in call.leaves])
        if isinstance(found, EvaluationError):
            return call.error
        if call.value is None:
            return z3.Not(call.error)
        term = self._term(found)
        is_text = call.value.kind == "string"
        same = texts.is_value(call.value.term, term) if is_text else call.value.term == term
        return z3.And(z3.Not(call.error), same)

    def _is(self, leaf: Scalar, value: Any) -> Formula:
        if leaf.kind == "string":
            return self._universe.is_text(leaf.term, value)
        return leaf.term == self._term(value)

    def _evaluated(self, text: str, values: Sequence[Any], kinds: Sequence[str]) -> Any:
        """The value of a call for some values, or its error."""
        key = (text, tuple(values), tuple(kinds))
        if key not in self._answers:
            types = {f"v{number}": parsed(kind) for number, kind in enumerate(kinds)}
            try:
                known = Environment(self._behaviour, types, version=OWN_EXPRESSIONS, homogeneous=False)
                found = known.compile(text).evaluate({f"v{number}": value for number, value in enumerate(values)}).value
            except EvaluationError as error:
                found = error
            except CompileError as error:
                raise Untranslated(f"{text}: {error}") from None
            self._answers[key] = found
        return self._answers[key]


def parts_of(z3: Any, value: Any) -> tuple[str | Scalar, ...]:
    """The parts of a call's text that stand for a value. Raises Untranslated for other than scalars and their lists."""
    if isinstance(value, Computed):
        return value.parts
    if isinstance(value, Null):
        return ("null",)
    if isinstance(value, Listed) and all(z3.is_true(slot.present) for slot in value.slots):
        inner = [parts_of(z3, slot.value) for slot in value.slots]
        separated = [part for each in inner for part in (", ", *each)][1:]
        return ("[", *separated, "]")
    if not isinstance(value, Scalar):
        raise Untranslated("a function of an object, a list or a map")
    if value.made is not None:
        return ("(", *value.made.parts, ")")
    return (_literal(z3, value),)


def parts_of_call(node: Call, given: Sequence[Sequence[str | Scalar]]) -> list[str | Scalar]:
    """The parts of a call's text, of those of its target and arguments. Raises Untranslated for some operators."""
    operator = node.function.strip("_")
    if node.function in ("_[_]", "_[?_]"):
        return [*given[0], "[" if node.function == "_[_]" else "[?", *given[1], "]"]
    if node.function == "@in":
        return [*given[0], " in ", *given[1]]
    if node.function.startswith("_") and len(given) == 2:
        return ["(", *given[0], f" {operator} ", *given[1], ")"]
    if not node.function.replace(".", "").isidentifier():
        raise Untranslated(f"the operator {operator}")
    target, arguments = ([], given) if node.target is None else ([*given[0], "."], given[1:])
    separated = [part for each in arguments for part in (", ", *each)][1:]
    return [*target, node.function, "(", *separated, ")"]


def _literal(z3: Any, value: Scalar) -> str | Scalar:
    """A constant as text; another scalar is what it is."""
    if z3.is_string_value(value.term):
        return orjson.dumps(plain_text(value.term)).decode()
    if z3.is_true(value.term) or z3.is_false(value.term):
        return str(value.term).lower()
    return f"({value.term.as_long()})" if z3.is_int_value(value.term) else value
