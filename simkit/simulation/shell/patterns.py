"""Patterns of the shell: ``*``, ``?`` and ``[a-z]``, of file names, in ``case`` and in ``${NAME#...}``.

In a pattern a backslash stands before each letter that means itself.

References
----------
POSIX.1-2017, Shell Command Language, 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.files import FileError, Files, resolved

_MAGIC: Final = frozenset("*?[")
_SPECIAL: Final = re.compile(r"[*?\[\]\\!^-]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_LONGEST_CLASS: Final = 16
LONGEST_WORD: Final = 1 << 20
"""Letters of a word, before it is split."""
_MOST_PATHS: Final = 20_000
"""Paths that a pattern may lead to, at each of its parts: ``/*/../*/..`` leads to more with each."""


class TooLong(Exception):
    """Words that become more than a command may be given."""


def escaped(text: str) -> str:
    """A pattern that means a text as it is.

    Examples
    --------
    >>> escaped("a*")
    'a\\\\*'
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def is_magic(text: str) -> bool:
    """True if a pattern may mean several texts."""
    return not _MAGIC.isdisjoint(_ESCAPED.sub("", text))


def as_expression(text: str, *, lazy: bool = False) -> str:
    """The pattern as a regular expression; ``lazy`` has ``*`` mean as few letters as possible.

    Examples
    --------
    >>> as_expression("a*[!b-d]?")
    'a.*[^b-d].'
    """
    made = []
    for part in _parts(text):
        if part == "*":
            made.append(".*?" if lazy else ".*")
        elif part == "?":
            made.append(".")
        elif part[0] == "[" and len(part) > 2:
            made.append(_brackets(part[1:-1]))
        else:
            made.append(re.escape(part[1:] if part[0] == "\\" and len(part) > 1 else part))
    return "".join(made)


def _parts(text: str) -> Iterator[str]:
    """The parts of a pattern: single letters, escaped ones, and sets in brackets."""
    position, closes = 0, True
    while position < len(text):
        end = position + 1
        if text[position] == "\\":
            end = min(position + 2, len(text))
        elif text[position] == "[" and closes:
            found = _closing(text, position)
            closes, end = found > 0, found or end
        yield text[position:end]
        position = end


def _closing(text: str, opening: int) -> int:
    """The position behind the bracket that closes a set; 0 if none does."""
    position = opening + 1
    position += text[position : position + 1] in ("!", "^")
    position += text[position : position + 1] == "]"
    while position < len(text):
        if text[position] == "]":
            return position + 1
        named = text.find(":]", position, position + _LONGEST_CLASS) if text.startswith("[:", position) else -1
        position = named + 2 if named > 0 else position + 1 + (text[position] == "\\")
    return 0


def _brackets(inner: str) -> str:
    negated = inner[:1] in ("!", "^")
    rest = inner[1:] if negated else inner
    spelled = re.sub(r"\\.|\[:\w+:\]|[\[\]\\^&~|]", lambda found: _in_brackets(found[0]), rest)
    return f"[{'^' if negated else ''}{spelled}]"


def _in_brackets(part: str) -> str:
    if part.startswith("[:"):
        return part
    return f"\\{part[-1]}"


def matches(text: str, given: str) -> bool:
    """True if a text is what a pattern means."""
    try:
        return bool(pattern(f"(?s)^(?:{as_expression(given)})$").search(text))
    except PatternError:
        return text == _ESCAPED.sub(r"\1", given)


def cut(value: str, operator: str, given: str) -> str:
    """A value without the beginning or the end that a pattern means: the shortest, or with two signs the longest.

    Examples
    --------
    >>> cut("a.tar.gz", "%", ".*"), cut("a.tar.gz", "%%", ".*"), cut("/a/b", "##", "*/")
    ('a.tar', 'a', 'b')
    """
    longest = len(operator) == 2
    try:
        if operator[0] == "#":
            found = pattern(f"(?s)^(?:{as_expression(given, lazy=not longest)})").search(value)
            return value[found.end() :] if found else value
        found = pattern(f"(?s)^(.*{'?' if longest else ''})(?:{as_expression(given)})$").search(value)
        return str(found[1]) if found else value
    except PatternError:
        return value


def replaced(value: str, operator: str, given: str, into: str) -> str:
    """A value with another text for the first part that a pattern means, or for each with ``//``. Raises TooLong.

    Examples
    --------
    >>> replaced("a.b.c", "/", ".", "-"), replaced("a.b.c", "//", ".", "-")
    ('a-b.c', 'a-b-c')
    """
    try:
        matcher: Any = pattern(f"(?s){as_expression(given)}")
    except PatternError:
        return value
    if not given:
        return value
    most = None if operator == "//" else 1
    if len(value) + len(into) * sum(1 for _ in islice(matcher.finditer(value), most)) > LONGEST_WORD:
        raise TooLong
    return str(matcher.sub(lambda _: into, value, most or 0))


def matching(files: Files, folder: str, given: str) -> list[str]:
    """The paths that a pattern means, as they are written: from the root, or from a folder. None of them begins a name
    with a dot unless the pattern does. Raises TooLong.

    Examples
    --------
    >>> files = Files({"/etc/a.conf": "", "/etc/b.conf": "", "/etc/.hidden": ""})
    >>> matching(files, "/etc", "*.conf"), matching(files, "/", "/e*/[b-z].conf")
    (['a.conf', 'b.conf'], ['/etc/b.conf'])
    """
    if not is_magic(given):
        return []
    found = ["/" if given.startswith("/") else ""]
    for part in filter(None, given.split("/")):
        bases, found = found, []
        known: dict[str, list[str]] = {}
        for base in bases:
            place = resolved(base or ".", folder)
            if place not in known:
                known[place] = _names(files, place, part)
            found += [f"{base}{name}/" for name in known[place]]
            if len(found) > _MOST_PATHS:
                raise TooLong
    end = "/" if given.endswith("/") else ""
    return [each.rstrip("/") + end for each in found]


def _names(files: Files, folder: str, part: str) -> list[str]:
    if not is_magic(part):
        name = _ESCAPED.sub(r"\1", part)
        return [name] if name in (".", "..") or files.exists(f"{folder}/{name}") else []
    if not files.is_folder(folder):
        return []
    try:
        names = files.listed(folder)
    except FileError:
        return []
    hidden = part.startswith((".", "\\."))
    return [each for each in names if (hidden or each[:1] != ".") and matches(each, part)]


def regular_expression(text: str, *, extended: bool) -> str:
    """A pattern in the syntax of RE2, from one of grep and sed: in basic ones a backslash makes a letter special.

    Examples
    --------
    >>> regular_expression(r"a+\\(b\\|c\\)", extended=False)
    'a\\\\+(b|c)'
    """
    if extended:
        return text
    special = "+?|(){}"
    return re.sub(
        rf"\\?[{re.escape(special)}]", lambda found: found[0][1:] if len(found[0]) == 2 else f"\\{found[0]}", text
    )
