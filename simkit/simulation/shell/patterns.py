"""Patterns of the shell: ``*``, ``?`` and ``[a-z]``, of file names, in ``case`` and in ``${NAME#...}``.

In a pattern, a backslash stands before each letter that means itself.

References
----------
POSIX.1-2017, Shell Command Language, 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.user_files import UserFiles

_SPECIAL: Final = re.compile(r"[*?\[\]\\!^:-]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def _is_punctuation(letter: str) -> bool:
    return letter.isprintable() and not letter.isalnum() and letter != " "


CLASSES: Final[Mapping[str, Callable[[str], bool]]] = {
    "alpha": str.isalpha, "digit": str.isdigit, "alnum": str.isalnum, "upper": str.isupper, "lower": str.islower,
    "space": str.isspace, "punct": _is_punctuation, "blank": " 	".__contains__,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}  # fmt: skip
"""Classes of letters by the name in ``[:name:]``."""
_MOST_PATHS: Final = 20_000
_MOST_STEPS: Final = 1 << 22


class _Set:
    """``[...]``: a set of letters."""

    def __init__(self, text: str) -> None:
        self._negated = text[0] in "!^"
        self._parts = re.findall(r"\[:\w+:\]|\\.|.-(?:\\.|.)|.", text[self._negated :], re.DOTALL)
        for part in self._parts:
            if part.startswith("[:") and part[2:-2] not in CLASSES:
                raise Unsupported(part)

    def holds(self, letter: str) -> bool:
        """True if a letter is in the set."""
        return any(_in_part(part, letter) for part in self._parts) != self._negated


def _in_part(part: str, letter: str) -> bool:
    if part.startswith("[:") and len(part) > 4:
        return CLASSES[part[2:-2]](letter)
    if len(part) > 2 and part[1] == "-" and part[0] != "\\":
        return part[0] <= letter <= part[-1]
    return letter == part[-1]


_Part = str | _Set | None
"""A letter, a set, or None for ``*``; ``?`` is the empty text."""


def escaped(text: str) -> str:
    """A pattern that means a text as it is."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def is_magic(pattern: str) -> bool:
    """True if a pattern may mean several texts."""
    return any(part in ("", None) or isinstance(part, _Set) for part in _compiled(pattern))


def _compiled(pattern: str) -> list[_Part]:
    parts, position = list[_Part](), 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == "\\" and position + 1 < len(pattern):
            position += 1
            parts.append(pattern[position])
        elif letter == "*":
            if not parts or parts[-1] is not None:
                parts.append(None)
        elif letter == "?":
            parts.append("")
        elif letter == "[" and (end := _closing(pattern, position)):
            parts.append(_Set(pattern[position + 1 : end]))
            position = end
        else:
            parts.append(letter)
        position += 1
    return parts


def _closing(pattern: str, opening: int) -> int:
    """The position of the bracket that closes a set; 0 if none does."""
    end = opening + 1 + (pattern[opening + 1 : opening + 2] in ("!", "^"))
    end += pattern[end : end + 1] == "]"
    while end < len(pattern) and pattern[end] != "]":
        inner = pattern.find(":]", end + 2) if pattern.startswith("[:", end) else -1
        end = inner + 2 if inner > 0 else end + 1 + (pattern[end] == "\\")
    return end if end < len(pattern) else 0


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
    return _matched(_compiled(pattern), text)


def _matched(parts: list[_Part], text: str) -> bool:
    at, here, star, resumed = 0, 0, -1, 0
    while here < len(text):
        if at < len(parts) and parts[at] is None:
            star, resumed, at = at, here, at + 1
        elif at < len(parts) and _is(parts[at], text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            resumed += 1
            at, here = star + 1, resumed
        else:
            return False
    return all(part is None for part in parts[at:])


def _is(part: _Part, letter: str) -> bool:
    if not isinstance(part, str) or not part:
        _refuse_wide(letter)
    return part.holds(letter) if isinstance(part, _Set) else part in ("", letter)


def _refuse_wide(text: str) -> None:
    """Raise Unsupported for letters that are one or several, depending on the locale."""
    if not text.isascii():
        raise Unsupported("a pattern that counts letters outside of ASCII")


def without(text: str, pattern: str, operator: str) -> str:
    """A text without the part that ``#``, ``##``, ``%`` or ``%%`` cuts. Raises Unsupported where that takes too long.

    Examples
    --------
    >>> without("a.b.c", "*.", "#"), without("a.b.c", ".*", "%%")
    ('b.c', 'a')
    """
    parts, sizes = _compiled(pattern), list(range(len(text) + 1))
    if len(text) * len(text) * len(parts) > _MOST_STEPS and not all(isinstance(part, str) for part in parts):
        raise Unsupported(f"${{...{operator}...}} of {len(text)} letters")
    if len(operator) == 2:
        sizes.reverse()
    for size in sizes:
        if operator[0] == "#" and _matched(parts, text[:size]):
            return text[size:]
        if operator[0] == "%" and _matched(parts, text[len(text) - size :]):
            return text[: len(text) - size]
    return text


def paths(files: UserFiles, folder: str, pattern: str) -> list[str]:
    """The paths of files that a pattern means, in order. Raises FileError where they are too many."""
    start = "/" if pattern.startswith("/") else ""
    found = [start]
    names = [name for name in pattern.split("/") if name]
    for number, name in enumerate(names):
        last = number == len(names) - 1
        found = [each for prefix in found for each in _in_folder(files, folder, prefix, name, last=last)]
        if len(found) > _MOST_PATHS:
            raise FileError("Argument list too long")
    return sorted(found)


def _in_folder(files: UserFiles, folder: str, prefix: str, name: str, *, last: bool) -> list[str]:
    where = resolved(prefix or ".", folder)
    if not is_magic(name):
        plain = _ESCAPED.sub(r"\1", name)
        there = files.exists(resolved(plain, where)) if last else files.is_folder(resolved(plain, where))
        return [f"{prefix}{plain}{'' if last else '/'}"] if there else []
    try:
        names = [*([".", ".."] if name.startswith(".") else []), *files.listed(where)] if files.is_folder(where) else []
    except FileError:
        return []
    parts = _compiled(name)
    chosen = [each for each in names if (each[0] != "." or name[0] == ".") and _matched(parts, each)]
    if last:
        return [f"{prefix}{each}" for each in chosen]
    return [f"{prefix}{each}/" for each in chosen if files.is_folder(resolved(each, where))]


def unescaped(pattern: str) -> str:
    """The text that a pattern without ``*``, ``?`` and sets means."""
    return _ESCAPED.sub(r"\1", pattern)
