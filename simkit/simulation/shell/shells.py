"""Shells as programs: of a script, and of lines that come in.

References
----------
POSIX.1-2017, Shell Command Language, 2.11.
"""

from __future__ import annotations

from simkit.simulation.shell.control_flow import LoopControl, Return
from simkit.simulation.shell.faults import FATAL, complaint, parse_for
from simkit.simulation.shell.interpreter import run_node, shell
from simkit.simulation.shell.interruption import CODE, Interrupted
from simkit.simulation.shell.machine import STDERR, Exit, Machine, Read, Run, Write
from simkit.simulation.shell.redirections import with_outputs
from simkit.simulation.shell.tasks import Task, together
from simkit.simulation.shell.tree import ScriptError


def session(machine: Machine, run: Run) -> Run:
    """Run a command with all that it starts in the background. It ends with the command, or by a signal."""
    main = Task(machine.shared, run, machine.signals)
    yield from together(machine.shared, [main], until=main)
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
    """Run each line that comes in, until there is none. An interruption ends the line."""
    return (yield from with_outputs(machine, _lines(machine, prompt=prompt)))


def _lines(machine: Machine, *, prompt: bool) -> Run:
    given = ""
    while True:
        try:
            if prompt:
                yield Write(f"{machine.folder} # ".encode() if not given else b"> ")
            line = yield Read()
            if not line:
                return machine.code
            machine.shared.steps = 0
            given += line.decode("utf-8", "replace")
            if is_unfinished(machine, given) and prompt:
                continue
            script, given = given, ""
            yield from run_node(machine, parse_for(machine, script))
        except Interrupted:
            machine.code, given = CODE, ""
        except (LoopControl, Return):
            machine.code = 0
        except FATAL as problem:
            yield complaint(machine, problem)
            machine.code = 2
        except Exit as end:
            return end.code


def is_unfinished(machine: Machine, text: str) -> bool:
    """True for a script that further lines may complete."""
    try:
        parse_for(machine, text)
    except ScriptError as error:
        return "unterminated" in str(error) or "end of file" in str(error)
    return False
