"""Commands about files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Mapping
from typing import Final

from simkit.simulation.shell.effects import ENDLESS, TooMuch, error, options, read_all, whole
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Read, Run, Write


def _copy(machine: Machine, source: str, into: str, *, links: bool, keeps: bool) -> None:
    """Copy a file or a folder. Links in a folder stay links; ``links`` says that the source itself may be one.

    ``keeps`` has copies keep modes, times and, of root, owners.
    """
    files = machine.files
    root = source if links else files.real(source)
    for found in files.tree(root):
        place = into + found[len(root) :]
        target = files.target(found)
        if target is not None:
            files.link(target, place)
            continue
        mark, there = files.mark(found), files.exists(place)
        if files.is_folder(found):
            files.make_folder(place)
        else:
            files.write(place, files.read(found))
        if keeps:
            owner = mark if files.user.uid == 0 else files.mark(place)
            files.keep(place, mark._replace(uid=owner.uid, gid=owner.gid))
        elif not there:
            files.set_mode(place, mark.mode & 0o777 & ~files.umask)


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
            if moves:
                machine.files.move(source, into)
            else:
                keeps, links = bool({"a", "p"} & given.keys()), bool({"a", "d", "P"} & given.keys())
                _copy(machine, source, into, links=links, keeps=keeps)
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


_UNITS: Final = {"": 1, "b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


def _size(text: str) -> int:
    """Bytes of a size such as ``4M``; 512 for what is none."""
    found = re.fullmatch(r"(\d{1,9})([bkKMG]?)B?", text)
    return int(found[1]) * _UNITS[found[2]] if found else 512


def _read_up_to(wanted: int) -> Generator[Effect, bytes, bytes]:
    """Bytes of the standard input, as many as are wanted, or all for a negative number. Raises TooMuch."""
    if wanted < 0:
        return (yield from read_all())
    parts, size = [], 0
    while size < wanted and (part := (yield Read(everything=True))):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise TooMuch
    return b"".join(parts)[:wanted]


def _dd(machine: Machine, words: list[str]) -> Run:
    given = dict(word.partition("=")[::2] for word in words[1:])
    block, count = _size(given.get("bs", "512")), whole(given.get("count", "-1"))
    source, wanted = given.get("if", ""), block * count
    try:
        if source in ENDLESS:
            if not 0 <= wanted <= MOST_BYTES:
                raise FileError("No space left on device")
            data = bytes(wanted) if source == "/dev/zero" else hashlib.shake_256(b"dd").digest(wanted)
        else:
            data = machine.files.read(machine.path(source)) if source else (yield from _read_up_to(wanted))
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
    "dd": _dd,
}
"""The commands of this module, by name."""
