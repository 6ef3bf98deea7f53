"""Texts that are compared with constants and each other alone, decided apart from everything else.

Most texts in a policy are only asked whether they begin with, contain, match or equal something constant, or whether
two of them are equal. Each such test is a pattern, and becomes a bool for the solver. Whether a text exists that passes
some tests and fails others is a question about the intersection of their patterns, which is answered at once, and
remembered. Texts that are equal have their tests together, and those that are not get different texts.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.prove.formulas import Formula, constant, plain_text, z3

EFFORT: Final = 2_000_000
"""The solver's own count of steps for one text, after which it gives up."""
Signs = frozenset[tuple[str, bool]]
"""Tests by their keys, with what they say."""
_IS: Final = "is "
"""The beginning of the key of a test that a text is a constant."""


@dataclass(frozen=True)
class TextTest:
    """A test of a text: the bool that stands for it, and the pattern that it asks for."""

    passed: Formula
    pattern: Formula


@dataclass
class _Same:
    """Variables that are the same text in a model, with what the model says of it."""

    names: list[str]
    reasons: list[Formula]
    """What the model has that makes them the same, and that gives them their tests."""
    signs: dict[str, bool]
    others: list[tuple[_Same, Formula]] = field(default_factory=list)
    """The variables that are other texts, each with the bool that says that they are the same."""
    text: str = ""


