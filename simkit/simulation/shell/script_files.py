"""The files that commands name: programs of the image, and scripts.

References
----------
POSIX.1-2017, Shell Command Language, 2.9.1.
"""

from __future__ import annotations

from typing import Final

from simkit.simulation.shell.machine import Failed, Machine
from simkit.simulation.shell.script import SPECIAL, Unsupported

NOT_FOUND: Final = 127
ONLY_OWN: Final = SPECIAL | {"cd", "command", "exec", "read", "wait"}
"""The commands of the shell that are no programs too."""
OWN: Final = ONLY_OWN | {"[", "echo", "false", "kill", "printf", "pwd", "test", "true"}
"""The commands of the shell itself. All others are programs: files of the image, which ``PATH`` leads to."""
_USUAL_FOLDERS: Final = frozenset({"/bin", "/usr/bin"})
"""The folders of programs, in which those of the machine are found too."""


def script_at(machine: Machine, name: str) -> str | None:
    """The file that a command names, by a path or in the folders of ``PATH``; None for a program of the image."""
    files = machine.files
    if "/" in name:
        path = machine.path(name)
        if files.is_program(path) and files.may(path, "x"):
            return None
        if files.exists(path):
            return path
        folder, _, base = path.rpartition("/")
        if folder in _USUAL_FOLDERS and base in machine.programs:
            return None
        if not files.base.complete:
            raise Unsupported(name, NOT_FOUND)
        raise Failed("not found", NOT_FOUND)
    if name in OWN or name in machine.programs:
        return None
    folders = [machine.path(folder or ".") for folder in machine.variables.get("PATH", "").split(":")]
    for folder in folders:
        path = f"{folder.rstrip('/')}/{name}"
        if files.is_file(path) and not files.is_program(path) and files.may(path, "x"):
            if machine.found.setdefault(name, path) != path:
                raise Unsupported(f"{name}, which is another file now", NOT_FOUND)
            return path
        if folder in _USUAL_FOLDERS and name in machine.commands:
            return None
    raise Unsupported(f"{name} in {':'.join(folders)}" if name in machine.commands else name, NOT_FOUND)


def interpreter_of(machine: Machine, path: str, name: str) -> list[str]:
    """The command that runs a script: the one of its first line, else the shell. Raises Failed, or Unsupported."""
    if machine.files.is_folder(path) or not machine.files.may(path, "x"):
        raise Failed("Permission denied", 126)
    first = machine.files.read(path)[:256].split(b"\n", 1)[0]
    if b"\0" in first:
        raise Failed("Exec format error", 126)
    words = first[2:].decode("utf-8", "replace").split(None, 1) if first.startswith(b"#!") else ["sh"]
    base = words[0].rpartition("/")[2] if words else ""
    is_file = bool(words) and machine.files.is_file(words[0])
    if base not in machine.programs and base not in machine.commands and not is_file:
        raise Unsupported(f"{name} ({first.decode('utf-8', 'replace')})", NOT_FOUND)
    return words
