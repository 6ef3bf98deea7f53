"""Commands that compare files: ``diff`` and ``cmp``.

References
----------
POSIX.1-2017, ``diff`` and ``cmp``; options of GNU diffutils 3.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.date_command import shown_time
from simkit.simulation.shell.differences import Change, changes
from simkit.simulation.shell.effects import (
    LINE,
    STANDARD_INPUT,
    Budget,
    error,
    line,
    read_all,
    whole,
    within_memory,
)
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_DIFF: Final = Syntax(
    valued="UCLxI",
    names={
        "unified": "u", "brief": "q", "report-identical-files": "s", "recursive": "r", "ignore-case": "i",
        "ignore-all-space": "w", "ignore-space-change": "b", "ignore-blank-lines": "B", "new-file": "N", "text": "a",
        "label": "L", "exclude": "x", "color": "%", "strip-trailing-cr": "#", "minimal": "d",
    },
)  # fmt: skip
_CMP: Final = Syntax(valued="n", names={"silent": "s", "quiet": "s", "verbose": "l", "bytes": "n"})
_FAULT: Final = 2
_AROUND: Final = 3
"""The lines around a change."""
_UNENDED: Final = "\\ No newline at end of file"
_STAMP: Final = "%F %T.%N %z"


class _Side:
    """One of the two files: its lines, and their forms that are compared."""

    def __init__(self, data: bytes, given: Given) -> None:
        Budget().spend(len(data) + LINE * data.count(b"\n"))
        text = data.decode("utf-8", "surrogateescape")
        self.lines = text.removesuffix("\n").split("\n") if text else []
        self.ended = not text or text.endswith("\n")
        self.forms = [_form(each, given) for each in self.lines]
        if not self.ended:
            self.forms[-1] += "\n"

    def shown(self, sign: str, start: int, end: int) -> Iterator[str]:
        """Some lines behind a sign."""
        for at in range(start, end):
            yield f"{sign}{self.lines[at]}"
            if at + 1 == len(self.lines) and not self.ended:
                yield _UNENDED


def _form(text: str, given: Given) -> str:
    if "#" in given:
        text = text.removesuffix("\r")
    if "w" in given:
        text = re.sub(r"\s+", "", text)
    elif "b" in given:
        text = re.sub(r"\s+", " ", text).rstrip()
    return text.lower() if "i" in given else text


def _found(one: _Side, other: _Side, given: Given) -> list[Change]:
    made = changes(one.forms, other.forms)
    if "B" not in given:
        return made
    return [
        each
        for each in made
        if any(one.lines[each.start : each.end]) or any(other.lines[each.other_start : each.other_end])
    ]


def _normal(one: _Side, other: _Side, found: Sequence[Change]) -> Iterator[str]:
    """The changes as commands of an editor, with the lines."""
    for each in found:
        kind = "a" if each.start == each.end else "d" if each.other_start == each.other_end else "c"
        yield f"{_span(each.start, each.end)}{kind}{_span(each.other_start, each.other_end)}"
        yield from one.shown("< ", each.start, each.end)
        if kind == "c":
            yield "---"
        yield from other.shown("> ", each.other_start, each.other_end)


def _span(start: int, end: int) -> str:
    return str(max(start, end) if end - start < 2 else f"{start + 1},{end}") if start != end else str(start)


def _unified(one: _Side, other: _Side, found: Sequence[Change], around: int) -> Iterator[str]:
    """The changes with lines around them; those that are near to each other stand together."""
    group: list[Change] = []
    for each in found:
        if group and each.start - group[-1].end > 2 * around:
            yield from _hunk(one, other, group, around)
            group = []
        group.append(each)
    if group:
        yield from _hunk(one, other, group, around)


def _hunk(one: _Side, other: _Side, group: Sequence[Change], around: int) -> Iterator[str]:
    before = min(around, group[0].start)
    start, other_start = group[0].start - before, group[0].other_start - before
    after = min(around, len(one.lines) - group[-1].end)
    end, other_end = group[-1].end + after, group[-1].other_end + after
    yield f"@@ -{_size(start, end)} +{_size(other_start, other_end)} @@"
    at = start
    for each in group:
        yield from one.shown(" ", at, each.start)
        yield from one.shown("-", each.start, each.end)
        yield from other.shown("+", each.other_start, each.other_end)
        at = each.end
    yield from one.shown(" ", at, end)


def _size(start: int, end: int) -> str:
    count = end - start
    return str(start + 1) if count == 1 else f"{start + (count > 0)},{count}"


def _data(machine: Machine, name: str, given: Given) -> Generator[Effect, bytes, bytes]:
    """The content of a file; that of one that is not there is empty where it may be. Raises FileError."""
    if name in STANDARD_INPUT:
        return (yield from read_all())
    if "N" in given and not machine.files.exists(machine.path(name)):
        return b""
    return machine.files.read(machine.path(name))


def _diff(machine: Machine, words: list[str]) -> Run:
    try:
        given = _DIFF.read(words[1:])
    except UnknownOption as problem:
        yield error("diff", str(problem))
        return _FAULT
    if len(given.rest) != 2:
        yield error("diff", "missing operand" if len(given.rest) < 2 else f"extra operand '{given.rest[2]}'")
        return _FAULT
    one, other = given.rest
    folders = [machine.files.is_folder(machine.path(name)) for name in given.rest]
    if all(folders):
        return (yield from _folders(machine, one, other, given))
    if folders[0] and other not in STANDARD_INPUT:
        one = f"{one.rstrip('/')}/{other.rpartition('/')[2]}"
    elif folders[1] and one not in STANDARD_INPUT:
        other = f"{other.rstrip('/')}/{one.rpartition('/')[2]}"
    return (yield from _files(machine, one, other, given))


def _files(machine: Machine, one: str, other: str, given: Given, *, title: str = "") -> Run:
    """Compare two files; a title stands before their differences."""
    try:
        first = yield from _data(machine, one, given)
        second = yield from _data(machine, other, given)
    except FileError as problem:
        missing = one if not machine.files.exists(machine.path(one)) else other
        yield error("diff", f"{missing}: {problem}")
        return _FAULT
    left, right = _Side(first, given), _Side(second, given)
    found = [] if first == second else _found(left, right, given)
    if not found:
        if "s" in given:
            yield line(f"Files {one} and {other} are identical")
        return 0
    if "q" in given:
        yield line(f"Files {one} and {other} differ")
        return 1
    if title:
        yield line(title)
    if given.any("uU"):
        names = list(given.all("L"))
        for sign, name, label in zip(("---", "+++"), (one, other), [*names, "", ""], strict=False):
            yield line(f"{sign} {label or _stamped(machine, name)}")
        made = _unified(left, right, found, whole(given.last("U", str(_AROUND))))
    else:
        made = _normal(left, right, found)
    yield Write("".join(f"{each}\n" for each in made).encode("utf-8", "surrogateescape"))
    return 1


def _stamped(machine: Machine, name: str) -> str:
    path = machine.path(name)
    there = name not in STANDARD_INPUT and machine.files.exists(path)
    return f"{name}\t{shown_time(machine.files.mark(path).time if there else machine.now, _STAMP)}"


def _folders(machine: Machine, one: str, other: str, given: Given) -> Run:
    """Compare what is in two folders by name."""
    names = [set(machine.files.listed(machine.path(folder))) for folder in (one, other)]
    code = 0
    flags = "".join(f"-{letter} " for letter in "ruqNwbiB" if letter in given)
    for name in sorted(names[0] | names[1]):
        paths = [f"{folder.rstrip('/')}/{name}" for folder in (one, other)]
        if not all(name in each for each in names) and "N" not in given:
            yield line(f"Only in {one if name in names[0] else other}: {name}")
            code = max(code, 1)
        elif all(machine.files.is_folder(machine.path(path)) for path in paths):
            if "r" in given:
                code = max(code, (yield from _folders(machine, paths[0], paths[1], given)))
            else:
                yield line(f"Common subdirectories: {paths[0]} and {paths[1]}")
        else:
            title = f"diff {flags}{paths[0]} {paths[1]}"
            code = max(code, (yield from _files(machine, paths[0], paths[1], given, title=title)))
    return code


def _cmp(machine: Machine, words: list[str]) -> Run:
    """``cmp [-s] [-l] [-n BYTES] ONE OTHER``."""
    given = _CMP.read(words[1:])
    one, other = (*given.rest, "-", "-")[:2]
    try:
        first = yield from _data(machine, one, given)
        second = yield from _data(machine, other, given)
    except FileError as problem:
        missing = one if not machine.files.exists(machine.path(one)) else other
        if "s" not in given:
            yield error("cmp", f"{missing}: {problem}")
        return _FAULT
    if "n" in given:
        first, second = first[: whole(given.last("n"))], second[: whole(given.last("n"))]
    if first == second:
        return 0
    if "s" in given:
        return 1
    differing = [at for at, (left, right) in enumerate(zip(first, second, strict=False), 1) if left != right]
    if "l" in given:
        for at in differing:
            yield line(f"{at} {first[at - 1]:3o} {second[at - 1]:3o}")
    elif differing:
        lines = first[: differing[0] - 1].count(b"\n") + 1
        yield line(f"{one} {other} differ: byte {differing[0]}, line {lines}")
        return 1
    shorter = one if len(first) < len(second) else other
    size, lines = min(len(first), len(second)), (first if shorter == one else second).count(b"\n")
    if len(first) != len(second):
        where = f"after byte {size}, line {lines}" if size else "which is empty"
        yield Write(f"cmp: EOF on {shorter} {where}\n".encode(), STDERR)
    return 1


COMPARISON_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "diff": within_memory(_diff),
    "cmp": within_memory(_cmp),
}
"""The commands of this module, by name."""
