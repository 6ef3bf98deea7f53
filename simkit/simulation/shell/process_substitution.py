"""``<(...)`` and ``>(...)``: commands in the place of a file.

A redirection from or to such commands runs them beside the command that has it. As a word of a command, ``<(...)`` is a
file with all that they have written, and what is written to ``>(...)`` is read by them once the command has ended.

References
----------
Bash Reference Manual 5.2, 3.5.6 Process Substitution.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, Protocol

from simkit.simulation.shell.machine import Effect, Machine, Run, Spawn
from simkit.simulation.shell.tasks import Pipe, Task, together
from simkit.simulation.shell.tree import Node, Process

_PLACE: Final = "/dev/fd"
_LAST: Final = 63
"""The number of the first of these files, as in bash; further ones count downwards."""
_MOST_ROUNDS: Final = 1000
_WAITING: Final = 64 * 1024
_MOST_HELD: Final = 4 << 20
"""Bytes of output that wait for commands to read them; further ones are lost."""


class Output(Protocol):
    """Runs commands; gives back what they write."""

    def __call__(self, machine: Machine, node: Node, /, *, cuts: bool = False) -> Generator[Effect, bytes, bytes]:
        """The output; one that ``cuts`` ends commands that write very much, else that is a fault."""


Shell = Callable[[Machine, Node], Run]
"""Runs commands in a shell of their own."""


@dataclass(slots=True)
class Borrowed:
    """A file in whose place commands stand."""

    path: str
    body: Node
    reads: bool
    """True if the commands read what is written to it."""
    pipe: Pipe | None = None
    """The way to the commands, where a redirection leads to them."""
    task: Task | None = None


def _free(machine: Machine) -> str:
    return next(
        path for number in range(_LAST, -1 << 20, -1) if not machine.files.exists(path := f"{_PLACE}/{abs(number)}")
    )


def lend(machine: Machine, piece: Process, output: Output) -> Generator[Effect, bytes, str]:
    """The path of a file that stands for commands. Those that write are run at once."""
    text = (yield from output(machine, piece.body, cuts=True)) if piece.direction == "<" else b""
    path = _free(machine)
    machine.files.place(path, text)
    machine.borrowed.append(Borrowed(path, piece.body, piece.direction == ">"))
    return path


def lead(machine: Machine, piece: Process, shell: Shell) -> Generator[Effect, bytes, str]:
    """The path of a file for a redirection: commands that run beside read what is written to it."""
    path, pipe = _free(machine), Pipe(writers=1, most=_MOST_HELD)
    machine.files.place(path, b"")
    child = machine.child()
    task = Task(machine.shared, shell(child, piece.body), child.signals, source=pipe)
    machine.borrowed.append(Borrowed(path, piece.body, reads=True, pipe=pipe, task=task))
    yield Spawn(task)
    return path


def pipe_at(machine: Machine, path: str) -> Pipe | None:
    """The way to commands for which a path stands; None for other paths."""
    return next((each.pipe for each in machine.borrowed if each.path == path), None)


def give_back(machine: Machine, since: int, shell: Shell) -> Generator[Effect, bytes, None]:
    """End what was borrowed by a command that has ended: those of its files that came after a number of others."""
    while len(machine.borrowed) > since:
        each = machine.borrowed.pop()
        written = machine.files.take_away(each.path)
        if each.pipe is not None and each.task is not None:
            each.pipe.writers = 0
            yield from _let_end(machine, each.task)
        elif each.reads:
            child = machine.child()
            task = Task(machine.shared, shell(child, each.body), child.signals, source=Pipe(written))
            yield from together(machine.shared, [task])


def _let_end(machine: Machine, task: Task) -> Generator[Effect, bytes, None]:
    """Let commands read what was written to them. Those that wait for something else run on by themselves."""
    for _ in range(_MOST_ROUNDS):
        if task.code is not None or task.wakes > machine.now:
            return
        yield 0.0


def fed_by(machine: Machine, body: Node, run: Run, shell: Shell) -> Run:
    """Run a command that reads what others write beside it."""
    child, pipe = machine.child(), Pipe(writers=1, limit=_WAITING)
    producer = Task(machine.shared, shell(child, body), child.signals, sink=pipe)
    consumer = Task(machine.shared, run, machine.signals, source=pipe)
    yield from together(machine.shared, [producer, consumer], until=consumer)
    return consumer.code or 0
