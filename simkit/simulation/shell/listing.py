"""``ls``, ``ln`` and ``readlink``: names in folders, and symbolic links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run


def _ls(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    code, several = 0, len(names) > 1
    for number, name in enumerate(names or ["."]):
        path, long = machine.path(name), "l" in given
        is_folder = machine.files.is_folder(path) and not (long and name[-1:] != "/" and machine.files.target(path))
        if not is_folder and machine.files.target(path) is None and not machine.files.is_file(path):
            yield error("ls", f"{name}: No such file or directory")
            code = 1
            continue
        if not is_folder or "d" in given:
            yield line(_row(machine, path, name) if long else name)
            continue
        if several:
            yield line(f"{'' if number == 0 else chr(10)}{name}:")
        if long:
            yield line("total 0")
        for each in _inside(machine, path, hidden=bool({"a", "A"} & given.keys()), dots="a" in given):
            yield line(_row(machine, f"{path}/{each}", each) if long else each)
    return code


def _inside(machine: Machine, path: str, *, hidden: bool, dots: bool) -> list[str]:
    names = [each for each in machine.files.listed(path) if hidden or not each.startswith(".")]
    return [".", "..", *names] if dots else names


def _row(machine: Machine, path: str, name: str) -> str:
    """One line of ``ls -l``; files have no owners, rights and times of their own."""
    target, known = machine.files.target(path), machine.path(path)
    if target is not None:
        kind, size, shown = "lrwxrwxrwx", len(target), f"{name} -> {target}"
    elif machine.files.is_file(known):
        kind, size, shown = "-rw-r--r--", len(machine.files.read(known)), name
    else:
        kind, size, shown = "drwxr-xr-x", 4096, name
    moment = datetime.fromtimestamp(machine.now, UTC).strftime("%b %e %H:%M")
    return f"{kind}    1 root     root     {size:9} {moment} {shown}"


def _ln(machine: Machine, words: list[str]) -> Run:
    """``ln -s TARGET... PATH``; a link that is not symbolic is a copy."""
    given, names = options(words[1:])
    if not names:
        yield error("ln", "missing file operand")
        return 1
    path = machine.path(names[-1]) if len(names) > 1 else machine.path(names[0].rpartition("/")[2])
    for target in names[:-1] or names:
        inside = machine.files.is_folder(path) and not ("n" in given and machine.files.target(path) is not None)
        place = f"{path}/{target.rstrip('/').rpartition('/')[2]}" if inside else path
        try:
            if "f" in given and (machine.files.target(place) is not None or machine.files.is_file(place)):
                machine.files.remove(place)
            if "s" in given:
                machine.files.link(target, place)
            else:
                machine.files.write(place, machine.files.read(machine.path(target)))
        except FileError as problem:
            yield error("ln", f"{place}: {problem}")
            return 1
    return 0


def _readlink(machine: Machine, words: list[str]) -> Run:
    """The target of a link; with ``-f``, and for ``realpath``, the path that is meant in the end."""
    given, names = options(words[1:])
    for name in names:
        path = machine.path(name)
        try:
            follows = words[0] == "realpath" or "f" in given
            found = machine.files.real(path) if follows else machine.files.target(path)
        except FileError as problem:
            yield error(words[0], f"{name}: {problem}")
            return 1
        if found is None:
            return 1
        yield line(found)
    return 0


LISTING_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "ls": _ls,
    "ln": _ln,
    "readlink": _readlink,
    "realpath": _readlink,
}
"""The commands of this module, by name."""
