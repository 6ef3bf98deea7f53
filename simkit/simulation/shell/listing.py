"""``ls``, ``ln`` and ``readlink``: names in folders, and symbolic links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.accounts import group_name, user_name
from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.marks import Mark, as_letters

_HALF_A_YEAR: Final = 15_768_000
"""Seconds after which the year of a time is told instead of the hour."""


def _ls(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    code, several = 0, len(names) > 1
    for number, name in enumerate(names or ["."]):
        path, long = machine.path(name), bool({"l", "n"} & given.keys())
        is_folder = machine.files.is_folder(path) and not (long and name[-1:] != "/" and machine.files.target(path))
        if not is_folder and machine.files.target(path) is None and not machine.files.is_file(path):
            yield error("ls", f"{name}: No such file or directory")
            code = 1
            continue
        if not is_folder or "d" in given:
            yield line(_row(machine, path, name, numbers="n" in given) if long else name)
            continue
        if several:
            yield line(f"{'' if number == 0 else chr(10)}{name}:")
        if long:
            yield line("total 0")
        try:
            inside = _inside(machine, path, given)
        except FileError as problem:
            yield error("ls", f"can't open '{name}': {problem}")
            code = 1
            continue
        for each in inside:
            yield line(_row(machine, f"{path}/{each}", each, numbers="n" in given) if long else each)
    return code


def _inside(machine: Machine, path: str, given: Mapping[str, str]) -> list[str]:
    """The names in a folder, in the order that is wanted. Raises FileError."""
    shown = {"a", "A"} & given.keys()
    names = [each for each in machine.files.listed(path) if shown or not each.startswith(".")]
    names = [".", "..", *names] if "a" in given else names
    if "t" in given:
        names.sort(key=lambda each: -machine.files.mark(f"{path}/{each}").time)
    elif "S" in given:
        names.sort(key=lambda each: -_size(machine, f"{path}/{each}"))
    return names[::-1] if "r" in given else names


def _size(machine: Machine, path: str) -> int:
    known, target = machine.path(path), machine.files.target(path)
    if target is not None:
        return len(target)
    return machine.files.size(known)


def _row(machine: Machine, path: str, name: str, *, numbers: bool) -> str:
    """One line of ``ls -l``."""
    target, known = machine.files.target(path), machine.path(path)
    mark = machine.files.mark(known) if target is None else Mark(0o777, time=machine.now)
    kind = "l" if target is not None else "-" if machine.files.is_file(known) else "d"
    shown = f"{name} -> {target}" if target is not None else name
    user = str(mark.uid) if numbers else user_name(machine, mark.uid)
    group = str(mark.gid) if numbers else group_name(machine, mark.gid)
    moment = datetime.fromtimestamp(mark.time, UTC)
    recent = abs(machine.now - mark.time) < _HALF_A_YEAR
    when = moment.strftime("%b %e %H:%M" if recent else "%b %e  %Y")
    letters = as_letters(mark.mode, kind)
    return f"{letters}    1 {user:8} {group:8} {_size(machine, path):9} {when} {shown}"


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
