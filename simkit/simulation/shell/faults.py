"""Faults that end a shell, and the words in which it says so."""

from __future__ import annotations

from typing import Final

from simkit.simulation.shell.effects import error
from simkit.simulation.shell.machine import Machine, OutOfMemory, ReadOnly, Write
from simkit.simulation.shell.patterns import TooLong
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tasks import TooManyTasks
from simkit.simulation.shell.tree import Node, ScriptError

FATAL: Final = (OutOfMemory, TooLong, RecursionError, ReadOnly, TooManyTasks, ScriptError)
"""Faults that end a shell, or the line of an interactive one."""


def parse_for(machine: Machine, text: str, *, whole: bool = False) -> Node:
    """The tree of a script for a shell, in which the end may end a here-document or not. Raises ScriptError."""
    return parse(text, bash=machine.bash, groups="extglob" in machine.options, whole=whole)


def complaint(machine: Machine, problem: Exception) -> Write:
    """The words in which a shell ends: a script that runs itself is nested too deep."""
    if isinstance(problem, OutOfMemory | TooLong):
        text = "out of memory"
    elif isinstance(problem, ReadOnly):
        text = f"{problem}: {'readonly variable' if machine.bash else 'is read only'}"
    elif isinstance(problem, ScriptError):
        text = str(problem)
    else:
        text = (
            "can't fork: Resource temporarily unavailable" if isinstance(problem, TooManyTasks) else "nested too deep"
        )
    return error(machine.shell, text)
