"""Shells as programs: of a script, and of lines that come in.

References
----------
POSIX.1-2017, Shell Command Language, 2.11.
"""

from __future__ import annotations

from collections.abc import Generator

from simkit.simulation.shell.interpreter import LoopControl, Return, nothing, run_node, run_shell, worded
from simkit.simulation.shell.kernel import Effect, Run, TooManyTasks
from simkit.simulation.shell.machine import Exit, Fatal, Machine
from simkit.simulation.shell.script import ScriptError, Unsupported
from simkit.simulation.shell.signals import CODE, Interrupted
from simkit.simulation.shell.syntax import parse


def run_script(machine: Machine, text: str) -> Run:
    """Run a script in a shell of its own, with the command of its trap for EXIT; gives its exit code."""
    try:
        node = parse(text)
    except ScriptError as error:
        yield from machine.complain(f"{machine.name}: {error}")
        return 2
    return (yield from run_shell(machine, run_node(machine, node)))


def run_interactive(machine: Machine, *, prompt: bool) -> Run:
    """Run the commands that come in, each as soon as its last line is there. With a prompt, a fault ends no shell."""
    while True:
        try:
            script = yield from _command(machine, prompt=prompt)
            if not script:
                break
            yield from run_node(machine, parse(script))
        except Interrupted:
            machine.code = CODE
        except (LoopControl, Return):
            machine.code = 0
        except (Fatal, ScriptError, TooManyTasks, RecursionError) as problem:
            yield from machine.complain(f"{machine.name}: {worded(problem)}")
            machine.code = 2
            if not prompt:
                break
        except Unsupported as problem:
            if not prompt:
                raise
            yield from machine.complain(f"{machine.name}: {problem}")
            machine.code = problem.code
        except Exit as end:
            machine.code = end.code
            break
    return (yield from run_shell(machine, nothing(machine.code)))


def _command(machine: Machine, *, prompt: bool) -> Generator[Effect, bytes, str]:
    """The lines of the next command; none at the end of the input."""
    given = ""
    while True:
        if prompt:
            yield from machine.write(f"{machine.folder} # " if not given else "> ")
        line = yield from machine.read()
        if not line:
            return given
        given += line.decode("utf-8", "replace")
        while given.count("\n") > 64 and (line := (yield from machine.read(within=0.05))):
            given += line.decode("utf-8", "replace")
        try:
            parse(given)
        except ScriptError as error:
            if error.unfinished:
                continue
        except Unsupported:
            pass
        return given
