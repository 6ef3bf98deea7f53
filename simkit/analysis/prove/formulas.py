"""Formulas that are made of others, and regular expressions as expressions of the solver, as RE2 reads them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from re import _constants as codes
from re import _parser as parser
from typing import Any, Final

from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError

_LAST_LETTER: Final = 0x2FFFF
_ESCAPE: Final = re.compile(r"\\u\{([0-9a-fA-F]+)\}")
Formula = Any
"""A term of the solver, whose library has no types."""


class _Solver:
    """The library of the solver, which is imported once something is asked of it.

    Raises SimkitError where it is not installed.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            import z3 as library
        except ImportError as missing:
            raise SimkitError(f"proofs about expressions need z3-solver: {install_hint('prove')}") from missing
        return getattr(library, name)


z3: Final[Any] = _Solver()


class Untranslated(Exception):
    """A part of an expression for which there is no formula. Its text names the part."""


def conjunction(parts: Iterable[Formula]) -> Formula:
    """The formula that all of some formulas hold."""
    kept = [part for part in parts if not z3.is_true(part)]
    if any(z3.is_false(part) for part in kept):
        return z3.BoolVal(False)
    return z3.And(kept) if len(kept) > 1 else kept[0] if kept else z3.BoolVal(True)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """The formula that one of some formulas holds."""
    kept = [part for part in parts if not z3.is_false(part)]
    if any(z3.is_true(part) for part in kept):
        return z3.BoolVal(True)
    return z3.Or(kept) if len(kept) > 1 else kept[0] if kept else z3.BoolVal(False)


def negation(part: Formula) -> Formula:
    """The formula that another one does not hold."""
    if z3.is_true(part) or z3.is_false(part):
        return z3.BoolVal(z3.is_false(part))
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def constant(text: str) -> Formula:
    """A text as a constant of the solver. Raises Untranslated for letters that it does not have."""
    if any(ord(letter) > _LAST_LETTER for letter in text):
        raise Untranslated(f"the text {text!r}")
    escapes = (letter if " " <= letter <= "~" and letter != "\\" else f"\\u{{{ord(letter):x}}}" for letter in text)
    return z3.StringVal("".join(escapes))


def plain_text(known: Formula) -> str:
    """The text of a constant of the solver."""
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), known.as_string())


_RANGES: Final = {
    codes.CATEGORY_DIGIT: (("0", "9"),),
    codes.CATEGORY_WORD: (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    codes.CATEGORY_SPACE: (("\t", "\n"), ("\f", "\r"), (" ", " ")),
}
"""The letters of ``\\d``, ``\\w`` and ``\\s`` in RE2, which are those of ASCII."""
_READ_OTHERWISE: Final = ("[:", "{,", "++", "*+", "?+", "}+")
"""Parts of patterns that Python and RE2 read in different ways."""
_MOST_REPEATS: Final = 1000


def choices(pattern: str) -> list[list[Any]]:
    """The parts of a pattern; several where anchors stand in some of its alternatives.

    Raises
    ------
    Untranslated
        For a pattern that is not read alike by RE2 and here.
    """
    items = _parsed(pattern)
    if len(items) == 1 and items[0][0] is codes.BRANCH:
        return [list(branch) for branch in items[0][1][1]]
    return [items]


def pattern_of(items: list[Any]) -> Formula:
    """The expression of texts of which some part matches.

    Raises
    ------
    Untranslated
        For other than characters, classes, groups, choices, repetitions, and anchors at the ends.
    """
    first = bool(items) and items[0] in ((codes.AT, codes.AT_BEGINNING), (codes.AT, codes.AT_BEGINNING_STRING))
    items = items[1:] if first else items
    last = bool(items) and items[-1] in ((codes.AT, codes.AT_END), (codes.AT, codes.AT_END_STRING))
    items = items[:-1] if last else items
    around = anything()
    parts = [*([] if first else [around]), _sequence(items), *([] if last else [around])]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def anything() -> Formula:
    """The expression of all texts."""
    return z3.Full(z3.ReSort(z3.StringSort()))


def _parsed(pattern: str) -> list[Any]:
    """The parts of a pattern, as RE2 reads them too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of classes that RE2 and Python read in different ways
            found = parser.parse(pattern)
    except (re.error, OverflowError, FutureWarning, DeprecationWarning):
        raise Untranslated(f"the pattern {pattern!r}") from None
    if found.state.flags & ~re.UNICODE or any(text in pattern for text in _READ_OTHERWISE):
        raise Untranslated(f"the pattern {pattern!r}")
    return list(found)


def _sequence(items: Any) -> Formula:
    """The expression of parts one behind the other."""
    made = [_part(code, value) for code, value in items]
    if not made:
        return z3.Re(z3.StringVal(""))
    return made[0] if len(made) == 1 else z3.Concat(*made)


def _part(code: Any, value: Any) -> Formula:
    if code is codes.LITERAL:
        return z3.Re(constant(chr(value)))
    if code is codes.NOT_LITERAL:
        return _other_than(z3.Re(constant(chr(value))))
    if code is codes.ANY:
        return _other_than(z3.Re(constant("\n")))
    if code is codes.IN:
        return _class(value)
    if code is codes.BRANCH:
        return _union([_sequence(branch) for branch in value[1]])
    if code is codes.SUBPATTERN and not value[1] and not value[2]:
        return _sequence(value[3])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return _repeated(*value)
    raise Untranslated(f"{code} in a pattern")


def _repeated(least: Any, most: Any, items: Any) -> Formula:
    inner = _sequence(items)
    if most is codes.MAXREPEAT or int(most) >= _MOST_REPEATS:
        if int(least) > _MOST_REPEATS or (most is not codes.MAXREPEAT):
            raise Untranslated("so many repetitions in a pattern")
        return z3.Star(inner) if int(least) == 0 else z3.Concat(z3.Loop(inner, int(least), int(least)), z3.Star(inner))
    return z3.Loop(inner, int(least), int(most)) if int(most) else z3.Re(z3.StringVal(""))


def _class(items: Any) -> Formula:
    negated = bool(items) and items[0][0] is codes.NEGATE
    found = _union([each for code, value in items[negated:] for each in _letters(code, value)])
    return _other_than(found) if negated else found


def _letters(code: Any, value: Any) -> list[Formula]:
    if code is codes.LITERAL:
        return [z3.Re(constant(chr(value)))]
    if code is codes.RANGE:
        return [_range(chr(value[0]), chr(value[1]))]
    if code is codes.CATEGORY and value in _RANGES:
        return [_range(first, last) for first, last in _RANGES[value]]
    raise Untranslated(f"{code} in a pattern")


def _range(first: str, last: str) -> Formula:
    return z3.Range(constant(first), constant(last))


def _other_than(letters: Formula) -> Formula:
    return z3.Intersect(z3.AllChar(z3.ReSort(z3.StringSort())), z3.Complement(letters))


def _union(some: list[Formula]) -> Formula:
    return some[0] if len(some) == 1 else z3.Union(*some)
