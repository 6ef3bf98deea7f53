"""``read`` and ``mapfile``: lines of the input become variables and arrays.

References
----------
POSIX.1-2017, ``read``; Bash Reference Manual 5.2, 4.2 Bash Builtin Commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.effects import error, options, whole
from simkit.simulation.shell.machine import STDERR, Effect, Machine, OutOfMemory, Read, Run, Write
from simkit.simulation.shell.patterns import LONGEST_WORD
from simkit.simulation.shell.tasks import Pipe
from simkit.simulation.shell.variables import Reference, reference, set_elements, set_text


class _Input:
    """The input of ``read``: the standard input, or a file with a number, behind what an earlier ``read`` has left."""

    def __init__(self, machine: Machine, number: str | None, within: float | None) -> None:
        self._machine = machine
        self._source: Pipe | None = machine.inputs.get(whole(number)) if number is not None else None
        self._within = within

    def line(self) -> Generator[Effect, bytes, bytes]:
        """The next line with its end; none at the end of the input, or when time is over."""
        kept, self._machine.unread = self._machine.unread, ""
        if "\n" in kept:
            head, end, self._machine.unread = kept.partition("\n")
            return f"{head}{end}".encode()
        if self._source is not None:
            return kept.encode() + (self._source.take(Read()) or b"")
        return kept.encode() + ((yield Read(within=self._within)) or b"")


def _read(machine: Machine, words: list[str]) -> Run:
    """A line of the input, split into variables; the last one gets the rest."""
    given, names = options(words[1:], valued="tpnudaNi" if machine.bash else "tpnud")
    within = float(given["t"]) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", given.get("t", "")) else None
    if machine.bash and "p" in given and machine.environment.get("TERM"):
        yield Write(given["p"].encode(), STDERR)
    text, ended = yield from _taken(_Input(machine, given.get("u"), within), machine, given)
    try:
        if "a" in given:
            elements = [(None, each, False) for each in _split(machine, text, raw="r" in given)]
            set_elements(machine, given["a"], elements, appends=False)
        elif machine.bash and not names:
            machine.assign("REPLY", text if "r" in given else _unescaped(text))
        elif "N" in given:
            machine.assign(names[0], text)
        else:
            for name, value in shared_out(machine, text, names or ["REPLY"], raw="r" in given):
                set_text(machine, reference(name) or Reference(name), value)
    except ArithmeticFault as fault:
        yield error(f"{machine.shell}: read", str(fault))
        return 1
    return int(ended)


def _taken(source: _Input, machine: Machine, given: Mapping[str, str]) -> Generator[Effect, bytes, tuple[str, bool]]:
    """The text that is read, without what ends it, and whether the input has ended before."""
    if machine.bash and ({"d", "n", "N"} & given.keys()):
        return (yield from _up_to(source, machine, given))
    parts, ended = list[str](), False
    while True:
        part = (yield from source.line()).decode("utf-8", "replace")
        ended = not part.endswith("\n")
        parts.append(part.removesuffix("\n"))
        if "r" in given or ended or not _goes_on(parts[-1]):
            break
        parts[-1] = parts[-1][:-1]
    return "".join(parts), ended


def _up_to(source: _Input, machine: Machine, given: Mapping[str, str]) -> Generator[Effect, bytes, tuple[str, bool]]:
    """The letters up to one that ends them, or as many as are wanted; the rest is left. Raises OutOfMemory."""
    most = whole(given.get("N", given.get("n", "0"))) if {"n", "N"} & given.keys() else 0
    end = "" if "N" in given else (given["d"][:1] or "\0") if "d" in given else "\n"
    text, searched = "", 0
    while True:
        place = text.find(end, searched) if end else -1
        if most and len(text) >= most and not 0 <= place < most:
            machine.unread = text[most:]
            return text[:most], False
        if place >= 0:
            machine.unread = text[place + 1 :]
            return text[:place], False
        searched = len(text)
        more = (yield from source.line()).decode("utf-8", "replace")
        if not more:
            return text, True
        text += more
        if len(text) > LONGEST_WORD:
            raise OutOfMemory


def _mapfile(machine: Machine, words: list[str]) -> Run:
    """``mapfile`` and ``readarray``: the lines of the input become the elements of an array."""
    given, names = options(words[1:], valued="dnOsuCc")
    source, end = _Input(machine, given.get("u"), None), (given["d"][:1] or "\0") if "d" in given else "\n"
    name, most, skipped = (names or ["MAPFILE"])[0], whole(given.get("n", "0")), whole(given.get("s", "0"))
    if reference(name) is None:
        yield error(f"{machine.shell}: mapfile", f"`{name}': not a valid identifier")
        return 1
    if "O" not in given:
        set_elements(machine, name, [], appends=False)
    place, count, rest = whole(given.get("O", "0")), 0, ""
    while not most or count - skipped < most:
        line = (yield from source.line()).decode("utf-8", "replace") if end == "\n" or end not in rest else ""
        rest += line
        if not rest:
            break
        if len(rest) > LONGEST_WORD and end not in rest:
            raise OutOfMemory
        head, found, rest = rest.partition(end)
        count += 1
        if count > skipped:
            machine.put(machine.meant(name), place, head if "t" in given else head + found)
            place += 1
    return 0


def _split(machine: Machine, text: str, *, raw: bool) -> list[str]:
    """All words of a line."""
    most = 1 + len(text)
    found = [value for _, value in shared_out(machine, text, ["x"] * most, raw=raw)] if text else []
    while found and not found[-1]:
        found.pop()
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _goes_on(text: str) -> bool:
    """True for a line that ends with a backslash which no other one makes a letter."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def shared_out(machine: Machine, text: str, names: list[str], *, raw: bool) -> list[tuple[str, str]]:
    """A line split at separators into as many parts as there are names; separators in the last one stay."""
    separators = machine.environment.get("IFS", " \t\n")
    if not separators:
        return [(name, "" if number else text) for number, name in enumerate(names)]
    around = "".join(each for each in separators if each in " \t\n")
    blanks = re.escape(around)
    signs = re.escape("".join(each for each in separators if each not in " \t\n"))
    blank = f"[{blanks}]*" if blanks else ""
    gap = re.compile(f"{blank}[{signs}]{blank}" + (f"|[{blanks}]+" if blanks else "") if signs else f"[{blanks}]+")
    left, start = text.strip(around) if around else text, 0
    found = []
    for name in names[:-1]:
        at = gap.search(left, start) if separators else None
        end, following = at.span() if at is not None else (len(left), len(left))
        found.append((name, left[start:end]))
        start = following
    left = left[start:]
    if signs and separators and (ends := gap.search(left)) is not None and ends.end() == len(left):
        left = left[: ends.start()]
    found.append((names[-1], left))
    return found if raw else [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in found]


READING_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
}
"""The commands of this module, by name."""
