"""Commands about names and places of files: ``basename``, ``dirname``, ``rmdir``, ``du``, ``df`` and others.

References
----------
POSIX.1-2017; options of GNU coreutils 9.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.simulation.shell.effects import error, line, whole
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_BASENAME: Final = Syntax(valued="s", names={"multiple": "a", "suffix": "s", "zero": "z"})
_DU: Final = Syntax(
    valued="dBX",
    names={
        "summarize": "s", "human-readable": "h", "bytes": "b", "all": "a", "max-depth": "d", "total": "c",
        "apparent-size": "A", "block-size": "B", "exclude": "X", "kilobytes": "k",
    },
)  # fmt: skip
_DF: Final = Syntax(valued="tBx", names={"human-readable": "h", "print-type": "T", "inodes": "i", "portability": "P"})
_BLOCK: Final = 4096
"""Bytes of a block of a disk."""
_DISK: Final = (101_430_960, 8_112_304, 93_302_272)
"""Kilobytes of the disk of a node: all, used and free. What containers write does not count."""
_INODES: Final = (6_553_600, 400_000)
_UNITS: Final = ("", "K", "M", "G", "T")
_KILO: Final = 1024


def _basename(machine: Machine, words: list[str]) -> Run:
    given = _BASENAME.read(words[1:])
    several = given.any("as")
    if not given.rest:
        yield error("basename", "missing operand")
        return 1
    suffix = given.last("s") if several else "".join(given.rest[1:2])
    for name in given.rest if several else given.rest[:1]:
        found = name.rstrip("/").rpartition("/")[2] or ("/" if name else "")
        yield line(found.removesuffix(suffix) if found != suffix else found)
    return 0


def _dirname(machine: Machine, words: list[str]) -> Run:
    names = [word for word in words[1:] if word not in ("--", "-z")]
    if not names:
        yield error("dirname", "missing operand")
        return 1
    for name in names:
        head, slash, _ = name.rstrip("/").rpartition("/")
        yield line(head.rstrip("/") or slash or ("/" if name.startswith("/") else "."))
    return 0


def _rmdir(machine: Machine, words: list[str]) -> Run:
    """``rmdir [-p] FOLDER...``: with ``-p`` the folders around them too."""
    given = Syntax(names={"parents": "p", "ignore-fail-on-non-empty": "i", "verbose": "v"}).read(words[1:])
    code = 0
    for name in given.rest:
        parts = name.rstrip("/").split("/")
        wanted = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)] if "p" in given else [name]
        for each in filter(None, wanted):
            told = _not_removed(machine, machine.path(each))
            if told:
                yield error("rmdir", f"'{each}': {told}")
                code = 1
                break
    return code


def _not_removed(machine: Machine, path: str) -> str:
    """The reason why a folder cannot be removed; empty once it is."""
    if not machine.files.is_folder(path):
        return "Not a directory" if machine.files.exists(path) else "No such file or directory"
    if machine.files.base.listed(path):
        return "Directory not empty"
    try:
        machine.files.remove(path)
    except FileError as problem:
        return str(problem)
    return ""


def _unlink(machine: Machine, words: list[str]) -> Run:
    """``unlink FILE``, and ``shred [-u] FILE...``, which removes nothing without ``-u``."""
    given = Syntax(valued="ns", names={"remove": "u", "force": "f", "iterations": "n", "zero": "z"}).read(words[1:])
    for name in given.rest:
        path = machine.path(name)
        try:
            if machine.files.target(path) is None and machine.files.is_folder(path):
                raise FileError("Is a directory")
            if words[0] == "unlink" or "u" in given:
                machine.files.remove(path)
            else:
                machine.files.write(path, bytes(machine.files.size(path)))
        except FileError as problem:
            yield error(words[0], f"{name}: {problem}")
            return 1
    return 0


def _link(machine: Machine, words: list[str]) -> Run:
    """``link FILE NAME``: a copy, since files have one name."""
    if len(words) != 3:
        yield error("link", "a file and a new name are needed")
        return 1
    try:
        machine.files.write(machine.path(words[2]), machine.files.read(machine.path(words[1])))
    except FileError as problem:
        yield error("link", f"{words[1]}: {problem}")
        return 1
    return 0


def _du(machine: Machine, words: list[str]) -> Run:
    """``du [-s] [-h] [-b] [-a] [-c] [-d DEPTH] [PATH...]``: files take whole blocks, and folders one."""
    try:
        given = _DU.read(words[1:])
    except UnknownOption as problem:
        yield error("du", str(problem))
        return 1
    code, total = 0, 0
    for name in given.rest or ["."]:
        root = machine.path(name)
        if not machine.files.exists(root):
            yield error("du", f"{name}: No such file or directory")
            code = 1
            continue
        rows = list(_sizes(machine, root, name, given))
        total += rows[-1][0]
        for size, shown in rows:
            yield line(f"{_amount(size, given)}\t{shown}")
    if "c" in given:
        yield line(f"{_amount(total, given)}\ttotal")
    return code


def _sizes(machine: Machine, root: str, name: str, given: Given) -> Iterator[tuple[int, str]]:
    """The bytes of folders, and of files where they are wanted, each behind what is in it."""
    sums: dict[str, int] = {}
    paths = machine.files.tree(root)
    for path in reversed(paths):
        folder = machine.files.target(path) is None and machine.files.is_folder(path)
        sums[path] = sums.get(path, 0) + _own_size(machine, path, folder=folder, exact=given.any("bA"))
        if path != root:
            above = path.rpartition("/")[0] or "/"
            sums[above] = sums.get(above, 0) + sums[path]
    most = 0 if "s" in given else whole(given.last("d", "1000"))
    for path in sorted(paths, key=lambda each: (each + "/").replace("/", "\0"), reverse=False):
        inner = path[len(root) :].strip("/")
        depth = inner.count("/") + 1 if inner else 0
        folder = machine.files.target(path) is None and machine.files.is_folder(path)
        if inner and depth <= most and (folder or "a" in given):
            yield sums[path], f"{name.rstrip('/')}/{inner}"
    yield sums[root], name


def _own_size(machine: Machine, path: str, *, folder: bool, exact: bool) -> int:
    if folder:
        return _BLOCK
    target = machine.files.target(path)
    size = len(target) if target is not None else machine.files.size(path)
    return size if exact else -(-size // _BLOCK) * _BLOCK


def _amount(size: int, given: Given) -> str:
    if "b" in given:
        return str(size)
    if "h" in given:
        return human(size)
    unit = {"M": _KILO**2, "G": _KILO**3}.get(given.last("B")[:1].upper(), _KILO**2 if "m" in given else _KILO)
    return str(-(-size // unit))


def human(size: int) -> str:
    """Bytes in a unit that is easy to read, rounded up as ``du -h`` and ``df -h`` do.

    Examples
    --------
    >>> human(4096), human(1536), human(15_000_000), human(0)
    ('4.0K', '1.5K', '15M', '0')
    """
    unit, scale = 0, 1
    while size >= scale * _KILO and unit + 1 < len(_UNITS):
        unit, scale = unit + 1, scale * _KILO
    tenths = -(-size * 10 // scale)
    if not unit:
        return str(size)
    return f"{tenths // 10}.{tenths % 10}{_UNITS[unit]}" if tenths < 100 else f"{-(-size // scale)}{_UNITS[unit]}"


def _df(machine: Machine, words: list[str]) -> Run:
    """``df [-h] [-T] [-i] [PATH...]``: the one disk that all folders are on."""
    try:
        given = _DF.read(words[1:])
    except UnknownOption as problem:
        yield error("df", str(problem))
        return 1
    code = 0
    for name in given.rest:
        if not machine.files.exists(machine.path(name)):
            yield error("df", f"{name}: No such file or directory")
            code = 1
    if code and code == len(given.rest):
        return code
    kind = f" {'overlay':9}" if "T" in given else ""
    title = f" {'Type':9}" if "T" in given else ""
    if "i" in given:
        every, used = _INODES
        yield line(f"Filesystem          {title}    Inodes      Used Available Use% Mounted on")
        yield line(f"overlay             {kind} {every:10}{used:10}{every - used:10} {used * 100 // every:3}% /")
        return code
    if "h" in given:
        sizes = [human(each * _KILO) for each in _DISK]
        yield line(f"Filesystem          {title}      Size      Used Available Use% Mounted on")
    else:
        unit = _KILO if "m" in given else 1
        sizes = [str(each // unit) for each in _DISK]
        yield line(
            f"Filesystem          {title} {'1M' if 'm' in given else '1K'}-blocks      Used Available Use% Mounted on"
        )
    yield line(f"overlay             {kind} {sizes[0]:>9} {sizes[1]:>9} {sizes[2]:>9}   8% /")
    return code


PATH_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "basename": _basename,
    "dirname": _dirname,
    "rmdir": _rmdir,
    "unlink": _unlink,
    "shred": _unlink,
    "link": _link,
    "du": _du,
    "df": _df,
}
"""The commands of this module, by name."""
