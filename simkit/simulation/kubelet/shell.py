"""Commands of the built-in shell as programs of containers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Final

from simkit.simulation.kubelet.process import Container, Input, Output, Program, Step
from simkit.simulation.shell.commands import COMMANDS
from simkit.simulation.shell.interpreter import run_script
from simkit.simulation.shell.interruption import Interrupted
from simkit.simulation.shell.machine import Effect, Exit, Machine, Read, Run, Write
from simkit.simulation.shell.syntax import ScriptError, command_names, parse

_SHELLS: Final = ("sh", "bash", "ash")
_CONTROL: Final = frozenset({"break", "continue", ""})


class UnknownCommand(Exception):
    """A command that the built-in shell does not have."""


def script_program(command: str | Sequence[str], *, alone: bool = False) -> Program:
    """The program that runs a script, or a command with its arguments. Raises UnknownCommand.

    ``alone`` says that only the command itself has to be known: a script then fails at what it does not know.
    """
    if not isinstance(command, str):
        check_known(command[:1] if alone else command)

    def program(container: Container) -> Generator[Step, Any, Any]:
        machine = Machine(container.files, dict(container.environment), _hostname(container), network=container.network)
        run = run_script(machine, command) if isinstance(command, str) else run_command(machine, command)
        machine.now = container.started
        return _steps(machine, run)

    return program


def _hostname(container: Container) -> str:
    return str((container.pod.get("metadata") or {}).get("name", "localhost"))


def check_known(command: Sequence[str]) -> None:
    """Raise UnknownCommand for a command that is not built in, or a script that runs one that is not."""
    name = command[0].rpartition("/")[2] if command else ""
    if name not in COMMANDS:
        raise UnknownCommand(name)
    if name in _SHELLS and any(flag.startswith("-") and "c" in flag for flag in command[1:-1]):
        script = next((word for word in command[1:] if not word.startswith("-")), "")
        try:
            unknown = command_names(parse(script)) - COMMANDS.keys() - _CONTROL
        except ScriptError as error:
            raise UnknownCommand(str(error)) from error
        if any(each.rpartition("/")[2] not in COMMANDS for each in unknown):
            raise UnknownCommand(sorted(unknown)[0])


def run_command(machine: Machine, command: Sequence[str]) -> Run:
    """Run a command that is built in, with its words as they are."""
    try:
        return (yield from COMMANDS[command[0].rpartition("/")[2]](machine, list(command)))
    except Exit as end:
        return end.code


def _steps(machine: Machine, run: Run) -> Generator[Step, Any, Any]:
    """Effects of a script as steps of a process. An interruption goes to what runs at the moment."""
    following: Callable[[], Effect] = partial(next, run)
    try:
        while True:
            effect = following()
            try:
                following = partial(run.send, (yield from _step(machine, effect)))
            except Interrupted as problem:
                following = partial(run.throw, problem)
    except StopIteration as end:
        return end.value


def _step(machine: Machine, effect: Effect) -> Generator[Step, Any, bytes]:
    """One effect; gives back what is sent for it."""
    if isinstance(effect, Write):
        yield Output(effect.data, effect.stream)
    elif isinstance(effect, Read):
        found: bytes = yield Input(effect.everything)
        return found
    else:
        machine.now += effect
        yield effect
    return b""
