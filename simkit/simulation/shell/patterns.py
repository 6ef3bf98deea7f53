"""Patterns of the shell: ``*``, ``?`` and ``[a-z]``, of file names, in ``case`` and in ``${NAME#...}``.

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
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.user_files import UserFiles

_SPECIAL: Final = re.compile(r"[*?\[\]\\!^:-]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PART: Final = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^]\\[])+)\]|(.)", re.DOTALL)
_IN_SET: Final = re.compile(r"\[:[a-z]+:\]|\\(.)|([]^&~|[])", re.DOTALL)
_MOST_PATHS: Final = 20_000


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


def without(text: str, pattern: str, operator: str) -> str:
    """A text without the part that ``#``, ``##``, ``%`` or ``%%`` cuts.

    Examples
    --------
    >>> without("a.b.c", "*.", "#"), without("a.b.c", ".*", "%%")
    ('b.c', 'a')
    """
    cut = _regular(pattern, ".*" if operator == "##" else ".*?")
    rest = "(.*?)" if operator == "%%" else "(.*)"
    found = _matched(pattern, f"{cut}{rest}" if operator[0] == "#" else f"{rest}{cut}", text)
    return text if found is None else str(found[1])


def paths(files: UserFiles, folder: str, pattern: str) -> list[str]:
    """The paths of files that a pattern means, in order. Raises FileError where they are too many."""
    if "//" in pattern or pattern.endswith("/"):
        raise Unsupported(f"the pattern {pattern}")
    found = ["/" if pattern.startswith("/") else ""]
    names = [name for name in pattern.split("/") if name]
    for number, name in enumerate(names, 1):
        last = number == len(names)
        found = [each for prefix in found for each in _in_folder(files, folder, prefix, name, last=last)]
        if len(found) > _MOST_PATHS:
            raise FileError("Argument list too long")
    return sorted(found)


def _in_folder(files: UserFiles, folder: str, prefix: str, name: str, *, last: bool) -> list[str]:
    where = resolved(prefix or ".", folder)
    if not is_magic(name):
        plain = unescaped(name)
        there = files.exists(resolved(plain, where)) if last else files.is_folder(resolved(plain, where))
        return [f"{prefix}{plain}{'' if last else '/'}"] if there else []
    try:
        names = [*([".", ".."] if name.startswith(".") else []), *files.listed(where)] if files.is_folder(where) else []
    except FileError:
        return []
    chosen = [each for each in names if (each[0] != "." or name[0] == ".") and matches(name, each)]
    if last:
        return [f"{prefix}{each}" for each in chosen]
    return [f"{prefix}{each}/" for each in chosen if files.is_folder(resolved(each, where))]
