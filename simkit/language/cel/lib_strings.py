"""String functions of the strings extension, whose positions count code points, and regular expressions of RE2.

cel-go 0.17, ext/strings.go; k8s.io/apiserver/pkg/cel/library/regex.go, release 1.30; Go's package regexp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from simkit.language.cel.declarations import Library, Overload, declared
from simkit.language.cel.errors import LONGEST_TEXT, EvaluationError
from simkit.language.cel.text_format import format_text
from simkit.meta.deadline import checked
from simkit.meta.linear_patterns import re2_module

_BLANK: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {ord("A") + step: ord("a") + step for step in range(26)}
_UPPER: Final = {ord("a") + step: ord("A") + step for step in range(26)}
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _outside(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


def char_at(text: str, position: int) -> str:
    """The letter at a position; the empty string at the very end."""
    if not 0 <= position <= len(text):
        raise _outside(position)
    return text[position : position + 1]


def index_of(past_end: bool, text: str, part: str, start: int = 0) -> int:
    """The first position of a part from ``start`` on, or -1; ``past_end`` tells whether it may lie behind the end."""
    if part == "":
        return start
    if not 0 <= start < len(text):
        if (start == 0 and not text) or (start > 0 and past_end):
            return -1
        raise _outside(start)
    return text.find(part, start)


def last_index_of(past_end: bool, text: str, part: str, start: int | None = None) -> int:
    """The last position of a part that starts at or before ``start``, or -1."""
    if part == "":
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if not 0 <= start < len(text):
        if start >= 0 and past_end:
            return -1
        raise _outside(start)
    return text.rfind(part, 0, start + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    """The letters from ``start`` up to, not including, ``end``."""
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _outside(start)
    if not 0 <= stop <= len(text):
        raise _outside(stop)
    return text[start:stop]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """The text with occurrences replaced: all, or the given number."""
    if len(new) > len(old):
        count = text.count(old)
        _check_length(len(text) + (count if limit < 0 else min(count, limit)) * (len(new) - len(old)))
    return text.replace(old, new, limit)


def _check_length(length: int) -> None:
    """Raise EvaluationError for a text that would be too large."""
    if length > LONGEST_TEXT:
        raise EvaluationError(f"a text of {length} letters is larger than {LONGEST_TEXT}")


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """The parts between separators, at most ``limit`` of them; an empty separator splits into letters."""
    if limit == 0:
        return []
    if separator == "":
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def join(parts: Sequence[str], separator: str = "") -> str:
    """The parts with a separator between them."""
    _check_length(sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


def quote(text: str) -> str:
    """The text in double quotes with control characters escaped."""
    return f'"{text.translate(_ESCAPES)}"'


def _searches(past_end: bool) -> tuple[Overload, ...]:
    first, last = partial(index_of, past_end), partial(last_index_of, past_end)
    return (
        declared("string_index_of_string", "string.indexOf(string) int", first),
        declared("string_index_of_string_int", "string.indexOf(string,int) int", first),
        declared("string_last_index_of_string", "string.lastIndexOf(string) int", last),
        declared("string_last_index_of_string_int", "string.lastIndexOf(string,int) int", last),
    )


SEARCHES: Final = {past_end: Library("searches", (1, 0), _searches(past_end)) for past_end in (False, True)}
"""The functions that look for a text in another, by whether they may start behind its end."""
_BOTH: Final[tuple[Overload, ...]] = (
    declared("string_char_at_int", "string.charAt(int) string", char_at),
    declared("string_lower_ascii", "string.lowerAscii() string", lambda text: text.translate(_LOWER)),
    declared("string_replace_string_string", "string.replace(string,string) string", replace),
    declared("string_replace_string_string_int", "string.replace(string,string,int) string", replace),
    declared("string_split_string", "string.split(string) list(string)", split),
    declared("string_split_string_int", "string.split(string,int) list(string)", split),
    declared("string_substring_int", "string.substring(int) string", substring),
    declared("string_substring_int_int", "string.substring(int,int) string", substring),
    declared("string_trim", "string.trim() string", lambda text: text.strip(_BLANK)),
    declared("string_upper_ascii", "string.upperAscii() string", lambda text: text.translate(_UPPER)),
    declared("list_join", "list(string).join() string", join),
    declared("list_join_string", "list(string).join(string) string", join),
)

STRINGS: Final = Library("strings", (1, 0), _BOTH)
STRINGS_2: Final = Library("strings 2", (1, 29), (declared("strings_quote", "strings.quote(string) string", quote),))
FORMATS: Final = {
    narrow: Library(
        "formats",
        (1, 29),
        (declared("string_format", "string.format(list(dyn)) string", partial(format_text, narrow)),),
    )
    for narrow in (False, True)
}
"""Formatting, by whether it writes exponents without spaces."""


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
