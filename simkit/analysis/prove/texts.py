"""Texts that are compared with constants alone, decided apart from everything else.

Most texts in a policy are only asked whether they begin with, contain, match or equal something constant. Each such
test is a pattern, and becomes a bool for the solver. Whether a text exists that passes some tests and fails others is a
question about the intersection of their patterns, which is answered at once, and remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Formula = Any
EFFORT: Final = 2_000_000
"""The solver's own count of steps for one text, after which it gives up."""
Signs = frozenset[tuple[str, bool]]
"""Tests by their keys, with what they say."""
_ESCAPE: Final = re.compile(r"\\u\{([0-9a-fA-F]+)\}")


@dataclass(frozen=True)
class TextTest:
    """A test of a text: the bool that stands for it, and the pattern that it asks for."""

    passed: Formula
    pattern: Formula


class TextTests:
    """All tests of the texts of one question.

    Parameters
    ----------
    z3
        The library of the solver.
    """

    def __init__(self, z3: Any) -> None:
        self._z3 = z3
        self._variables: dict[str, Formula] = {}
        self._tests: dict[str, dict[str, TextTest]] = {}
        self._known: dict[Signs, str | None] = {}
        self.undecided = False
        """True if it is not known whether a text passes some tests."""

    def test(self, term: Formula, key: str, pattern: Formula) -> Formula:
        """The formula that a text matches a pattern as a whole.

        Parameters
        ----------
        key
            What tells the pattern from others.
        """
        z3 = self._z3
        if not (z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED):
            return z3.InRe(term, pattern)
        name = term.decl().name()
        self._variables[name] = term
        tests = self._tests.setdefault(name, {})
        if key not in tests:
            tests[key] = TextTest(z3.Bool(f"{name} {key}"), pattern)
        return tests[key].passed

    def links(self, formulas: Iterable[Formula]) -> Iterator[Formula]:
        """What ties tests to texts that formulas mention in other ways, too."""
        for name in self._mentioned(formulas):
            term = self._variables.pop(name)
            for test in self._tests.pop(name).values():
                yield test.passed == self._z3.InRe(term, test.pattern)

    def _mentioned(self, formulas: Iterable[Formula]) -> set[str]:
        waiting, seen, found = list(formulas), set(), set()
        while waiting:
            formula = waiting.pop()
            if formula.get_id() in seen:
                continue
            seen.add(formula.get_id())
            waiting += formula.children()
            if self._z3.is_const(formula) and formula.decl().name() in self._variables:
                found.add(formula.decl().name())
        return found

    def texts(self, model: Any) -> tuple[Mapping[str, str], list[Formula]]:
        """A text for each variable as a model has its tests, or formulas that rule the model out."""
        z3, found, refuted = self._z3, {}, []
        for name, tests in self._tests.items():
            signs = frozenset(
                (key, z3.is_true(model.eval(test.passed, model_completion=True))) for key, test in tests.items()
            )
            text = self._text(signs, tests)
            if text is None:
                refuted.append(signs)
            else:
                found[name] = text
        return found, [lemma for signs in set(refuted) for lemma in self._lemmas(signs)]

    def _lemmas(self, signs: Signs) -> Iterator[Formula]:
        """That no text has these tests all at once."""
        z3 = self._z3
        for tests in self._tests.values():
            if all(key in tests for key, _ in signs):
                yield z3.Or([tests[key].passed != z3.BoolVal(said) for key, said in sorted(signs)])

    def _text(self, signs: Signs, tests: Mapping[str, TextTest]) -> str | None:
        if signs not in self._known:
            self._known[signs] = self._searched(signs, tests)
        return self._known[signs]

    def _searched(self, signs: Signs, tests: Mapping[str, TextTest]) -> str | None:
        """A text with some tests, preferably of letters or at least printable; None if there is none."""
        z3 = self._z3
        letters = z3.Union(z3.Range("a", "z"), z3.Range("0", "9"))
        printable = z3.Range(z3.StringVal("!"), z3.StringVal("~"))
        patterns = [tests[key].pattern if said else z3.Complement(tests[key].pattern) for key, said in sorted(signs)]
        text = z3.String("text")
        for some in ([z3.Star(letters), *patterns], [z3.Star(printable), *patterns], patterns):
            engine = z3.Solver()
            engine.set("rlimit", EFFORT)
            engine.add(z3.InRe(text, z3.Intersect(*some) if len(some) > 1 else some[0]))
            answer = engine.check()
            if answer == z3.sat:
                return plain_text(engine.model().eval(text, model_completion=True))
        self.undecided = self.undecided or answer != z3.unsat
        return None


def plain_text(constant: Any) -> str:
    """The text of a constant of the solver."""
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), constant.as_string())
