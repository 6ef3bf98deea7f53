"""The files and commands to which a program of awk writes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from simkit.simulation.shell.effects import error
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import shell
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Write
from simkit.simulation.shell.redirections import Opened, Route, redirected
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tasks import Pipe
from simkit.simulation.shell.tree import ScriptError

_STREAMS: Final = {"/dev/stdout": "stdout", "-": "stdout", "/dev/stderr": STDERR, "cat 1>&2": STDERR}


class Outputs:
    """The outputs to files and commands so far. Commands run when they are closed, at the latest at the end."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._begun = set[str]()
        self._commands: dict[str, bytearray] = {}

    def write(self, data: bytes, led: str, name: str) -> Generator[Effect, bytes, None]:
        """Write to the standard output, to a file (``>``, ``>>``) or to a command (``|``)."""
        if not led or name in _STREAMS:
            yield Write(data, _STREAMS.get(name, "stdout"))
        elif led == "|":
            self._commands.setdefault(name, bytearray()).extend(data)
        else:
            append = led == ">>" or name in self._begun
            self._begun.add(name)
            if name == "/dev/null":
                return
            try:
                self._machine.files.write(self._machine.path(name), data, append=append)
            except FileError as problem:
                yield error("awk", f"can't redirect to '{name}': {problem}")

    def close(self, name: str) -> Generator[Effect, bytes, int]:
        """Close a file or a command; its exit code, or -1 where nothing was written to it."""
        if name in self._commands:
            return (yield from self._ran(name))
        known = name in self._begun
        self._begun.discard(name)
        return 0 if known else -1

    def _ran(self, name: str) -> Generator[Effect, bytes, int]:
        data = bytes(self._commands.pop(name))
        try:
            run = shell(self._machine.child(), parse(name))
        except ScriptError as problem:
            yield error("sh", str(problem))
            return 2
        return (yield from redirected(run, Opened(Route(self._machine.files), {0: Pipe(data)})))

    def close_all(self) -> Generator[Effect, bytes, None]:
        """Run the commands that were not closed."""
        for name in list(self._commands):
            yield from self._ran(name)
