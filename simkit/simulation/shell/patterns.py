"""Patterns of ``case``: ``*``, ``?`` and ``[a-z]``.

In a pattern, a backslash stands before each letter that means itself.

References
----------
POSIX.1-2017, Shell Command Language, 2.13.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from simkit.meta.linear_patterns import re2_module
from simkit.simulation.shell.script import Unsupported

_SPECIAL: Final = re.compile(r"[*?\[\]\\!^:-]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PART: Final = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^]\\[])+)\]|(.)", re.DOTALL)
_IN_SET: Final = re.compile(r"\[:[a-z]+:\]|\\(.)|([]^&~|[])", re.DOTALL)


def escaped(text: str) -> str:
    """A pattern that means a text as it is."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def unescaped(pattern: str) -> str:
    """The text that a pattern without ``*``, ``?`` and sets means."""
    return _ESCAPED.sub(r"\1", pattern)


def is_magic(pattern: str) -> bool:
    """True if a pattern may mean several texts."""
    return any(part[2] or part[3] or part[5] for part in _PART.finditer(pattern))


def _regular(pattern: str, star: str) -> str:
    """A pattern as a regular expression. Raises Unsupported for a bracket that shells read differently."""
    made = list[str]()
    for literal, stars, question, negation, inside, letter in _PART.findall(pattern):
        if stars:
            made.append(star)
        elif question:
            made.append(".")
        elif inside:
            made.append(f"[{'^' if negation else ''}{_IN_SET.sub(_member, inside)}]")
        elif letter == "[" and "]" in pattern:
            raise Unsupported(f"the pattern {pattern}")
        else:
            made.append(re.escape(literal or letter))
    return "".join(made)


def _member(found: re.Match[str]) -> str:
    return f"\\{found[1] or found[2]}" if found[1] or found[2] else found[0]


@lru_cache(1000)
def _compiled(expression: str) -> Any:
    re2 = re2_module()
    settings = re2.Options()
    settings.log_errors = False
    try:
        return re2.compile(f"(?s){expression}", settings)
    except re2.error as error:
        raise Unsupported(f"a pattern such as {expression[:40]}") from error


def _matched(pattern: str, expression: str, text: str) -> Any:
    if not text.isascii() and any(part[3] or part[5] for part in _PART.finditer(pattern)):
        raise Unsupported("a pattern that counts letters outside of ASCII")
    try:
        return _compiled(expression).fullmatch(text)
    except UnicodeEncodeError as error:
        raise Unsupported("a pattern of bytes that are no letters") from error


def matches(pattern: str, text: str) -> bool:
    """True if a pattern means a text.

    Notes
    -----
    O(letters of the pattern times letters of the text).

    Examples
    --------
    >>> matches("a*[!b-d]?", "axxey"), matches("a*[!b-d]?", "axby"), matches("[[:digit:]]", "7")
    (True, False, True)
    """
    if not is_magic(pattern):
        return unescaped(pattern) == text
    return _matched(pattern, _regular(pattern, ".*"), text) is not None
