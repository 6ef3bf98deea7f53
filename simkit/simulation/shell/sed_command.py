"""``sed``: runs the commands of a script on each line."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any, Final

from simkit.simulation.shell.effects import Budget, Lines, error, options
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.letter_cases import CASES, in_cases
from simkit.simulation.shell.machine import Effect, Machine, Run, Write, tick
from simkit.simulation.shell.sed_syntax import Address, Command, Reader, SedError

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_SHORT: Final = {"--quiet": "-n", "--silent": "-n", "--in-place": "-i", "--regexp-extended": "-E"}
Steps = Generator[Effect, bytes, None]
_IN_PLACE: Final = re.compile(r"-i|--in-place(?:=|\Z)")


class _Quit(Exception):
    """``q``."""


class _Stream:
    """The lines of some files, or of one, with one line known ahead: whether it is the last."""

    def __init__(self, machine: Machine, names: Sequence[str]) -> None:
        self._lines = Lines(machine, "sed", names)
        self._ahead: str | None = None

    @property
    def code(self) -> int:
        return self._lines.code

    def next(self) -> Generator[Effect, bytes, str]:
        """The next line, with its end; empty at the end."""
        found = self._ahead if self._ahead is not None else (yield from self._lines.next())
        self._ahead = None
        return found

    def is_last(self) -> Generator[Effect, bytes, bool]:
        """True if no line follows."""
        if self._ahead is None:
            self._ahead = yield from self._lines.next()
        return not self._ahead


class Sed:
    """A script that runs over lines."""

    def __init__(self, machine: Machine, commands: Sequence[Command], *, quiet: bool) -> None:
        self._machine, self._commands, self._quiet = machine, commands, quiet
        self._budget = Budget()
        self._hold, self._space, self._number = "", "", 0
        self._within: dict[int, int] = {}
        """The commands whose range has begun, and the line at which."""
        self._closed = set[int]()
        """The commands whose range, which a number begins, has begun: it does so once."""
        self._queued: list[str] = []
        self._substituted, self.code = False, 0
        self._last_pattern: Any = None
        self._begun = set[str]()
        self.written: list[str] | None = None
        """The printed lines, where they are kept; else they go to the standard output."""

    def run(self, stream: _Stream) -> Steps:
        """Run the script on all lines. Raises SedError, _Quit and TooMuch."""
        restarts = False
        while True:
            if not restarts:
                text = yield from stream.next()
                if not text:
                    return
                self._take(text)
            yield from tick(self._machine)
            restarts = yield from self._cycle(stream)

    def _take(self, text: str) -> None:
        self._ends = text.endswith("\n")
        self._space = text.removesuffix("\n")
        self._number += 1
        self._budget.spend(len(text) + 1)

    _ends = True

    def _print(self, text: str, *, ends: bool = True) -> Steps:
        self._budget.spend(len(text) + 1)
        made = f"{text}\n" if ends else text
        if self.written is not None:
            self.written.append(made)
        else:
            yield Write(made.encode())

    def _finish(self) -> Steps:
        """Print the line at the end of its turn, with what ``a`` and ``r`` have left for it."""
        if not self._quiet:
            yield from self._print(self._space, ends=self._ends)
        for text in self._queued:
            yield from self._print(text, ends=False)
        self._queued.clear()

    def _cycle(self, stream: _Stream) -> Generator[Effect, bytes, bool]:
        """One turn; true if the next begins without another line."""
        at = 0
        while at < len(self._commands):
            self._budget.spend(1)
            command = self._commands[at]
            at += 1
            if (yield from self._concerns(at - 1, command, stream)) is command.negated:
                at = command.target if command.name == "{" else at
                continue
            match command.name:
                case "b":
                    yield from tick(self._machine)
                    at = command.target
                case "t" | "T":
                    if self._substituted is (command.name == "t"):
                        yield from tick(self._machine)
                        at = command.target
                    self._substituted = False
                case "d":
                    yield from self._flush()
                    return False
                case "D":
                    _, newline, rest = self._space.partition("\n")
                    yield from self._flush()
                    self._space = rest
                    return bool(newline)
                case "c":
                    ends = command.last is None or (at - 1) not in self._within or command.negated
                    if ends:
                        yield from self._print(command.text)
                    yield from self._flush()
                    return False
                case "n" | "N":
                    if not (yield from self._more(command, stream)):
                        raise _Quit
                case "q" | "Q":
                    self.code = command.count
                    if command.name == "q":
                        yield from self._finish()
                    raise _Quit
                case _:
                    yield from self._simple(command)
        yield from self._finish()
        self._substituted = False
        return False

    def _flush(self) -> Steps:
        for text in self._queued:
            yield from self._print(text, ends=False)
        self._queued.clear()

    def _more(self, command: Command, stream: _Stream) -> Generator[Effect, bytes, bool]:
        """``n`` and ``N``: another line; false where there is none."""
        if (yield from stream.is_last()):
            yield from self._finish()
            return False
        if command.name == "n":
            yield from self._finish()
            self._take((yield from stream.next()))
        else:
            yield from self._flush()
            before = self._space
            self._take((yield from stream.next()))
            self._space = f"{before}\n{self._space}"
            self._budget.spend(len(self._space))
        return True

    def _simple(self, command: Command) -> Steps:
        match command.name:
            case "s":
                yield from self._substitute(command)
            case "p":
                yield from self._print(self._space)
            case "P":
                yield from self._print(self._space.partition("\n")[0])
            case "=":
                yield from self._print(str(self._number))
            case "i":
                yield from self._print(command.text)
            case "a":
                self._queue(f"{command.text}\n")
            case "y":
                self._space = self._space.translate(str.maketrans(command.text, command.into))
            case "h":
                self._hold = self._space
            case "H":
                self._hold = f"{self._hold}\n{self._space}"
            case "g":
                self._space = self._hold
            case "G":
                self._space = f"{self._space}\n{self._hold}"
            case "x":
                self._space, self._hold = self._hold, self._space
            case "z":
                self._space = ""
            case "l":
                yield from self._print(self._space.encode("unicode_escape").decode() + "$")
            case "r":
                path = self._machine.path(command.text)
                if self._machine.files.is_file(path):
                    self._queue(self._machine.files.read(path).decode("utf-8", "replace"))
            case "w":
                self._write(command.text, self._space)
            case "{":
                pass
            case name:
                raise SedError(f"unsupported command {name}")
        self._budget.spend(len(self._space) + len(self._hold))

    def _queue(self, text: str) -> None:
        """Leave a text for the end of the turn. Raises TooMuch."""
        self._budget.spend(len(text))
        self._queued.append(text)

    def _write(self, name: str, text: str) -> None:
        self._machine.files.write(self._machine.path(name), f"{text}\n".encode(), append=name in self._begun)
        self._begun.add(name)

    def _substitute(self, command: Command) -> Steps:
        matcher = self._known(command.pattern)
        text, made, start, seen, done, last = self._space, list[str](), 0, 0, False, -1
        for found in matcher.finditer(text):
            if found.start() == found.end() == last:
                continue
            last, seen = found.end(), seen + 1
            if seen < command.count:
                continue
            into = _replacement(command.into, found)
            self._budget.spend(len(into) + 1)
            made += [text[start : found.start()], into]
            start, done = found.end(), True
            if "g" not in command.flags:
                break
        if not done:
            return
        self._space, self._substituted = "".join([*made, text[start:]]), True
        if "p" in command.flags:
            yield from self._print(self._space)
        if command.text:
            self._write(command.text, self._space)

    def _known(self, given: Any) -> Any:
        """A pattern, or the last one where none is written."""
        self._last_pattern = self._last_pattern if given is None else given
        if self._last_pattern is None:
            raise SedError("no previous regexp")
        return self._last_pattern

    def _concerns(self, place: int, command: Command, stream: _Stream) -> Generator[Effect, bytes, bool]:
        first, last = command.first, command.last
        if first is None:
            return True
        if last is None:
            return (yield from self._is(first, stream))
        if place not in self._within:
            before_all = first == Address("line", 0)
            if before_all and self._number == 1 and place not in self._within:
                self._within[place] = 0
                return self._not_after(place, (yield from self._is(last, stream)))
            if first.kind == "line" and first.number:
                if place in self._closed or self._number < first.number:
                    return False
                self._closed.add(place)
                if last.kind == "line" and last.number <= self._number:
                    return self._number in (first.number, last.number)
            elif not (yield from self._is(first, stream)):
                return False
            if last.kind == "line" and last.number <= self._number:
                return True
            if last.kind == "after" and last.number == 0:
                return True
            if last.kind == "multiple" and (not last.number or self._number % last.number == 0):
                return True
            if last.kind == "last" and (yield from stream.is_last()):
                return True
            self._within[place] = self._number
            return True
        begun = self._within[place]
        over = self._number >= begun + last.number if last.kind == "after" else (yield from self._is(last, stream))
        if last.kind == "line" and self._number > last.number:
            del self._within[place]
            return (yield from self._is(first, stream))
        return self._not_after(place, over)

    def _not_after(self, place: int, over: bool) -> bool:
        """True, and the range has ended if it is over."""
        if over:
            del self._within[place]
        return True

    def _is(self, address: Address, stream: _Stream) -> Generator[Effect, bytes, bool]:
        match address.kind:
            case "line":
                return self._number == address.number
            case "each":
                step = address.step
                return (
                    self._number == address.number
                    if not step
                    else (self._number >= address.number and (self._number - address.number) % step == 0)
                )
            case "multiple":
                return not address.number or self._number % address.number == 0
            case "last":
                return (yield from stream.is_last())
        return self._known(address.pattern).search(self._space) is not None


def _replacement(into: str, found: Any) -> str:
    """The text for a match: ``&`` is the match, ``\\1`` a group of it."""

    def one(part: re.Match[str]) -> str:
        if part.group() == "&":
            return str(found.group())
        letter = part[1]
        if letter.isdigit():
            if int(letter) > found.re.groups:
                raise SedError(f"invalid reference \\{letter} on s command's RHS")
            return found.group(int(letter)) or ""
        return _ESCAPES.get(letter, letter)

    parts = CASES.split(into)
    made = [re.sub(r"\\(.)|&", one, part, flags=re.DOTALL) for part in parts[::2]]
    return made[0] if len(made) == 1 else in_cases(made, parts[1::2])


def sed(machine: Machine, words: list[str]) -> Run:
    """``sed [-nEri] [-e SCRIPT] [-f FILE] [SCRIPT] FILE...``. Raises TooMuch."""
    scripts, given, rest = list[str](), list(words[1:]), list[str]()
    while given:
        word = given.pop(0)
        if word in ("-e", "--expression") and given:
            scripts.append(given.pop(0))
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word in ("-f", "--file") and given:
            scripts.append(machine.files.read(machine.path(given.pop(0))).decode("utf-8", "replace"))
        else:
            rest.append(_SHORT.get(word, word))
    kept = next((word.partition("=")[2] if word[1] == "-" else word[2:] for word in rest if _IN_PLACE.match(word)), "")
    flags, names = options(["-i" if _IN_PLACE.match(word) else word for word in rest], valued="")
    if not scripts:
        if not names:
            yield error("sed", "a script is missing")
            return 1
        scripts = [names.pop(0)]
    extended, quiet = bool({"E", "r"} & flags.keys()), "n" in flags
    quiet = quiet or scripts[0].startswith("#n\n")
    try:
        commands = Reader("\n".join(scripts), extended=extended).commands()
        if "i" in flags:
            return (yield from _in_place(machine, commands, names, kept, quiet=quiet))
        running, stream = Sed(machine, commands, quiet=quiet), _Stream(machine, names)
        with suppress(_Quit):
            yield from running.run(stream)
        return running.code or stream.code
    except (SedError, FileError) as problem:
        told = str(problem)
    yield error("sed", told)
    return 1


def _in_place(machine: Machine, commands: Sequence[Command], names: Sequence[str], kept: str, *, quiet: bool) -> Run:
    """Write what becomes of each file into it; ``kept`` is added to the name under which it is kept as it was."""
    code = 0
    for name in names:
        path = machine.path(name)
        if not machine.files.is_file(path):
            yield error("sed", f"{name}: No such file or directory")
            code = 1
            continue
        running, stream = Sed(machine, commands, quiet=quiet), _Stream(machine, [name])
        running.written = []
        try:
            yield from running.run(stream)
        except _Quit:
            while text := (yield from stream.next()):
                running.written.append(text)
        if kept:
            copy = kept.replace("*", name.rpartition("/")[2]) if "*" in kept else f"{path.rpartition('/')[2]}{kept}"
            machine.files.write(f"{path.rpartition('/')[0]}/{copy}", machine.files.read(path))
        machine.files.write(path, "".join(running.written).encode())
        code = code or running.code
    return code
