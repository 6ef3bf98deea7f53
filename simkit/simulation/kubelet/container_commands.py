"""Commands in containers that run to their end at once: those of probes and of lifecycle hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simkit.meta.objects import Object
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.process import Process, completes, forever
from simkit.simulation.kubelet.processes import Processes
from simkit.simulation.kubelet.shell import UnknownCommand, script_program

Environment = Callable[[Object, Mapping[str, Any]], Mapping[str, str]]
"""The variables of a container."""


class Ran(NamedTuple):
    """The end of a command."""

    code: int | None
    """The exit code; None if it did not end in time."""
    output: str
    seconds: float
    """The time that it took."""


class ContainerCommands:
    """Runs commands in containers.

    A command is run if a test provides it. It is also run if the built-in shell knows it, and the program of its
    container too: of the files and servers of any other program nothing is known.
    """

    def __init__(self, behaviours: Behaviours, processes: Processes, environment: Environment) -> None:
        self._behaviours, self._processes, self._environment = behaviours, processes, environment

    def run(
        self, pod: Object, container: Mapping[str, Any], command: Sequence[str], now: float, limit: float
    ) -> Ran | None:
        """Run a command for at most some seconds of its own time. None where its result cannot be known."""
        given = self._processes.container(pod, container, now, {})
        told = self._behaviours.command(pod, container, command[0]) if command else None
        if told is None and self._behaviours.program(given) in (completes, forever):
            return None
        try:
            program = (
                (lambda each: told(each, command))
                if told is not None
                else script_program(command, programs=given.programs)
            )
        except UnknownCommand:
            return None
        process = Process(program(replace(given, environment=self._environment(pod, container))), now)
        process.advance(now + limit)
        output = b"".join(each.data for each in process.printed).decode("utf-8", "replace")
        if process.ended is None:
            return Ran(None, output, limit)
        ended, code = process.ended
        return Ran(code, output, ended - now)