class TextTests:
    """All tests of the texts of one question."""

    def __init__(self) -> None:
        self._variables: dict[str, Formula] = {}
        self._tests: dict[str, dict[str, TextTest]] = {}
        self._pairs: dict[tuple[str, str], Formula] = {}
        """The bools that say that two variables are the same text."""
        self._patterns: dict[str, Formula] = {}
        self._known: dict[Signs, str | None] = {}
        self._matched: dict[tuple[str, str], Formula] = {}
        self._linked: set[str] = set()
        """The variables that formulas mention in other ways than by tests."""
        self.undecided = False
        """True if it is not known whether a text passes some tests."""

    def test(self, term: Formula, key: str, pattern: Formula) -> Formula:
        """The formula that a text matches a pattern as a whole.

        Parameters
        ----------
        key
            What tells the pattern from others.
        """
        if not self._is_apart(term):
            return z3.simplify(z3.InRe(term, pattern))
        name = term.decl().name()
        tests = self._tests[name]
        if key not in tests:
            self._patterns[key] = pattern
            tests[key] = TextTest(z3.Bool(f"{name} {key}"), pattern)
        return tests[key].passed

    def same(self, one: Formula, other: Formula) -> Formula:
        """The formula that two texts are the same."""
        if one.eq(other):
            return z3.BoolVal(True)
        if not self._is_apart(one) or not self._is_apart(other):
            return one == other
        first, second = sorted((one.decl().name(), other.decl().name()))
        return self._pairs.setdefault((first, second), z3.Bool(f"{first} is {second}"))

    def _is_apart(self, term: Formula) -> bool:
        """True for a variable that formulas mention in tests alone."""
        if not (z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED):
            return False
        name = term.decl().name()
        if name in self._linked:
            return False
        self._variables[name] = term
        self._tests.setdefault(name, {})
        return True

    def links(self, formulas: Iterable[Formula]) -> Iterator[Formula]:
        """What ties tests to texts that formulas mention in other ways, too."""
        linked = self._mentioned(formulas)
        while more := {name for pair in self._pairs if linked.intersection(pair) for name in pair} - linked:
            linked |= more
        self._linked |= linked
        for pair in sorted(pair for pair in self._pairs if linked.intersection(pair)):
            one, other = (self._variables[name] for name in pair)
            yield self._pairs.pop(pair) == (one == other)
        for name in sorted(linked):
            term = self._variables.pop(name)
            for test in self._tests.pop(name).values():
                yield test.passed == z3.InRe(term, test.pattern)

    def constants(self) -> Iterator[Formula]:
        """What follows for the other tests of a text where it is a constant."""
        for tests in self._tests.values():
            for key, test in tests.items():
                if key.startswith(_IS):
                    text = constant(literal_eval(key.removeprefix(_IS)))
                    others = [(other, each) for other, each in tests.items() if other != key]
                    told = [each.passed == self._matches(text, other) for other, each in others]
                    yield z3.Implies(test.passed, z3.And(told))

    def _matches(self, text: Formula, key: str) -> Formula:
        known = (text.as_string(), key)
        if known not in self._matched:
            self._matched[known] = z3.simplify(z3.InRe(text, self._patterns[key]))
        return self._matched[known]

    def _mentioned(self, formulas: Iterable[Formula]) -> set[str]:
        waiting, seen, found = list(formulas), set(), set()
        while waiting:
            formula = waiting.pop()
            if formula.get_id() in seen:
                continue
            seen.add(formula.get_id())
            waiting += formula.children()
            if z3.is_const(formula) and formula.decl().name() in self._variables:
                found.add(formula.decl().name())
        return found

    def texts(self, model: Any) -> tuple[Mapping[str, str], list[Formula]]:
        """A text for each variable as a model has its tests, or formulas that rule the model out."""
        classes, lemmas = self._classes(model)
        if not lemmas:
            lemmas = [lemma for each in classes if self._given(each, ()) is None for lemma in self._impossible([each])]
        if not lemmas:
            lemmas = self._told_apart(classes)
        return {name: each.text for each in classes for name in each.names}, lemmas

    def _classes(self, model: Any) -> tuple[list[_Same], list[Formula]]:
        """The variables that a model has as the same texts; formulas where it contradicts itself about them."""
        classes = {name: _Same([name], [], {}) for name in self._tests}
        holds = {pair: z3.is_true(model.eval(same, model_completion=True)) for pair, same in self._pairs.items()}
        for (first, second), same in holds.items():
            one, other = classes[first], classes[second]
            if same:
                one.reasons.append(self._pairs[first, second])
            if same and one is not other:
                one.names += other.names
                one.reasons += other.reasons
                classes.update(dict.fromkeys(other.names, one))
        lemmas = []
        for name, tests in self._tests.items():
            for key, test in tests.items():
                each, said = classes[name], z3.is_true(model.eval(test.passed, model_completion=True))
                if each.signs.setdefault(key, said) != said:
                    lemmas += [self._agreement(each, key)]
                if len(each.names) == 1:
                    each.reasons.append(test.passed if said else z3.Not(test.passed))
        for (first, second), same in holds.items():
            one, other = classes[first], classes[second]
            if not same and one is other:
                lemmas.append(z3.Or([*(z3.Not(reason) for reason in one.reasons), self._pairs[first, second]]))
            elif not same:
                one.others.append((other, self._pairs[first, second]))
                other.others.append((one, self._pairs[first, second]))
        unique = {id(each): each for each in classes.values()}
        return list(unique.values()), lemmas

    def _agreement(self, each: _Same, key: str) -> Formula:
        """That variables which are the same text agree about a test."""
        passed = [self._tests[name][key].passed for name in each.names if key in self._tests[name]]
        same = [passed[0] == other for other in passed[1:]]
        return z3.Or([*(z3.Not(reason) for reason in each.reasons if z3.is_const(reason)), z3.And(same)])

    def _given(self, each: _Same, taken: Iterable[str]) -> str | None:
        """A text with the tests of a class, other than those that are taken."""
        constants = {f"{_IS}{text!r}": text for text in taken}
        for key, text in constants.items():
            self._patterns.setdefault(key, z3.Re(constant(text)))
        signs = frozenset({**each.signs, **dict.fromkeys(constants, False)}.items())
        if any(each.signs.get(key) for key in constants):
            return None
        if signs not in self._known:
            self._known[signs] = self._searched(signs)
        return self._known[signs]

    def _told_apart(self, classes: Iterable[_Same]) -> list[Formula]:
        """Give each class a text that no class has which must be another one; formulas where there are too few."""
        chosen: list[_Same] = []
        for each in classes:
            near = [other for other, _ in each.others if any(other is known for known in chosen)]
            text = self._given(each, sorted({other.text for other in near}))
            if text is None:
                forced = [other for other in near if self._given(other, [other.text]) is None]
                if self._given(each, sorted({other.text for other in forced})) is not None:
                    self.undecided = True
                return self._impossible([each, *forced])
            each.text = text
            chosen.append(each)
        return []

    def _impossible(self, classes: list[_Same]) -> list[Formula]:
        """That there are no such texts, those of the first class being others than those of the rest."""
        first = classes[0]
        told = [z3.Not(reason) for each in classes for reason in self._reasons(each)]
        pairs = [same for other, same in first.others if any(other is each for each in classes[1:])]
        return [z3.Or([*told, *pairs])]

    def _reasons(self, each: _Same) -> list[Formula]:
        """What a model has of the variables of a class."""
        if len(each.names) == 1:
            return each.reasons
        found = list(each.reasons)
        for name in each.names:
            for key, test in self._tests[name].items():
                found.append(test.passed if each.signs[key] else z3.Not(test.passed))
        return found

    def _searched(self, signs: Signs) -> str | None:
        """A text with some tests, preferably of letters or at least printable; None if there is none."""
        letters = z3.Union(z3.Range("a", "z"), z3.Range("0", "9"))
        printable = z3.Range(z3.StringVal("!"), z3.StringVal("~"))
        every = [self._patterns[key] if said else z3.Complement(self._patterns[key]) for key, said in sorted(signs)]
        text = z3.String("text")
        for some in ([z3.Star(letters), *every], [z3.Star(printable), *every], every):
            engine = z3.Solver()
            engine.set("rlimit", EFFORT)
            engine.add(z3.InRe(text, z3.Intersect(*some) if len(some) > 1 else some[0]) if some else z3.BoolVal(True))
            answer = engine.check()
            if answer == z3.sat:
                return plain_text(engine.model().eval(text, model_completion=True))
        self.undecided = self.undecided or answer != z3.unsat
        return None
