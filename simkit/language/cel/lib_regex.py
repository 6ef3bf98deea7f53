"""Regular expressions in RE2's syntax: ``matches``, ``find``, ``findAll``.

k8s.io/apiserver/pkg/cel/library/regex.go, release 1.30; Go's package regexp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.errors import EvaluationError
from simkit.meta.deadline import checked
from simkit.meta.linear_patterns import re2_module

_WORDING: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}


class PatternError(Exception):
    """A text that is no regular expression; the message is that of Go's regexp package."""


@lru_cache(maxsize=1024)
def pattern(text: str) -> Any:
    """The compiled pattern, cached. Raises PatternError for an invalid pattern."""
    re2 = re2_module()
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise PatternError(_reworded(error.args[0])) from None


@lru_cache(maxsize=1024)
def tester(text: str) -> Callable[[str], Any]:
    """A function that finds a pattern in a text, and gives None if it does not. Raises PatternError for an invalid
    pattern.

    A set of one pattern answers several times faster than a search, which has to tell where the match is.
    """
    pattern(text)
    found = re2_module().Set.SearchSet()
    found.Add(text)
    found.Compile()
    test: Callable[[str], Any] = found.Match
    return test


def _reworded(reason: Any) -> str:
    """RE2's reason in the words of Go's regexp/syntax package."""
    text = reason.decode() if isinstance(reason, bytes) else str(reason)
    what, _, where = text.partition(": ")
    if what == "trailing \\":
        return f"error parsing regexp: {_WORDING[what]}: ``"
    if what == "invalid perl operator" and where.startswith("(?"):
        where = where[:4] if where[2:3] == "<" else where[:3]
    return f"error parsing regexp: {_WORDING.get(what, what)}: `{where}`"


def matches(text: str, expression: str) -> bool:
    """True if the pattern is found anywhere in the text."""
    try:
        return tester(expression)(text) is not None
    except PatternError as error:
        raise EvaluationError(str(error)) from None


def _compiled(expression: str) -> Any:
    try:
        return pattern(expression)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def find(text: str, expression: str) -> str:
    """The first match, or the empty string."""
    found = _compiled(expression).search(text)
    return str(found.group(0)) if found is not None else ""


def find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    """All matches, or the given number of them; a negative limit means all."""
    found: list[str] = []
    for match in checked(_compiled(expression).finditer(text)):
        if 0 <= limit <= len(found):
            break
        found.append(match.group(0))
    return found


REGEX: Final = Library(
    "regex",
    (1, 0),
    (
        declared("string_find_string", "string.find(string) string", find),
        declared("string_find_all_string", "string.findAll(string) list(string)", find_all),
        declared("string_find_all_string_int", "string.findAll(string,int) list(string)", find_all),
    ),
)
