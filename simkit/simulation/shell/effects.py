"""Small parts of commands: lines they print, errors, and their input as a whole."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Final

from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Read, Run, Write

STANDARD_INPUT: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
ENDLESS: Final = ("/dev/zero", "/dev/urandom", "/dev/random")
"""Devices from which any number of bytes is read."""
LONGEST_LINE: Final = 16 << 20
"""Bytes at which a line counts as one, though it has not ended."""
LONGEST_COMMAND: Final = 4 << 20
"""Letters of the words of a command."""
ELEMENT: Final = 1024
"""The work that a part which a command keeps counts for beside its letters, which bounds their number."""
LINE: Final = 128
"""The work that a line of an input counts for beside its letters, where a command keeps all of them."""
PART: Final = 1 << 16
"""Bytes of a file that are looked at at once."""
_MOST_WORK: Final = 4 * MOST_BYTES


class TooMuch(Exception):
    """A command whose words would make it write or look at far more than it reads."""


class Budget:
    """The work that one run of a command may do: letters that it writes, and parts that it looks at."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def spend(self, amount: int) -> None:
        """Count work before it is done. Raises TooMuch."""
        self._left -= amount
        if self._left < 0:
            raise TooMuch


def within_memory(command: Callable[[Machine, list[str]], Run]) -> Callable[[Machine, list[str]], Run]:
    """The command, ended with an error when its budget is spent."""

    def run(machine: Machine, words: list[str]) -> Run:
        try:
            return (yield from command(machine, words))
        except TooMuch:
            yield error(words[0], "out of memory")
            return 1

    return run


def filled(command: Sequence[str], mark: str, texts: Sequence[str]) -> list[str]:
    """The words of a command with texts, one after the other, in the place of a mark. Raises TooMuch.

    Examples
    --------
    >>> filled(["cp", "{}", "/to/{}"], "{}", ["a"])
    ['cp', 'a', '/to/a']
    """
    longer = sum(map(len, texts)) + len(texts) - 1
    if sum(len(each) + 1 + each.count(mark) * longer for each in command) > LONGEST_COMMAND:
        raise TooMuch
    joined = " ".join(texts)
    return [each.replace(mark, joined) for each in command]


def whole(text: str) -> int:
    """A number in few digits; 0 for any other text.

    Examples
    --------
    >>> whole("-12"), whole("x")
    (-12, 0)
    """
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else 0


def line(text: str) -> Write:
    """A line on the standard output."""
    return Write(f"{text}\n".encode())


def error(command: str, text: str) -> Write:
    """A line of a command on the standard error."""
    return Write(f"{command}: {text}\n".encode(), STDERR)


def read_all() -> Generator[Effect, bytes, bytes]:
    """The rest of the standard input. Raises TooMuch for more than the files of a container may hold."""
    parts, size = [], 0
    while part := (yield Read(everything=True)):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise TooMuch
    return b"".join(parts)


def contents(machine: Machine, command: str, names: Sequence[str]) -> Generator[Effect, bytes, tuple[bytes, int]]:
    """The files of some names one after the other, or the standard input; and the exit code so far. Raises TooMuch."""
    found, code = [], 0
    for name in names or ["-"]:
        if name in STANDARD_INPUT:
            found.append((yield from read_all()))
        else:
            try:
                found.append(machine.files.read(machine.path(name)))
            except FileError as problem:
                yield error(command, f"{name}: {problem}")
                code = 1
        if sum(map(len, found)) > MOST_BYTES:
            raise TooMuch
    return b"".join(found), code


def kept_lines(data: bytes) -> list[bytes]:
    """The lines of an input without their ends, for a command that keeps all of them. Raises TooMuch."""
    Budget().spend(len(data) + LINE * data.count(b"\n"))
    return data.removesuffix(b"\n").split(b"\n") if data else []


class Lines:
    """The lines of some files one after the other, or of the standard input as they come, each with its end.

    Attributes
    ----------
    code
        The exit code so far: 1 once a file could not be read.
    """

    def __init__(self, machine: Machine, command: str, names: Sequence[str]) -> None:
        self._machine, self._command, self._names = machine, command, deque(names or ["-"])
        self._left: list[bytes] = []
        self._begun = b""
        """The beginning of a line whose end has not come."""
        self._file, self._at = b"", 0
        """The present file, and how much of it was looked at."""
        self.code = 0

    def next(self) -> Generator[Effect, bytes, str]:
        """The next line; empty at the end."""
        while not self._left and (self._names or self._at < len(self._file)):
            if self._at < len(self._file):
                part = self._file[self._at : self._at + PART]
                self._at += PART
                self._share(part, more=self._at < len(self._file))
            elif self._names[0] in STANDARD_INPUT:
                found = yield Read(everything=True)
                if not found:
                    self._names.popleft()
                self._share(found, more=bool(found))
            else:
                yield from self._open(self._names.popleft())
        return self._left.pop().decode("utf-8", "replace") if self._left else ""

    def _open(self, name: str) -> Generator[Effect, bytes, None]:
        self._file, self._at = b"", 0
        try:
            self._file = self._machine.files.read(self._machine.path(name))
        except FileError as problem:
            yield error(self._command, f"{name}: {problem}")
            self.code = 1

    def _share(self, part: bytes, *, more: bool) -> None:
        """Have the lines of the next part; with ``more`` behind it, its last line may go on."""
        pieces = (self._begun + part).split(b"\n")
        last, self._begun = pieces.pop(), b""
        lines = [each + b"\n" for each in pieces]
        if more and len(last) < LONGEST_LINE:
            self._begun = last
        elif last:
            lines.append(last)
        self._left = lines[::-1]


def options(words: Sequence[str], valued: str = "") -> tuple[dict[str, str], list[str]]:
    """The one-letter options of a command with their values, and its other words.

    Parameters
    ----------
    words
        The words after the command.
    valued
        The letters of the options that take a value.

    Examples
    --------
    >>> options(["-rn", "-k2", "file"], valued="k")
    ({'r': '', 'n': '', 'k': '2'}, ['file'])
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    given = iter(words)
    for word in given:
        if word == "--":
            return found, [*rest, *given]
        if not word.startswith("-") or word == "-" or word.startswith("--"):
            rest.append(word)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in valued:
                found[letter] = word[place:] or next(given, "")
                break
            found[letter] = ""
    return found, rest
