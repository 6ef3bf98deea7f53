"""The records that a program of awk reads: of its files, of others, and of commands."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

from simkit.simulation.shell.awk_tokens import unescaped
from simkit.simulation.shell.awk_values import Given, Value, matcher, number_of, text_of
from simkit.simulation.shell.effects import Lines, error, read_all
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import output_of
from simkit.simulation.shell.machine import Effect, Machine
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tree import ScriptError

if TYPE_CHECKING:
    from simkit.simulation.shell.awk_program import Awk

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class Input:
    """The input of a program.

    Attributes
    ----------
    missing
        True if the last source that was asked for is not there.
    code
        2 once a file could not be read.
    """

    def __init__(self, machine: Machine, names: Sequence[str], program: Awk) -> None:
        self._machine, self._program = machine, program
        self._names, self._read = list(names), False
        self._lines: Lines | None = None
        self._records: deque[str] | None = None
        self._others: dict[str, deque[str]] = {}
        self.missing, self.code = False, 0

    def skip_file(self) -> None:
        """Go on with the next file."""
        self._lines = self._records = None

    def next(self, variables: dict[str, Value]) -> Generator[Effect, bytes, str | None]:
        """The next record of the files; None at the end."""
        while True:
            if self._lines is None and self._records is None and not (yield from self._open(variables)):
                return None
            found = yield from self._of_file(text_of(variables["RS"]))
            if found is not None:
                for name in ("NR", "FNR"):
                    variables[name] = number_of(variables[name]) + 1
                return found
            self.skip_file()

    def _open(self, variables: dict[str, Value]) -> Generator[Effect, bytes, bool]:
        """Open the next file, and make the assignments before it; the standard input where no file is named."""
        while self._names:
            name = self._names.pop(0)
            found = _ASSIGNMENT.fullmatch(name)
            if found is not None:
                variables[found[1]] = Given(unescaped(found[2]))
                continue
            path = self._machine.path(name)
            if name != "-" and not self._machine.files.is_file(path):
                yield error("awk", f"{name}: No such file or directory")
                self.code = 2
                continue
            self._begin(name, variables)
            return True
        if self._read:
            return False
        self._begin("-", variables)
        return True

    def _begin(self, name: str, variables: dict[str, Value]) -> None:
        self._read, self._lines = True, Lines(self._machine, "awk", [name])
        variables["FNR"], variables["FILENAME"] = 0.0, Given("" if name == "-" else name)

    def _of_file(self, separator: str) -> Generator[Effect, bytes, str | None]:
        if self._lines is not None and separator == "\n":
            text = yield from self._lines.next()
            return text.removesuffix("\n") if text else None
        if self._lines is not None:
            parts = []
            while text := (yield from self._lines.next()):
                parts.append(text)
            self._records, self._lines = deque(_parted("".join(parts), separator)), None
        return self._records.popleft() if self._records else None

    def next_of(self, source: str, name: str, separator: str) -> Generator[Effect, bytes, str | None]:
        """The next record of a file, or of the output of a command (``|``); None at the end."""
        key, self.missing = f"{source}{name}", False
        if key not in self._others:
            if source == "|":
                data = yield from self._output(name)
            elif name in ("-", "/dev/stdin"):
                data = yield from read_all()
            else:
                try:
                    data = self._machine.files.read(self._machine.path(name))
                except FileError:
                    self.missing = True
                    return None
            self._others[key] = deque(_parted(data.decode("utf-8", "replace"), separator))
        return self._others[key].popleft() if self._others[key] else None

    def _output(self, command: str) -> Generator[Effect, bytes, bytes]:
        try:
            return (yield from output_of(self._machine, parse(command)))
        except ScriptError as problem:
            yield error("sh", str(problem))
            return b""

    def close(self, name: str) -> bool:
        """Forget a file or a command, so that it is read anew; gives back whether it was read."""
        known = [self._others.pop(f"{source}{name}", None) for source in ("|", "<")]
        return any(each is not None for each in known)


def _parted(text: str, separator: str) -> list[str]:
    """The records of a text; without a separator those are parts between empty lines."""
    if separator == "":
        return [each for each in re.split(r"\n\n+", text.strip("\n")) if each]
    if len(separator) == 1:
        parts = text.split(separator)
    else:
        parts, start = [], 0
        for found in matcher(separator).finditer(text):
            if found.end() > found.start():
                parts.append(text[start : found.start()])
                start = found.end()
        parts.append(text[start:])
    if parts[-1] in ("", "\n"):
        parts.pop()
    elif separator != "\n":
        parts[-1] = parts[-1].removesuffix("\n") if len(separator) > 1 else parts[-1]
    return parts
