"""Files that are run as commands: scripts, which name the shell that reads them.

References
----------
POSIX.1-2017, Shell Command Language, 2.9.1.1 Command Search and Execution; execve(2) of Linux.
"""

from __future__ import annotations

from typing import Final

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine

NOT_FOUND: Final = 127
_CANNOT_RUN: Final = 126
_LONGEST_LINE: Final = 256
_USUAL_PLACES: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class NotRun(Exception):
    """A file that cannot be run, with the exit code that a shell gives for it."""

    def __init__(self, text: str, code: int = _CANNOT_RUN) -> None:
        super().__init__(text)
        self.code = code


def script_at(machine: Machine, name: str) -> str | None:
    """The file that a command names, by a path or as one in the folders of ``PATH``; None where there is none."""
    if "/" in name:
        path = machine.path(name)
        is_script = machine.files.base.exists(path) and not (
            machine.files.base.is_program(path) and machine.files.may(path, "x")
        )
        return name if is_script else None
    places = machine.environment.get("PATH", _USUAL_PLACES).split(":")
    found = [f"{place or '.'}/{name}" for place in places]
    paths = ((each, machine.path(each)) for each in found)
    files = [each for each, path in paths if machine.files.is_file(path) and not machine.files.is_program(path)]
    return next((each for each in files if machine.files.may(machine.path(each), "x")), files[0] if files else None)


def interpreter_of(machine: Machine, name: str) -> list[str]:
    """The command that runs a script: the one of its first line, else the shell itself. Raises NotRun."""
    path = machine.path(name)
    if machine.files.base.is_folder(path):
        raise NotRun("Is a directory" if machine.bash else "Permission denied")
    if not machine.files.may(path, "x"):
        raise NotRun("Permission denied")
    try:
        data = machine.files.read(path)
    except FileError as problem:
        raise NotRun(str(problem)) from problem
    first = data[:_LONGEST_LINE].split(b"\n", 1)[0]
    if first.startswith(b"#!"):
        words = first[2:].decode("utf-8", "replace").strip().split(None, 1)
        return _known(machine, words)
    if b"\0" in data[:_LONGEST_LINE]:
        raise NotRun("cannot execute binary file: Exec format error" if machine.bash else "Exec format error")
    return [machine.shell]


def _known(machine: Machine, words: list[str]) -> list[str]:
    """The words of a first line. Raises NotRun where they name no command."""
    from simkit.simulation.shell.commands import COMMANDS  # some of them run others

    name = words[0].rpartition("/")[2] if words else ""
    if (
        name not in COMMANDS
        and name not in machine.shared.programs
        and not machine.files.is_file(machine.path(words[0] if words else "/"))
    ):
        raise NotRun("cannot execute: required file not found" if machine.bash else "not found", NOT_FOUND)
    return words
