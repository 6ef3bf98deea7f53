"""``sort``: lines in order, by keys.

References
----------
POSIX.1-2017, ``sort``; options of GNU coreutils 9.1 in the locale C.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.simulation.shell.effects import LINE, Budget, contents, error, within_memory
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_SYNTAX: Final = Syntax(
    valued="ktoST",
    names={
        "key": "k", "field-separator": "t", "output": "o", "buffer-size": "S", "temporary-directory": "T",
        "numeric-sort": "n", "reverse": "r", "unique": "u", "stable": "s", "check": "c", "zero-terminated": "z",
        "human-numeric-sort": "h", "version-sort": "V", "month-sort": "M", "general-numeric-sort": "g",
        "ignore-case": "f", "ignore-leading-blanks": "b", "dictionary-order": "d", "ignore-nonprinting": "i",
        "merge": "m", "parallel": "%",
    },
)  # fmt: skip
_KEY: Final = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?([a-zA-Z]*)(?:,(\d{1,9})(?:\.(\d{1,9}))?([a-zA-Z]*))?")
_ORDERS: Final = "nhVMg"
_BLANK_FIELD: Final = re.compile(r"[ \t]*[^ \t]*")
_NUMBER: Final = re.compile(r"[ \t]*(-?)(\d{0,300})(?:\.(\d{0,300}))?")
_REAL: Final = re.compile(r"\s*[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,3})?")
_MONTH_NAMES: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTHS: Final = {name: at for at, name in enumerate(_MONTH_NAMES, 1)}
_SUFFIXES: Final = " KMGTPEZY"
_FAULT: Final = 2


class _Key(NamedTuple):
    """A part of each line: from a field and a letter of it to others, with the letters of its order."""

    field: int
    letter: int
    last_field: int
    """The last field; 0 for the end of the line."""
    last_letter: int
    """The last letter of it; 0 for all."""
    order: str

    def of(self, text: str, separator: str) -> Any:
        """The value that a line is sorted by."""
        return _ordered(self._part(text, separator), self.order)

    def _part(self, text: str, separator: str) -> str:
        starts, ends = _fields(text, separator)
        if self.field > len(starts):
            return ""
        start = _skipped(text, starts[self.field - 1], self.order) + self.letter - 1
        end = len(text)
        if self.last_field and self.last_field <= len(ends):
            end = ends[self.last_field - 1]
            if self.last_letter:
                begun = _skipped(text, starts[self.last_field - 1], self.order)
                end = min(end, begun + self.last_letter)
        return text[start:end]


def _fields(text: str, separator: str) -> tuple[list[int], list[int]]:
    """The places where the fields of a line begin and end; without a separator blanks begin the next field."""
    if not separator:
        found = [each.span() for each in _BLANK_FIELD.finditer(text) if each[0]] or [(0, 0)]
        return [start for start, _ in found], [end for _, end in found]
    ends = [at for at, letter in enumerate(text) if letter == separator]
    return [0, *(at + 1 for at in ends)], [*ends, len(text)]


def _skipped(text: str, at: int, order: str) -> int:
    """The place behind the blanks at a place, where they do not count."""
    while "b" in order and at < len(text) and text[at] in " \t":
        at += 1
    return at


def _ordered(text: str, order: str) -> Any:
    """A text as it is compared in an order."""
    if "n" in order:
        return _number(text)[0]
    if "h" in order:
        value, end = _number(text)
        size = _SUFFIXES.find(text[end : end + 1].upper() or " ") if value else 0
        return (-1 if value < 0 else 1) * max(size, 0), value
    if "g" in order:
        found = _REAL.match(text)
        return float(found[0]) if found else float("-inf")
    if "M" in order:
        return _MONTHS.get(text.strip()[:3].upper(), 0)
    if "V" in order:
        return [(_version_text(part), int(digits or "0")) for part, digits in re.findall(r"(\D*)(\d{0,300})", text)]
    text = "".join(each for each in text if each.isalnum() or each in " \t") if "d" in order else text
    text = "".join(each for each in text if each.isprintable()) if "i" in order else text
    return text.upper() if "f" in order else text


def _number(text: str) -> tuple[float, int]:
    """The number at the start of a text, and the place behind it."""
    found = _NUMBER.match(text)
    if found is None or not (found[2] or found[3]):
        return 0.0, 0
    return float(f"{found[1]}{found[2] or '0'}.{found[3] or '0'}"), found.end()


def _version_text(text: str) -> list[int]:
    """A text in the order of versions: a tilde stands before the end, letters before other signs."""
    return [*(-1 if each == "~" else ord(each) if each.isalpha() else ord(each) + 0x110000 for each in text), 0]


def _keys(given: Given) -> list[_Key]:
    """The keys of a command, the whole line where there is none. Raises ValueError for a text that is no key."""
    common = "".join(letter for letter in "bdfgiMhnrV" if letter in given)
    made = []
    for text in given.all("k"):
        found = _KEY.fullmatch(text)
        if found is None or found[1] == "0":
            raise ValueError(f"invalid number at field start: invalid count at start of '{text}'")
        order = (found[3] or "") + (found[6] or "")
        numbers = [int(found[at] or 0) for at in (1, 2, 4, 5)]
        made.append(_Key(numbers[0], numbers[1] or 1, numbers[2], numbers[3], order or common))
    return made or [_Key(1, 1, 0, 0, common)]


def _in_order(lines: list[str], given: Given, keys: Sequence[_Key]) -> list[str]:
    separator = given.last("t").replace("\\t", "\t").replace("\\0", "\0")[:1]
    ordered = list(lines)
    if not given.any("su") and (given.any("k") or any(letter in keys[0].order for letter in "bdfi" + _ORDERS)):
        ordered.sort(reverse="r" in given)
    for key in reversed(keys):
        ordered.sort(key=lambda text, key=key: key.of(text, separator), reverse="r" in key.order)  # type: ignore[misc]
    if "u" not in given:
        return ordered
    seen: dict[str, str] = {}
    for text in ordered:
        seen.setdefault(repr([key.of(text, separator) for key in keys]), text)
    return list(seen.values())


def _sort(machine: Machine, words: list[str]) -> Run:
    try:
        given = _SYNTAX.read(words[1:])
        keys = _keys(given)
    except (UnknownOption, ValueError) as problem:
        yield error("sort", str(problem))
        return _FAULT
    data, code = yield from contents(machine, "sort", given.rest)
    end = b"\0" if "z" in given else b"\n"
    Budget().spend((len(data) + LINE * data.count(end)) * len(keys))
    lines = [each.decode("utf-8", "surrogateescape") for each in data.removesuffix(end).split(end)] if data else []
    ordered = _in_order(lines, given, keys)
    if given.any("cC"):
        wrong = next((at for at, (one, other) in enumerate(zip(lines, ordered, strict=False), 1) if one != other), 0)
        if (wrong or len(lines) != len(ordered)) and "c" in given:
            yield error("sort", f"{''.join(given.rest[:1]) or '-'}:{wrong + 1}: disorder: {lines[wrong]}")
        return int(bool(wrong) or len(lines) != len(ordered))
    made = b"".join(each.encode("utf-8", "surrogateescape") + end for each in ordered)
    if "o" not in given:
        yield Write(made)
        return _FAULT if code else 0
    try:
        machine.files.write(machine.path(given.last("o")), made)
    except FileError as problem:
        yield error("sort", f"open failed: {given.last('o')}: {problem}")
        return _FAULT
    return _FAULT if code else 0


SORT_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {"sort": within_memory(_sort)}
"""The commands of this module, by name."""
