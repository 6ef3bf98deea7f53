"""Commands that change modes, owners and times of files, or tell them: ``chmod``, ``touch``, ``stat`` and their like.

References
----------
POSIX.1-2017, ``chmod``, ``chown``, ``touch`` and ``umask``; ``stat`` and ``install`` as in busybox and coreutils.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from simkit.simulation.shell.accounts import group_name, group_number, user_name, user_number
from simkit.simulation.shell.date_words import moment_of
from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run, Write
from simkit.simulation.shell.marks import as_letters, mode_of
from simkit.simulation.shell.words import with_escapes

_DIGITS: Final = re.compile(r"(\d{2}|\d{4})?(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d{2}))?")
_TURN_OF_CENTURY: Final = 69
_FORM: Final = "  File: %n\n  Size: %s\t%F\nAccess: (%04a/%A)  Uid: (%u/%U)   Gid: (%g/%G)\nModify: %y"
_DIRECTIVE: Final = re.compile(r"%(0?\d{0,3})([nNsaAuUgGFyYhixXzZwWf%])")


def _each_below(machine: Machine, name: str, *, recursive: bool) -> Iterator[str]:
    """The path that a name means, with ``recursive`` all paths below it too. Raises FileError."""
    path = machine.path(name)
    if not machine.files.exists(path):
        raise FileError("No such file or directory")
    if recursive:
        yield from (each for each in machine.files.tree(machine.files.real(path)) if machine.files.exists(each))
    else:
        yield path


class _BadMode(Exception):
    """A text that is no mode."""


def _on_each(command: str, names: Iterable[str], change: Callable[[str], None]) -> Run:
    """Change what several names mean; those where that fails are told."""
    code = 0
    for name in names:
        try:
            change(name)
        except FileError as problem:
            yield error(command, f"{name}: {problem}")
            code = 1
    return code


def _chmod(machine: Machine, words: list[str]) -> Run:
    flags = [word for word in words[1:] if re.fullmatch("-[Rcfv]+|--recursive", word)]
    rest = [word for word in words[1:] if word not in flags and word != "--"]
    if len(rest) < 2:
        yield error("chmod", "missing operand")
        return 1
    files, recursive = machine.files, any("R" in flag or flag == "--recursive" for flag in flags)

    def change(name: str) -> None:
        for path in _each_below(machine, name, recursive=recursive):
            mode = mode_of(rest[0], files.mark(path).mode, is_folder=files.is_folder(path), umask=files.umask)
            if mode is None:
                raise _BadMode
            files.set_mode(path, mode)

    try:
        return (yield from _on_each("chmod", rest[1:], change))
    except _BadMode:
        yield error("chmod", f"invalid mode '{rest[0]}'")
        return 1


def _chown(machine: Machine, words: list[str]) -> Run:
    """``chown USER:GROUP FILE...`` and ``chgrp GROUP FILE...``."""
    given, rest = options(words[1:])
    if len(rest) < 2:
        yield error(words[0], "missing operand")
        return 1
    user, _, group = rest[0].replace(".", ":", 1).partition(":") if words[0] == "chown" else ("", "", rest[0])
    uid, gid = user_number(machine, user) if user else None, group_number(machine, group) if group else None
    if (user and uid is None) or (group and gid is None):
        yield error(words[0], f"unknown {'user' if user and uid is None else 'group'} {rest[0]}")
        return 1

    def change(name: str) -> None:
        for path in _each_below(machine, name, recursive="R" in given):
            machine.files.set_owner(path, uid, gid)

    return (yield from _on_each(words[0], rest[1:], change))


def _umask(machine: Machine, words: list[str]) -> Run:
    given = [word for word in words[1:] if word not in ("-S", "-p")]
    if not given:
        letters = as_letters(~machine.files.umask & 0o777, "")
        shown = ",".join(f"{who}={letters[at : at + 3].replace('-', '')}" for who, at in (("u", 0), ("g", 3), ("o", 6)))
        yield line(shown if "-S" in words else f"{machine.files.umask:04o}")
        return 0
    octal = re.fullmatch("[0-7]{1,4}", given[0]) is not None
    allowed = mode_of(given[0], ~machine.files.umask & 0o777, is_folder=False, umask=0)
    if allowed is None:
        yield error(f"{machine.shell}: umask", f"Illegal mode: {given[0]}")
        return 2
    machine.files.umask = (allowed if octal else ~allowed) & 0o777
    return 0


def _stamp_of(text: str, now: float) -> float | None:
    """The seconds since the epoch that ``touch -t [[CC]YY]MMDDhhmm[.SS]`` is told; None for what is no time."""
    found = _DIGITS.fullmatch(text)
    if found is None:
        return None
    year = int(found[1]) if found[1] else datetime.fromtimestamp(now, UTC).year
    if found[1] and len(found[1]) == 2:
        year += 1900 if year >= _TURN_OF_CENTURY else 2000
    try:
        parts = [int(each or "0") for each in found.groups()[1:]]
        return datetime(year, *parts, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def _touch(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:], valued="drt")
    moment: float | None = machine.now
    if "t" in given:
        moment = _stamp_of(given["t"], machine.now)
    elif "d" in given:
        moment = moment_of(given["d"], machine.now)
    elif "r" in given:
        moment = machine.files.mark(machine.path(given["r"])).time
    if moment is None:
        yield error("touch", f"invalid date '{given.get('t', given.get('d', ''))}'")
        return 1
    changed = moment

    def change(name: str) -> None:
        path = machine.path(name)
        if not machine.files.exists(path):
            if "c" in given:
                return
            machine.files.write(path, b"", append=True)
        machine.files.set_time(path, changed)

    return (yield from _on_each("touch", names, change))


def _mkdir(machine: Machine, words: list[str]) -> Run:
    code, (given, names) = 0, options(words[1:], valued="m")
    for name in names:
        path, told = machine.path(name.rstrip("/") or "/"), ""
        there = machine.files.exists(path)
        if "p" not in given:
            above = machine.files.is_folder(path.rpartition("/")[0] or "/")
            told = "File exists" if there else "" if above else "No such file or directory"
        try:
            if not told:
                machine.files.make_folder(path)
            if not told and not there and "m" in given:
                mode = mode_of(given["m"], 0o777, is_folder=True, umask=machine.files.umask)
                machine.files.set_mode(path, 0o755 if mode is None else mode)
        except FileError as problem:
            told = str(problem)
        if told:
            yield error("mkdir", f"can't create directory '{name}': {told}")
            code = 1
    return code


def _install(machine: Machine, words: list[str]) -> Run:
    """``install [-d] [-m MODE] [-o USER] [-g GROUP] FILE... PATH``: copies with modes, and folders."""
    given, names = options(words[1:], valued="mogt")
    mode = mode_of(given.get("m", "755"), 0, is_folder="d" in given, umask=0)
    uid = user_number(machine, given["o"]) if "o" in given else None
    gid = group_number(machine, given["g"]) if "g" in given else None
    if mode is None:
        yield error("install", f"invalid mode '{given.get('m', '')}'")
        return 1
    target = given.get("t") or (names.pop() if len(names) > 1 and "d" not in given else "")
    try:
        for name in names:
            path = machine.path(name)
            if "d" in given:
                machine.files.make_folder(path)
            else:
                data, place = machine.files.read(path), machine.path(target)
                if machine.files.is_folder(place):
                    place = f"{place}/{path.rpartition('/')[2]}"
                elif "D" in given:
                    machine.files.make_folder(place.rpartition("/")[0] or "/")
                machine.files.write(place, data)
                path = place
            machine.files.set_mode(path, mode)
            if uid is not None or gid is not None:
                machine.files.set_owner(path, uid, gid)
    except FileError as problem:
        yield error("install", f"{name}: {problem}")
        return 1
    return 0


def _stat(machine: Machine, words: list[str]) -> Run:
    given, names = options([re.sub("^--(format|printf)=", "-c", word) for word in words[1:]], valued="c")
    code = 0
    for name in names:
        path = machine.path(name)
        if not machine.files.exists(path) and machine.files.target(path) is None:
            yield error("stat", f"can't stat '{name}': No such file or directory")
            code = 1
            continue
        known = _facts(machine, path, name, follows="L" in given)
        text = _DIRECTIVE.sub(partial(_told, known), given.get("c", _FORM))
        raw = any(word.startswith("--printf") for word in words)
        yield Write(with_escapes(text).encode()) if raw else line(text)
    return code


def _facts(machine: Machine, path: str, name: str, *, follows: bool) -> Mapping[str, str]:
    """The parts of ``stat`` by their letters."""
    target = machine.files.target(path) if not follows else None
    is_file = machine.files.is_file(path)
    mark = machine.files.mark(path)
    kind, size = "-" if is_file else "d", machine.files.size(path)
    mode, shown = (
        mark.mode,
        "regular empty file" if is_file and not size else "regular file" if is_file else "directory",
    )
    if target is not None:
        kind, size, mode, shown = "l", len(target), 0o777, "symbolic link"
    at = datetime.fromtimestamp(mark.time, UTC).strftime("%Y-%m-%d %H:%M:%S.000000000 +0000")
    quoted = f"'{name}' -> '{target}'" if target is not None else f"'{name}'"
    return {
        "n": name, "N": quoted, "s": str(size), "a": f"{mode:o}", "A": as_letters(mode, kind), "F": shown,
        "u": str(mark.uid), "U": user_name(machine, mark.uid), "g": str(mark.gid), "G": group_name(machine, mark.gid),
        "y": at, "x": at, "z": at, "Y": str(int(mark.time)), "X": str(int(mark.time)), "Z": str(int(mark.time)),
        "h": "1", "i": "1", "w": "-", "W": "0", "%": "%", "f": f"{mode | (0o100000 if is_file else 0o40000):x}",
    }  # fmt: skip


def _told(known: Mapping[str, str], found: re.Match[str]) -> str:
    width = found[1]
    return known[found[2]].rjust(int(width or "0"), "0" if width.startswith("0") else " ")


MODE_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "chmod": _chmod,
    "chown": _chown,
    "chgrp": _chown,
    "umask": _umask,
    "touch": _touch,
    "mkdir": _mkdir,
    "install": _install,
    "stat": _stat,
}
"""The commands of this module, by name."""
