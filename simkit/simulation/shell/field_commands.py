"""Commands about fields and columns of lines: ``cut``, ``paste``, ``join``, ``column``, ``fold``, ``expand``.

References
----------
POSIX.1-2017; options of GNU coreutils 9.1 and util-linux 2.38 in the locale C.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.effects import (
    ELEMENT,
    Budget,
    Lines,
    contents,
    error,
    kept_lines,
    line,
    whole,
    within_memory,
)
from simkit.simulation.shell.machine import Machine, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_CUT: Final = Syntax(
    valued="dfcbO",
    names={
        "delimiter": "d", "fields": "f", "characters": "c", "bytes": "b", "output-delimiter": "O", "complement": "~",
        "only-delimited": "s", "zero-terminated": "z",
    },
)  # fmt: skip
_PASTE: Final = Syntax(valued="d", names={"delimiters": "d", "serial": "s", "zero-terminated": "z"})
_JOIN: Final = Syntax(
    valued="avtojeE12", names={"ignore-case": "i", "header": "H", "check-order": "%", "nocheck-order": "%"}
)
_COLUMN: Final = Syntax(
    valued="socNR", names={"table": "t", "separator": "s", "output-separator": "o", "output-width": "c",
                           "table-columns": "N", "table-right": "R"},
)  # fmt: skip
_FOLD: Final = Syntax(valued="w", names={"width": "w", "spaces": "s", "bytes": "b"}, numbers=False)
_TABS: Final = Syntax(valued="t", names={"tabs": "t", "initial": "i", "all": "a"})
_RANGE: Final = re.compile(r"(\d{1,9})?(-)?(\d{1,9})?")
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "\\0": ""}
_TAB: Final = 8
_USUAL_WIDTH: Final = 80


def _ranges(text: str) -> list[tuple[int, int | None]]:
    """The places of a list such as ``1,3-``, from 1. Raises ValueError."""
    made = []
    for each in re.split(r"[, ]", text):
        found = _RANGE.fullmatch(each)
        if found is None or not (found[1] or found[3]):
            raise ValueError(f"invalid list value '{text}'")
        first = int(found[1] or 1)
        if not first:
            raise ValueError("fields and positions are numbered from 1")
        made.append((first, (int(found[3]) if found[3] else None) if found[2] else first))
    return made


def _places(ranges: Sequence[tuple[int, int | None]], length: int, *, others: bool) -> list[int]:
    """The places, from 0, that are wanted of some number of parts, in order and each once."""
    wanted = {at for first, last in ranges for at in range(first - 1, min(length, length if last is None else last))}
    return sorted(set(range(length)) - wanted if others else wanted)


def _cut(machine: Machine, words: list[str]) -> Run:
    try:
        given = _CUT.read(words[1:])
        kind = next((letter for letter in "fcb" if letter in given), "")
        if not kind:
            raise ValueError("you must specify a list of bytes, characters, or fields")
        ranges = _ranges(given.last(kind))
    except (UnknownOption, ValueError) as problem:
        yield error("cut", str(problem))
        return 1
    lines, separator, budget = Lines(machine, "cut", given.rest), given.last("d", "\t")[:1], Budget()
    between, others = given.last("O", separator if kind == "f" else ""), "~" in given
    while text := (yield from lines.next()):
        each = text.rstrip("\n")
        budget.spend((len(ranges) + 1) * (len(each) + 1))
        if kind != "f":
            yield line(between.join(each[at] for at in _places(ranges, len(each), others=others)))
        elif separator in each:
            parts = each.split(separator)
            yield line(between.join(parts[at] for at in _places(ranges, len(parts), others=others)))
        elif "s" not in given:
            yield line(each)
    return lines.code


def _delimiters(text: str) -> list[str]:
    found = re.findall(r"\\.|[^\\]|\\\Z", text, re.DOTALL)
    return [_ESCAPES.get(each, each[-1]) for each in found] or [""]


def _paste(machine: Machine, words: list[str]) -> Run:
    try:
        given = _PASTE.read(words[1:])
    except UnknownOption as problem:
        yield error("paste", str(problem))
        return 1
    between, names = _delimiters(given.last("d", "\t")), given.rest or ["-"]
    shared = Lines(machine, "paste", ["-"])
    sources = [shared if name == "-" else Lines(machine, "paste", [name]) for name in names]
    budget = Budget()
    if "s" in given:
        for source in sources:
            made: list[str] = []
            while text := (yield from source.next()):
                budget.spend(len(text) + ELEMENT)
                made.append(text.rstrip("\n"))
            yield line(_joined(made, between))
    else:
        while True:
            row = list[str]()
            for source in sources:
                row += [(yield from source.next())]
            if not any(row):
                break
            yield line(_joined([each.rstrip("\n") for each in row], between))
    return max(source.code for source in sources)


def _joined(parts: Sequence[str], between: Sequence[str]) -> str:
    """Parts with delimiters between them, which begin again where there are fewer."""
    return "".join(part + (between[at % len(between)] if at + 1 < len(parts) else "") for at, part in enumerate(parts))


class _Joined:
    """Two files, line by line, by a field of each. Both are in the order of that field."""

    def __init__(self, given: Given, rows: Sequence[list[list[str]]]) -> None:
        self._rows, self._between = rows, given.last("t", " ")
        self._fields = [
            whole(given.last("1", given.last("j", "1"))) - 1,
            whole(given.last("2", given.last("j", "1"))) - 1,
        ]
        self._empty, self._form = given.last("e"), re.split(r"[, ]", " ".join(given.all("o"))) if "o" in given else None
        self._alone = {whole(each) - 1 for each in (*given.all("a"), *given.all("v"))}
        self._pairs, self._folds = "v" not in given, "i" in given

    def _key(self, side: int, row: list[str]) -> str:
        key = row[self._fields[side]] if self._fields[side] < len(row) else ""
        return key.lower() if self._folds else key

    def lines(self) -> Iterator[str]:
        """The lines of the result."""
        left, right = self._rows
        one = two = 0
        while one < len(left) or two < len(right):
            first = self._key(0, left[one]) if one < len(left) else None
            second = self._key(1, right[two]) if two < len(right) else None
            if second is None or (first is not None and first < second):
                yield from self._unpaired(0, left[one])
                one += 1
            elif first is None or second < first:
                yield from self._unpaired(1, right[two])
                two += 1
            else:
                ends = [one, two]
                while ends[0] < len(left) and self._key(0, left[ends[0]]) == first:
                    ends[0] += 1
                while ends[1] < len(right) and self._key(1, right[ends[1]]) == first:
                    ends[1] += 1
                if self._pairs:
                    for row in left[one : ends[0]]:
                        yield from (self._shown(row, other) for other in right[two : ends[1]])
                one, two = ends

    def _unpaired(self, side: int, row: list[str]) -> Iterator[str]:
        if side in self._alone:
            yield self._shown(*((row, None) if side == 0 else (None, row)))

    def _shown(self, left: list[str] | None, right: list[str] | None) -> str:
        rows = (left, right)
        side = 0 if left is not None else 1
        row = rows[side] or []
        key = row[self._fields[side]] if self._fields[side] < len(row) else ""
        if self._form is None:
            rest = [each for at, own in enumerate(rows) if own for each in self._without(at, own)]
            return self._between.join([key, *rest])
        made = []
        for part in self._form:
            file, _, number = part.partition(".")
            own = rows[whole(file) - 1] if number else None
            made.append(key if part == "0" else own[whole(number) - 1] if own and whole(number) <= len(own) else "")
        return self._between.join(each or self._empty for each in made)

    def _without(self, side: int, row: list[str]) -> list[str]:
        return [each for at, each in enumerate(row) if at != self._fields[side]]


def _join(machine: Machine, words: list[str]) -> Run:
    try:
        given = _JOIN.read(words[1:])
    except UnknownOption as problem:
        yield error("join", str(problem))
        return 1
    if len(given.rest) != 2:
        yield error("join", "missing operand" if len(given.rest) < 2 else f"extra operand '{given.rest[2]}'")
        return 1
    rows = []
    for name in given.rest:
        data, code = yield from contents(machine, "join", [name])
        if code:
            return code
        texts = [each.decode("utf-8", "replace") for each in kept_lines(data)]
        rows.append([each.split(given.last("t")) if given.last("t") else each.split() for each in texts])
    budget = Budget()
    for text in _Joined(given, rows).lines():
        budget.spend(len(text) + 1)
        yield line(text)
    return 0


def _column(machine: Machine, words: list[str]) -> Run:
    """``column [-t] [-s SIGNS] [-o TEXT]``: a table, or columns that fill the width."""
    try:
        given = _COLUMN.read(words[1:])
    except UnknownOption as problem:
        yield error("column", str(problem))
        return 1
    data, code = yield from contents(machine, "column", given.rest)
    texts = [each.decode("utf-8", "replace") for each in kept_lines(data)]
    texts = [each for each in texts if each.strip()]
    if "t" in given or given.any("soN"):
        signs = given.last("s")
        rows = [re.split(f"[{re.escape(signs)}]", each) if signs else each.split() for each in texts]
        if "N" in given:
            rows.insert(0, given.last("N").split(","))
        yield Write("".join(_table(rows, given.last("o", "  "))).encode())
    else:
        yield Write("".join(_filled(texts, whole(given.last("c", "0")) or _USUAL_WIDTH)).encode())
    return code


def _table(rows: Sequence[Sequence[str]], between: str) -> Iterator[str]:
    """Rows in columns; the last part of the longest rows is not filled up."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(count)]
    Budget().spend(len(rows) * (sum(widths) + count * len(between)))
    for row in rows:
        cells = [*row, *[""] * (count - len(row))]
        yield (
            between.join([*(cell.ljust(width) for cell, width in zip(cells[:-1], widths, strict=False)), *cells[-1:]])
            + "\n"
        )


