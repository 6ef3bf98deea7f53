"""Patterns of file names: ``*``, ``?`` and ``[a-z]`` in words without quotes."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

from simkit.simulation.shell.files import FileError, Files, resolved

_MAGIC: Final = re.compile(r"[*?[]")
_MOST_PATHS: Final = 20_000
"""Paths that a pattern may lead to, at each of its parts: ``/*/../*/..`` leads to more with each."""
_ESCAPED: Final = re.compile(r"\[([*?[])\]")


class TooLong(Exception):
    """Words that become more than a command may be given."""


def escaped(text: str) -> str:
    """A pattern that means a text as it is.

    Examples
    --------
    >>> escaped("a*")
    'a[*]'
    """
    return _MAGIC.sub(r"[\g<0>]", text)


def matching(files: Files, folder: str, pattern: str) -> list[str]:
    """The paths that a pattern means, as they are written: from the root, or from a folder. None of them begins a name
    with a dot unless the pattern does. Raises TooLong.

    Examples
    --------
    >>> files = Files({"/etc/a.conf": "", "/etc/b.conf": "", "/etc/.hidden": ""})
    >>> matching(files, "/etc", "*.conf"), matching(files, "/", "/e*/[b-z].conf")
    (['a.conf', 'b.conf'], ['/etc/b.conf'])
    """
    if not _MAGIC.search(_ESCAPED.sub("", pattern)):
        return []
    found = ["/" if pattern.startswith("/") else ""]
    for part in filter(None, pattern.split("/")):
        bases, found = found, []
        known: dict[str, list[str]] = {}
        for base in bases:
            place = resolved(base or ".", folder)
            if place not in known:
                known[place] = _names(files, place, part)
            found += [f"{base}{name}/" for name in known[place]]
            if len(found) > _MOST_PATHS:
                raise TooLong
    return [each.rstrip("/") for each in found]


def _names(files: Files, folder: str, part: str) -> list[str]:
    if not _MAGIC.search(_ESCAPED.sub("", part)):
        name = _ESCAPED.sub(r"\1", part)
        return [name] if name in (".", "..") or files.exists(f"{folder}/{name}") else []
    if not files.is_folder(folder):
        return []
    try:
        names = files.listed(folder)
    except FileError:
        return []
    wanted = part.replace("[^", "[!")
    return [each for each in names if fnmatchcase(each, wanted) and (part[:1] == "." or each[:1] != ".")]
