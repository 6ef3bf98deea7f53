"""Patterns of the shell: ``*``, ``?`` and ``[a-z]``, of file names, in ``case`` and in ``${NAME#...}``.

In a pattern a backslash stands before each letter that means itself. Groups such as ``@(a|b)`` are known where bash
knows them.

References
----------
POSIX.1-2017, Shell Command Language, 2.13; Bash Reference Manual 5.2, 3.5.8.1 Pattern Matching.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.user_files import UserFiles

_MAGIC: Final = frozenset("*?")
_SPECIAL: Final = re.compile(r"[*?\[\]\\!^()|+@-]")
_GROUP: Final = re.compile(r"[?*+@!]\(")
_LONGEST_NEGATED: Final = 256
"""Letters of a text that may be compared with a pattern that holds ``!(...)``."""
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


def is_magic(text: str, *, groups: bool = False) -> bool:
    """True if a pattern may mean several texts. A bracket that nothing closes means itself."""
    plain = _ESCAPED.sub("", text)
    if not _MAGIC.isdisjoint(plain) or (groups and _GROUP.search(plain) is not None):
        return True
    return "[" in plain and any(part[0] == "[" and len(part) > 1 for part in _parts(text))


def as_expression(text: str, *, lazy: bool = False, groups: bool = False) -> str:
    """The pattern as a regular expression; ``lazy`` has ``*`` mean as few letters as possible.

    Examples
    --------
    >>> as_expression("a*[!b-d]?"), as_expression("@(a|b*)", groups=True)
    ('a.*[^b-d].', '(?:a|b.*)')
    """
    made = []
    for part in _parts(text, groups=groups):
        if len(part) > 2 and part[1] == "(":
            made.append(_group(part, lazy=lazy))
        elif part == "*":
            made.append(".*?" if lazy else ".*")
        elif part == "?":
            made.append(".")
        elif part[0] == "[" and len(part) > 2:
            made.append(_brackets(part[1:-1]))
        else:
            made.append(re.escape(part[1:] if part[0] == "\\" and len(part) > 1 else part))
    return "".join(made)


def _group(part: str, *, lazy: bool) -> str:
    if part[0] == "!":
        return "(?:.*)"
    inner = "|".join(as_expression(each, lazy=lazy, groups=True) for each in _alternatives(part))
    return f"(?:{inner})" + ("" if part[0] == "@" else part[0] + ("?" if lazy else ""))


def _alternatives(part: str) -> list[str]:
    """The patterns between the bars of a group."""
    found = [""]
    for each in _parts(part[2:-1], groups=True):
        if each == "|":
            found.append("")
        else:
            found[-1] += each
    return found


def _parts(text: str, *, groups: bool = False) -> Iterator[str]:
    """The parts of a pattern: single letters, escaped ones, sets in brackets, and groups."""
    position, closes = 0, True
    while position < len(text):
        end = position + 1
        if text[position] == "\\":
            end = min(position + 2, len(text))
        elif groups and _GROUP.match(text, position):
            end = _closing_group(text, position) or end
        elif text[position] == "[" and closes:
            found = _closing(text, position)
            closes, end = found > 0, found or end
        yield text[position:end]
        position = end


def _closing_group(text: str, opening: int) -> int:
    """The position behind the bracket that closes a group; 0 if none does."""
    position, depth = opening + 1, 0
    while position < len(text):
        depth += (text[position] == "(") - (text[position] == ")")
        if not depth:
            return position + 1
        position += 1 + (text[position] == "\\")
    return 0


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


def matches(text: str, given: str, *, groups: bool = False) -> bool:
    """True if a text is what a pattern means. Raises TooLong."""
    if groups and "!(" in given:
        parts = list(_parts(given, groups=True))
        place = next((number for number, part in enumerate(parts) if part.startswith("!(")), -1)
        if place >= 0:
            return _around(text, "".join(parts[:place]), parts[place], "".join(parts[place + 1 :]))
    try:
        return bool(pattern(f"(?s)^(?:{as_expression(given, groups=groups)})$").search(text))
    except PatternError:
        return text == _ESCAPED.sub(r"\1", given)


def _around(text: str, head: str, negated: str, tail: str) -> bool:
    """True if a text is what one pattern means, then nothing that a group means, then what another pattern means."""
    if len(text) > _LONGEST_NEGATED:
        raise TooLong
    ends = range(len(text) + 1)
    starts = [0] if not head else [each for each in ends if matches(text[:each], head)]
    lasts = [len(text)] if not tail else [each for each in ends if matches(text[each:], tail, groups="!(" not in tail)]
    unwanted = f"@{negated[1:]}"
    return any(not matches(text[start:end], unwanted, groups=True) for start in starts for end in lasts if start <= end)


def cut(value: str, operator: str, given: str, *, groups: bool = False) -> str:
    """A value without the beginning or the end that a pattern means: the shortest, or with two signs the longest.

    Examples
    --------
    >>> cut("a.tar.gz", "%", ".*"), cut("a.tar.gz", "%%", ".*"), cut("/a/b", "##", "*/")
    ('a.tar', 'a', 'b')
    """
    longest = len(operator) == 2
    try:
        if operator[0] == "#":
            found = pattern(f"(?s)^(?:{as_expression(given, lazy=not longest, groups=groups)})").search(value)
            return value[found.end() :] if found else value
        found = pattern(f"(?s)^(.*{'?' if longest else ''})(?:{as_expression(given, groups=groups)})$").search(value)
        return str(found[1]) if found else value
    except PatternError:
        return value


def replaced(value: str, operator: str, given: str, into: str, *, groups: bool = False) -> str:
    """A value with another text for the first part that a pattern means, or for each with ``//``. Raises TooLong.

    With ``/#`` the part has to be the beginning, and with ``/%`` the end.

    Examples
    --------
    >>> replaced("a.b.c", "/", ".", "-"), replaced("a.b.c", "//", ".", "-"), replaced("a.a", "/%", "a", "b")
    ('a-b.c', 'a-b-c', 'a.b')
    """
    made = as_expression(given, groups=groups)
    anchored = f"^(?:{made})" if operator == "/#" else f"(?:{made})$" if operator == "/%" else made
    try:
        matcher: Any = pattern(f"(?s){anchored}")
    except PatternError:
        return value
    if not given and operator in ("/", "//"):
        return value
    most = None if operator == "//" else 1
    if len(value) + len(into) * sum(1 for _ in islice(matcher.finditer(value), most)) > LONGEST_WORD:
        raise TooLong
    return str(matcher.sub(lambda _: into, value, most or 0))


def matching(files: UserFiles, folder: str, given: str, options: Collection[str] = ()) -> list[str]:
    """The paths that a pattern means, as they are written: from the root, or from a folder. None of them begins a name
    with a dot unless the pattern does, or the option ``dotglob`` is set. Raises TooLong.

    Examples
    --------
    >>> from simkit.simulation.shell.files import Files
    >>> files = UserFiles(Files({"/etc/a.conf": "", "/etc/b.conf": "", "/etc/.hidden": ""}))
    >>> matching(files, "/etc", "*.conf"), matching(files, "/", "/e*/[b-z].conf")
    (['a.conf', 'b.conf'], ['/etc/b.conf'])
    """
    if not is_magic(given, groups="extglob" in options):
        return []
    found = ["/" if given.startswith("/") else ""]
    parts = list(filter(None, given.split("/")))
    for number, part in enumerate(parts):
        bases, found = found, []
        known: dict[str, list[str]] = {}
        for base in bases:
            place = resolved(base or ".", folder)
            if place not in known:
                deep = part == "**" and "globstar" in options
                last = number == len(parts) - 1
                known[place] = _below(files, place, last=last) if deep else _names(files, place, part, options)
            found += [f"{base}{name}/" if name else base for name in known[place]]
            if len(found) > _MOST_PATHS:
                raise TooLong
    end = "/" if given.endswith("/") else ""
    return [each.rstrip("/") + end for each in found if each]


def _below(files: UserFiles, folder: str, *, last: bool) -> list[str]:
    """The paths that ``**`` means: all below a folder if it is the last part, else the folder and those in it."""
    if not files.is_folder(folder):
        return []
    inner = [path[len(folder.rstrip("/")) + 1 :] for path in files.tree(folder) if path != folder]
    shown = [path for path in inner if not any(part.startswith(".") for part in path.split("/"))]
    return shown if last else ["", *(path for path in shown if files.is_folder(f"{folder}/{path}"))]


def _names(files: UserFiles, folder: str, part: str, options: Collection[str]) -> list[str]:
    groups = "extglob" in options
    if not is_magic(part, groups=groups):
        name = _ESCAPED.sub(r"\1", part)
        return [name] if name in (".", "..") or files.exists(f"{folder}/{name}") else []
    if not files.is_folder(folder):
        return []
    try:
        names = files.listed(folder)
    except FileError:
        return []
    hidden = part.startswith((".", "\\.")) or "dotglob" in options
    shown = [each for each in names if hidden or each[:1] != "."]
    if "nocaseglob" in options:
        return [each for each in shown if matches(each.lower(), part.lower(), groups=groups)]
    return [each for each in shown if matches(each, part, groups=groups)]


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