def _filled(texts: Sequence[str], width: int) -> Iterator[str]:
    if not texts:
        return
    wide = (max(map(len, texts)) // _TAB + 1) * _TAB
    count = max(1, width // wide)
    rows = -(-len(texts) // count)
    for at in range(rows):
        row = texts[at::rows]
        made = "".join(each + "\t" * -(-(wide - len(each)) // _TAB) for each in row[:-1])
        yield f"{made}{row[-1]}\n"


def _fold(machine: Machine, words: list[str]) -> Run:
    given = _FOLD.read([f"-w{word[1:]}" if re.fullmatch(r"-\d{1,6}", word) else word for word in words[1:]])
    width, lines = max(1, whole(given.last("w", str(_USUAL_WIDTH)))), Lines(machine, "fold", given.rest)
    while text := (yield from lines.next()):
        left, end = text.rstrip("\n"), text[len(text.rstrip("\n")) :]
        while len(left) > width:
            blank = left.rfind(" ", 0, width) + 1 if "s" in given else 0
            yield line(left[: blank or width])
            left = left[blank or width :]
        yield Write((left + end).encode())
    return lines.code


def _expand(machine: Machine, words: list[str]) -> Run:
    """``expand``, and ``unexpand`` for the blanks at the start of lines (with ``-a`` for all)."""
    given = _TABS.read(words[1:])
    size, lines = max(1, whole(given.last("t", str(_TAB)))), Lines(machine, words[0], given.rest)
    budget = Budget()
    while text := (yield from lines.next()):
        budget.spend(len(text) + text.count("\t") * size)
        if words[0] == "expand":
            yield Write(text.expandtabs(size).encode())
            continue
        yield Write(_with_tabs(text, size, every=given.any("at")).encode())
    return lines.code


def _with_tabs(text: str, size: int, *, every: bool) -> str:
    spread = text.expandtabs(size)
    start = len(spread) - len(spread.lstrip(" "))
    if not every:
        return "\t" * (start // size) + " " * (start % size) + spread[start:]
    parts = [spread[at : at + size] for at in range(0, len(spread), size)]
    shorter = [f"{each.rstrip(' ')}\t" if len(each) == size and each.endswith("  ") else each for each in parts]
    return "".join(shorter)


FIELD_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "cut": within_memory(_cut),
    "paste": within_memory(_paste),
    "join": within_memory(_join),
    "column": within_memory(_column),
    "fold": _fold,
    "expand": within_memory(_expand),
    "unexpand": within_memory(_expand),
}
"""The commands of this module, by name."""
