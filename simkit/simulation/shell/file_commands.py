"""Commands about files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.effects import error, line, options, read_all, whole
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.machine import STDERR, Machine, Run, Write


def _copy(machine: Machine, source: str, into: str, *, keeps: bool) -> None:
    """Copy a file or a folder. Links in a folder stay links; ``keeps`` says that the source itself may be one."""
    for found in machine.files.tree(source if keeps else machine.files.real(source)):
        place = into + found[len(source if keeps else machine.files.real(source)) :]
        target = machine.files.target(found)
        if target is not None:
            machine.files.link(target, place)
        elif machine.files.is_file(found):
            machine.files.write(place, machine.files.read(found))
        else:
            machine.files.make_folder(place)


def _copied(machine: Machine, words: list[str], *, moves: bool) -> Run:
    """``cp`` and ``mv``: files, and folders with all that is in them."""
    name, (given, paths) = words[0], options(words[1:])
    if len(paths) < 2:
        yield error(name, "missing file operand")
        return 1
    target = machine.path(paths[-1])
    for each in paths[:-1]:
        source = machine.path(each)
        into = f"{target}/{source.rpartition('/')[2]}" if machine.files.is_folder(target) else target
        try:
            if machine.files.target(source) is None and not machine.files.exists(source):
                raise FileError("No such file or directory")
            if machine.files.is_folder(source) and not moves and not {"r", "R", "a"} & given.keys():
                yield error(name, f"omitting directory '{each}'")
                return 1
            _copy(machine, source, into, keeps=moves or bool({"a", "d", "P"} & given.keys()))
            if moves:
                machine.files.remove(source)
        except FileError as problem:
            there = machine.files.target(source) is not None or machine.files.exists(source)
            failed = f"create '{paths[-1]}'" if there else f"stat '{each}'"
            yield error(name, f"can't {failed}: {problem}")
            return 1
    return 0


def _cp(machine: Machine, words: list[str]) -> Run:
    return (yield from _copied(machine, words, moves=False))


def _mv(machine: Machine, words: list[str]) -> Run:
    return (yield from _copied(machine, words, moves=True))


def _changes_mode(machine: Machine, words: list[str]) -> Run:
    """``chmod`` and ``chown``: files have no owners and rights, so that nothing changes."""
    for name in [word for word in words[1:] if not word.startswith("-")][1:]:
        if not machine.files.exists(machine.path(name)):
            yield error(words[0], f"{name}: No such file or directory")
            return 1
    return 0


def _basename(machine: Machine, words: list[str]) -> Run:
    name = words[1].rstrip("/").rpartition("/")[2] if len(words) > 1 else ""
    yield line(name.removesuffix(words[2]) if len(words) > 2 and name != words[2] else name)
    return 0


def _dirname(machine: Machine, words: list[str]) -> Run:
    head, slash, _ = (words[1] if len(words) > 1 else "").rstrip("/").rpartition("/")
    yield line(head or slash or ".")
    return 0


def _stat(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:], valued="c")
    for name in names:
        path = machine.path(name)
        if not machine.files.exists(path):
            yield error("stat", f"can't stat '{name}': No such file or directory")
            return 1
        size = len(machine.files.read(path)) if machine.files.is_file(path) else 4096
        kind = "regular file" if machine.files.is_file(path) else "directory"
        form = given.get("c", "  File: %n\n  Size: %s\t%F")
        yield line(form.replace("%n", name).replace("%s", str(size)).replace("%F", kind))
    return 0


def _df(machine: Machine, words: list[str]) -> Run:
    yield line("Filesystem           1K-blocks      Used Available Use% Mounted on")
    yield line("overlay              101430960   8112304  93302272   8% /")
    return 0


_UNITS: Final = {"": 1, "b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


def _size(text: str) -> int:
    """Bytes of a size such as ``4M``; 512 for what is none."""
    found = re.fullmatch(r"(\d{1,9})([bkKMG]?)B?", text)
    return int(found[1]) * _UNITS[found[2]] if found else 512


def _dd(machine: Machine, words: list[str]) -> Run:
    given = dict(word.partition("=")[::2] for word in words[1:])
    block, count = _size(given.get("bs", "512")), whole(given.get("count", "-1"))
    source, wanted = given.get("if", ""), block * count
    try:
        if source in ("/dev/zero", "/dev/random", "/dev/urandom"):
            if not 0 <= wanted <= MOST_BYTES:
                raise FileError("No space left on device")
            data = bytes(wanted) if source == "/dev/zero" else hashlib.shake_256(b"dd").digest(wanted)
        else:
            data = machine.files.read(machine.path(source)) if source else (yield from read_all())
            data = data[:wanted] if wanted >= 0 else data
        if "of" in given:
            machine.files.write(machine.path(given["of"]), data)
        else:
            yield Write(data)
    except FileError as problem:
        yield error("dd", f"{source}: {problem}")
        return 1
    full, rest = divmod(len(data), block or 1)
    records = f"{full}+{int(bool(rest))}"
    text = f"{records} records in\n{records} records out\n{len(data)} bytes copied, 0.000 s, 0 B/s\n"
    yield Write(text.encode(), STDERR)
    return 0


FILE_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "cp": _cp,
    "mv": _mv,
    "chmod": _changes_mode,
    "chown": _changes_mode,
    "basename": _basename,
    "dirname": _dirname,
    "stat": _stat,
    "df": _df,
    "dd": _dd,
}
"""The commands of this module, by name."""
