"""The values of variables in scripts, with what ``${NAME...}`` makes of them.

POSIX.1-2017, Shell Command Language, 2.5 and 2.6.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, Protocol

_PARTS: Final = re.compile(r"([A-Za-z_]\w*|\d+|[@*?#$])(.*)", re.DOTALL)
_DEFAULTS: Final = re.compile(r"(:?)([-+=?])(.*)", re.DOTALL)


class Variables(Protocol):
    """The state of a script that its variables show."""

    environment: dict[str, str]
    arguments: Sequence[str]
    script: str
    code: int


def value_named(state: Variables, text: str) -> str:
    """The value that ``$TEXT`` or ``${TEXT}`` stands for."""
    if text.startswith("#") and len(text) > 1:
        return str(len(_plain(state, text[1:]) or ""))
    found = _PARTS.fullmatch(text)
    if found is None:
        return ""
    name, rest = found.groups()
    value = _plain(state, name)
    default = _DEFAULTS.fullmatch(rest)
    if default is not None:
        return _with_default(state, name, value, default)
    return _cut(value or "", rest) if rest else value or ""


def _plain(state: Variables, name: str) -> str | None:
    if name.isdigit() and name != "0":
        number = int(name[:6])
        return state.arguments[number - 1] if number <= len(state.arguments) else None
    together = " ".join(state.arguments)
    special: Mapping[str, str] = {
        "?": str(state.code), "$": "1", "#": str(len(state.arguments)), "@": together, "*": together, "0": state.script,
    }  # fmt: skip
    return special[name] if name in special else state.environment.get(name)


def _with_default(state: Variables, name: str, value: str | None, given: re.Match[str]) -> str:
    """The text for a value that is not there, or with a colon also for an empty one; ``+`` is for one that is."""
    colon, operator, word = given.groups()
    there = bool(value) if colon else value is not None
    if operator == "+":
        return word if there else ""
    if there:
        return value or ""
    if operator == "=":
        state.environment[name] = word
    return "" if operator == "?" else word


def _cut(value: str, rest: str) -> str:
    """A value without the beginning or the end that a pattern means: the shortest, or with two signs the longest.

    Examples
    --------
    >>> _cut("a.tar.gz", "%.*"), _cut("a.tar.gz", "%%.*"), _cut("/a/b", "##*/")
    ('a.tar', 'a', 'b')
    """
    sign, longest = rest[0], rest[:2] in ("##", "%%")
    pattern = rest[2:] if longest else rest[1:]
    if sign not in "#%":
        return value
    sizes = range(len(value) + 1)
    for size in reversed(sizes) if longest else sizes:
        part = value[:size] if sign == "#" else value[len(value) - size :]
        if fnmatchcase(part, pattern):
            return value[size:] if sign == "#" else value[: len(value) - size]
    return value
