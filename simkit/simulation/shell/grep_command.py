"""``grep``: lines that match patterns.

References
----------
POSIX.1-2017, ``grep``; options and exit codes of GNU grep 3.8 and busybox 1.36.

Patterns are matched in linear time: there are no references back, and what has to stand before or behind a match of
``-P`` is known at its two ends only.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.effects import STANDARD_INPUT, Lines, error, line, whole, within_memory
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Effect, Machine, Run
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption
from simkit.simulation.shell.patterns import matches, regular_expression

_SYNTAX: Final = Syntax(
    valued="efmABCIX",
    names={
        "regexp": "e", "file": "f", "max-count": "m", "after-context": "A", "before-context": "B", "context": "C",
        "include": "I", "exclude": "X", "exclude-dir": "X", "ignore-case": "i", "invert-match": "v", "count": "c",
        "files-with-matches": "l", "files-without-match": "L", "line-number": "n", "only-matching": "o", "quiet": "q",
        "silent": "q", "no-messages": "s", "recursive": "r", "word-regexp": "w", "line-regexp": "x",
        "fixed-strings": "F", "extended-regexp": "E", "perl-regexp": "P", "basic-regexp": "G", "no-filename": "h",
        "with-filename": "H", "null": "0", "text": "a", "color": "%", "colour": "%", "line-buffered": "%",
        "binary-files": "%",
    },
)  # fmt: skip
_AHEAD: Final = re.compile(r"\A(?P<rest>.*)\(\?=(?P<text>(?:[^()\\]|\\.)*)\)\Z", re.DOTALL)
_BEHIND: Final = re.compile(r"\A\(\?<=(?P<text>(?:[^()\\]|\\.)*)\)(?P<rest>.*)\Z", re.DOTALL)
_SEPARATOR: Final = "--"
_FAULT: Final = 2


@dataclass(slots=True)
class _Query:
    """The patterns that are looked for, and the parts of lines that are shown."""

    matcher: Any
    group: int
    """The group of a match that is shown."""
    given: Given
    named: bool
    """True if the name of the file stands before each line."""
    before: int
    after: int
    most: int
    """The matches after which a file is left; none for -1."""
    found: bool = field(default=False)
    """True once a line of any file was chosen."""

    def chooses(self, text: str) -> bool:
        """True for a line that is wanted."""
        return bool(self.matcher.search(text)) is not ("v" in self.given)

    def parts(self, text: str) -> Iterator[str]:
        """The parts of a line that match."""
        return (hit[self.group] for hit in self.matcher.finditer(text) if hit[self.group])


def _perl(text: str) -> tuple[str, int]:
    """A pattern of Perl without what stands around its match, and the group that is the match."""
    kept = text.rpartition(r"\K")
    if kept[1]:
        return f"(?:{kept[0]})(?P<shown>{kept[2]})", 1
    behind, ahead = _BEHIND.match(text), _AHEAD.match(text)
    if behind is None and ahead is None:
        return text, 0
    start, inner = (behind["text"], behind["rest"]) if behind is not None else ("", text)
    ahead = _AHEAD.match(inner)
    inner, end = (ahead["rest"], ahead["text"]) if ahead is not None else (inner, "")
    return f"(?:{start})(?P<shown>{inner})(?:{end})", 1


def _compiled(command: str, given: Given, texts: Sequence[str]) -> tuple[Any, int]:
    """The pattern that stands for all of those given, and the group that is shown. Raises PatternError."""
    group, made = 0, []
    for text in texts:
        if "F" in given or command == "fgrep":
            part = re.escape(text)
        elif "P" in given:
            part, shown = _perl(text)
            group = shown if len(texts) == 1 else 0
        else:
            part = regular_expression(text, extended="E" in given or command == "egrep")
        part = rf"\b(?:{part})\b" if "w" in given else part
        made.append(f"^(?:{part})$" if "x" in given else part)
    whole_of = "|".join(f"(?:{part})" for part in made) if len(made) > 1 else "".join(made) if made else r"[^\s\S]"
    found = pattern(f"(?i){whole_of}" if "i" in given or "y" in given else whole_of)
    return found, found.groupindex.get("shown", 0) if group else 0


def _texts(machine: Machine, given: Given) -> list[str]:
    """The patterns, one a line. Raises FileError for a file of them that cannot be read."""
    texts = [text for each in given.all("e") for text in each.split("\n")]
    for name in given.all("f"):
        data = machine.files.read(machine.path(name)).decode("utf-8", "replace")
        texts += data.removesuffix("\n").split("\n") if data else []
    if not given.any("ef"):
        texts = given.rest.pop(0).split("\n") if given.rest else [""]
    return texts


def _sources(machine: Machine, given: Given) -> list[str]:
    """The names of the files, with those in folders where they are wanted."""
    if not given.any("rR"):
        return given.rest or ["-"]
    found = []
    for name in given.rest or ["."]:
        root = machine.path(name)
        if not machine.files.is_folder(root):
            found.append(name)
            continue
        for path in machine.files.tree(root):
            shown = f"{name.rstrip('/')}/{path[len(root) :].lstrip('/')}"
            shown = shown if given.rest else shown.removeprefix("./")
            if machine.files.is_file(path) and _included(given, shown):
                found.append(shown)
    return found


def _included(given: Given, path: str) -> bool:
    name, parts = path.rpartition("/")[2], path.split("/")
    wanted = given.all("I")
    if wanted and not any(matches(name, each) for each in wanted):
        return False
    return not any(matches(part, each) for each in given.all("X") for part in parts)


def _grep(machine: Machine, words: list[str]) -> Run:
    try:
        given = _SYNTAX.read(words[1:])
        texts = _texts(machine, given)
        matcher, group = _compiled(words[0], given, texts)
    except UnknownOption as problem:
        yield error("grep", str(problem))
        return _FAULT
    except FileError as problem:
        yield error("grep", f"{given.last('f')}: {problem}")
        return _FAULT
    except PatternError:
        yield error("grep", f"bad regex '{' '.join(texts)}'")
        return _FAULT
    sources, around = _sources(machine, given), whole(given.last("C", "0"))
    query = _Query(
        matcher,
        group,
        given,
        "H" in given or ((len(sources) > 1 or given.any("rR")) and "h" not in given),
        whole(given.last("B", str(around))),
        whole(given.last("A", str(around))),
        whole(given.last("m", "-1")),
    )
    code = 0
    for name in sources:
        code = (yield from _search(machine, query, name)) or code
        if query.found and "q" in given:
            return 0
    return code or int(not query.found)


def _search(machine: Machine, query: _Query, name: str) -> Run:
    """Look through one file."""
    given, shown = query.given, "(standard input)" if name in STANDARD_INPUT else name
    if name not in STANDARD_INPUT and "s" in given and not machine.files.is_file(machine.path(name)):
        return _FAULT
    lines = Lines(machine, "grep", [name])
    listing = given.any("lLcq")
    count = yield from _shown_lines(lines, query, f"{shown}" if query.named else "", silent=listing)
    if lines.code:
        return _FAULT
    query.found = query.found or count > 0
    if "q" in given:
        return 0
    if "l" in given or "L" in given:
        if bool(count) is ("l" in given):
            yield line(shown)
    elif "c" in given:
        yield line(f"{shown}:{count}" if query.named else str(count))
    return 0


def _shown_lines(lines: Lines, query: _Query, name: str, *, silent: bool) -> Generator[Effect, bytes, int]:
    """Show the lines of one file that are wanted, and some around them; gives back their number."""
    count = number = last = 0
    before: deque[tuple[int, str]] = deque(maxlen=query.before)
    after, stops = 0, "q" in query.given or "l" in query.given
    while count != query.most and (text := (yield from lines.next())):
        number, each = number + 1, text.rstrip("\n")
        each = each.removesuffix("\r") if "v" not in query.given else each
        chosen = query.chooses(each)
        if chosen:
            count += 1
            if stops:
                break
            if not silent:
                if (query.before or query.after) and last and number - len(before) > last + 1:
                    yield line(_SEPARATOR)
                for place, earlier in before:
                    yield line(_labelled(query, name, place, "-") + earlier)
                for part in _parts(query, each):
                    yield line(_labelled(query, name, number, ":") + part)
                last, after = number, query.after
                before.clear()
        elif after and not silent:
            yield line(_labelled(query, name, number, "-") + each)
            last, after = number, after - 1
        else:
            before.append((number, each))
    while after and not silent and count == query.most and (text := (yield from lines.next())):
        number, after = number + 1, after - 1
        yield line(_labelled(query, name, number, "-") + text.rstrip("\n"))
    return count


def _parts(query: _Query, text: str) -> Iterator[str]:
    if "o" not in query.given:
        return iter((text,))
    return query.parts(text) if "v" not in query.given else iter(())


def _labelled(query: _Query, name: str, number: int, sign: str) -> str:
    file = f"{name}{sign}" if name else ""
    return f"{file}{number}{sign}" if "n" in query.given else file


GREP_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = dict.fromkeys(
    ("grep", "egrep", "fgrep"), within_memory(_grep)
)
"""The commands of this module, by name."""
