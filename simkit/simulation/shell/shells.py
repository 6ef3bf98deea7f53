"""Shells as programs: of a script, and of lines that come in.

References
----------
POSIX.1-2017, Shell Command Language, 2.11.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from simkit.simulation.shell.control_flow import LoopControl, Return
from simkit.simulation.shell.faults import FATAL, complaint, parse_for
from simkit.simulation.shell.interpreter import run_node, shell
from simkit.simulation.shell.interruption import CODE, Interrupted
from simkit.simulation.shell.machine import STDERR, Effect, Exit, Machine, Read, Run, Write
from simkit.simulation.shell.redirections import with_outputs
from simkit.simulation.shell.tasks import Task, together
from simkit.simulation.shell.tree import ScriptError

_MANY: Final = 64
"""Lines of one command after which those are taken together that come at once."""
_SOON: Final = 0.05
"""Seconds within which they come."""


def session(machine: Machine, run: Run, *, heard: bool = False) -> Run:
    """Run a command with all that it starts in the background. It ends with the command, or by a signal.

    Where it is ``heard``, as by exec, it ends with the last command that still has its output.
    """
    main = Task(machine.shared, run, machine.signals)
    yield from together(machine.shared, [main], until=main, heard=heard)
    return main.code or 0


def run_script(machine: Machine, text: str) -> Run:
    """Run a script; gives back its exit code."""
    try:
        node = parse_for(machine, text)
    except ScriptError as error:
        yield Write(f"{machine.shell}: {error}\n".encode(), STDERR)
        return 2
    return (yield from shell(machine, node))


def run_interactive(machine: Machine, *, prompt: bool) -> Run:
    """Run the commands that come in, each as soon as its last line is there, until there are none.

    With a ``prompt``, an interruption or a fault ends the command. Else a fault ends the shell, as for a script.
    """
    return (yield from with_outputs(machine, _commands(machine, prompt=prompt)))


def _commands(machine: Machine, *, prompt: bool) -> Run:
    while True:
        try:
            script = yield from _command(machine, prompt=prompt)
            if not script:
                return machine.code
            machine.shared.steps = 0
            yield from run_node(machine, parse_for(machine, script))
        except Interrupted:
            machine.code = CODE
        except (LoopControl, Return):
            machine.code = 0
        except FATAL as problem:
            yield complaint(machine, problem)
            machine.code = 2
            if not prompt:
                return 2
        except Exit as end:
            return end.code


def _command(machine: Machine, *, prompt: bool) -> Generator[Effect, bytes, str]:
    """The lines of the next command; none at the end of the input. An unfinished one is given then as it is."""
    given, lines = "", 0
    while True:
        if prompt:
            yield Write(f"{machine.folder} # ".encode() if not given else b"> ")
        line = yield Read()
        if not line:
            return given
        given, lines = given + line.decode("utf-8", "replace"), lines + 1
        while lines > _MANY and (line := (yield Read(within=_SOON))):  # to look at all of them after each takes long
            given += line.decode("utf-8", "replace")
        if not is_unfinished(machine, given):
            return given


def is_unfinished(machine: Machine, text: str) -> bool:
    """True for a script that further lines may complete."""
    try:
        parse_for(machine, text, whole=True)
    except ScriptError as error:
        return "unterminated" in str(error) or "end of file" in str(error)
    return False
