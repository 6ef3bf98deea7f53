"""The commands of the small shell: those for files and folders, and those that tell of the container."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.builtins import BUILTINS, SHELLS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.kernel import FOREVER, Run, Sleep
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.network_commands import NETWORK_COMMANDS
from simkit.simulation.shell.options import content, options, read_all
from simkit.simulation.shell.paths import mode_of
from simkit.simulation.shell.printing import PRINTING
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.syntax import is_name
from simkit.simulation.shell.text_commands import TEXT_COMMANDS
from simkit.simulation.shell.user_files import packed, unpack

# Commands for files and folders

_ENDLESS: Final = ("/dev/zero", "/dev/urandom", "/dev/random")


def _operands(words: Sequence[str], given: Sequence[str], least: int = 1) -> Sequence[str]:
    if len(given) < least:
        raise Failed("missing operand")
    return given


def _cat(machine: Machine, words: list[str]) -> Run:
    code, names = 0, options(words, "u")[1] or ["-"]
    for name in names:
        if name in _ENDLESS:
            raise Unsupported(f"cat {name}")
        if name == "-":
            while part := (yield from machine.read(everything=True)):
                yield from machine.write(part)
            continue
        try:
            data = yield from content(machine, name)
        except Failed as problem:
            yield from machine.complain(f"cat: {problem}")
            code = 1
        else:
            yield from machine.write(data)
    return code


def _ls(machine: Machine, words: list[str]) -> Run:
    """``ls [-1aAd]``: one name a line, as where the output is no terminal."""
    given, names = options(words, "1aAd")
    code, files, folders = 0, list[str](), list[str]()
    for name in sorted(names or ["."]):
        path = machine.path(name)
        if machine.files.target(path) is None and not machine.files.exists(path):
            yield from machine.complain(f"ls: {name}: No such file or directory")
            code = 1
        else:
            (folders if machine.files.is_folder(path) and "d" not in given else files).append(name)
    for name in files:
        yield from machine.write(f"{name}\n")
    for number, name in enumerate(folders):
        if len(names) > 1:
            yield from machine.write(f"{chr(10) if number or files else ''}{name}:\n")
        try:
            inside = machine.files.listed(machine.path(name))
        except FileError as problem:
            yield from machine.complain(f"ls: {name}: {problem}")
            code = 1
            continue
        shown = [each for each in inside if not each.startswith(".") or {"a", "A"} & given.keys()]
        for each in [*([".", ".."] if "a" in given else ()), *shown]:
            yield from machine.write(f"{each}\n")
    return code


def _mkdir(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "p", "m")
    mode = mode_of(given["m"], 0o777, is_folder=True, umask=0) if "m" in given else None
    if "m" in given and mode is None:
        raise Failed(f"invalid mode '{given['m']}'")
    for name in _operands(words, names):
        path = machine.path(name)
        if machine.files.exists(path) and not ("p" in given and machine.files.is_folder(path)):
            raise Failed(f"can't create directory '{name}': File exists")
        if "p" not in given and not machine.files.is_folder(path.rpartition("/")[0] or "/"):
            raise Failed(f"can't create directory '{name}': No such file or directory")
        machine.files.make_folder(path)
        if mode is not None:
            machine.files.set_mode(path, mode)
    yield from ()
    return 0


def _rm(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "rRf")
    if "f" not in given:
        _operands(words, names)
    code = 0
    for name in names:
        path = machine.path(name)
        there = machine.files.target(path) is not None or machine.files.exists(path)
        is_folder = machine.files.target(path) is None and machine.files.is_folder(path)
        problem = "" if there or "f" in given else "No such file or directory"
        if is_folder and not {"r", "R"} & given.keys():
            problem = "Is a directory"
        if not problem and there:
            try:
                machine.files.remove(path)
            except FileError as error:
                problem = str(error)
        if problem:
            yield from machine.complain(f"rm: can't remove '{name}': {problem}")
            code = 1
    return code


def _places(machine: Machine, words: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Sources and their targets, from the operands of ``cp`` and ``mv``."""
    *sources, target = _operands(words, names, 2)
    into = machine.path(target)
    if machine.files.is_folder(into):
        return [(each, f"{into.rstrip('/')}/{machine.path(each).rpartition('/')[2]}") for each in sources]
    if len(sources) > 1:
        raise Failed(f"target '{target}' is not a directory")
    return [(sources[0], into)]


def _cp(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "rRapf")
    recursive, keeps = bool({"r", "R", "a"} & given.keys()), bool({"p", "a"} & given.keys())
    for name, into in _places(machine, words, names):
        source = machine.path(name)
        if not machine.files.exists(source):
            raise Failed(f"can't stat '{name}': No such file or directory")
        if machine.files.is_folder(source) and not recursive:
            raise Failed(f"omitting directory '{name}'")
        if into == source or into.startswith(f"{source.rstrip('/')}/"):
            raise Failed(f"'{name}' and '{into}' are the same file, or one is in the other")
        _copy(machine, source, into, recursive=recursive, keeps=keeps)
    yield from ()
    return 0


def _copy(machine: Machine, source: str, into: str, *, recursive: bool, keeps: bool) -> None:
    files = machine.files
    for found in files.tree(source) if recursive else [source]:
        place, target = into + found[len(source) :], files.target(found) if recursive else None
        if target is not None:
            files.link(target, place)
            continue
        mark, new = files.mark(found), not files.exists(place)
        if files.is_folder(found):
            files.make_folder(place)
        else:
            files.write(place, files.read(found))
        if keeps:
            files.keep(place, mark)
        elif new:
            files.set_mode(place, mark.mode & 0o777 & ~files.umask)


def _mv(machine: Machine, words: list[str]) -> Run:
    for name, into in _places(machine, words, options(words, "f")[1]):
        source = machine.path(name)
        if machine.files.target(source) is None and not machine.files.exists(source):
            raise Failed(f"can't rename '{name}': No such file or directory")
        if into == source or into.startswith(f"{source.rstrip('/')}/") or machine.files.is_folder(into):
            raise Failed(f"can't rename '{name}': Invalid argument")
        if machine.files.target(into) is not None or machine.files.exists(into):
            machine.files.remove(into)
        machine.files.move(source, into)
    yield from ()
    return 0


def _chmod(machine: Machine, words: list[str]) -> Run:
    given, names = options(
        [words[0], *(["--"] if words[1:2] and words[1][:2] in ("-r", "-w", "-x") else []), *words[1:]], "R"
    )
    text, *paths = _operands(words, names, 2)
    for name in paths:
        path = machine.path(name)
        if not machine.files.exists(path):
            raise Failed(f"{name}: No such file or directory")
        for each in machine.files.tree(path) if "R" in given else [path]:
            is_folder, before = machine.files.is_folder(each), machine.files.mark(each).mode
            mode = mode_of(text, before, is_folder=is_folder, umask=machine.files.umask)
            if mode is None:
                raise Failed(f"invalid mode '{text}'")
            machine.files.set_mode(each, mode)
    yield from ()
    return 0


def _touch(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "c")
    for name in _operands(words, names):
        path = machine.path(name)
        if machine.files.exists(path):
            machine.files.set_time(path, machine.now)
        elif "c" not in given:
            machine.files.write(path, b"")
    yield from ()
    return 0


def _tar(machine: Machine, words: list[str]) -> Run:
    """``tar`` as ``kubectl cp`` calls it: ``-c`` to the output, ``-x`` from the input, of files that are not packed."""
    first = [] if words[1:2] and words[1].startswith("-") else ["-" + "".join(words[1:2])]
    given, paths = options([words[0], *first, *words[1 + len(first) :]], "cxmpo", "fC")
    if given.get("f", "-") != "-" or ("c" in given) == ("x" in given):
        raise Unsupported(" ".join(words))
    folder = machine.path(given.get("C", "."))
    try:
        if "c" in given:
            yield from machine.write(packed(machine.files, paths, folder))
        else:
            data = yield from read_all(machine)
            unpack(machine.files, data, folder, times="m" not in given, owners="o" not in given)
    except FileError as problem:
        raise Failed(f"{' '.join(paths) or '-'}: {problem}") from problem
    return 0


FILE_COMMANDS: Final[Mapping[str, Command]] = {
    "cat": _cat, "chmod": _chmod, "cp": _cp, "ls": _ls, "mkdir": _mkdir, "mv": _mv, "rm": _rm, "tar": _tar,
    "touch": _touch,
}  # fmt: skip
"""The commands of this module, by name."""


# The commands of the small shell, and those that tell of the container

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DATE: Final = re.compile(r"%(.)", re.DOTALL)
_DATE_LETTERS: Final = frozenset("YmdHMSjyeabABFTDRZzpIuwhn t".replace(" ", ""))


def _sleep(machine: Machine, words: list[str]) -> Run:
    seconds = 0.0
    for word in options(words)[1] or [""]:
        found = re.fullmatch(r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9}|inf(?:inity)?)([smhd]?)", word)
        if found is None:
            raise Failed(f"invalid time interval '{word}'")
        seconds += FOREVER if found[1].startswith("inf") else float(found[1]) * _UNITS[found[2]]
    yield Sleep(min(seconds, FOREVER))
    return 0


def _env(machine: Machine, words: list[str]) -> Run:
    """``env [-i] [NAME=VALUE...] [COMMAND...]``."""
    given, empty = deque(words[1:]), words[1:2] in (["-i"], ["-"])
    made = machine.program(machine.name, machine.arguments)
    made.signals = machine.signals
    try:
        if empty:
            given.popleft()
            made.variables, made.exported = {}, set()
        while given and is_name(given[0].partition("=")[0]) and "=" in given[0]:
            name, _, value = given.popleft().partition("=")
            made.assign(name, value)
            made.exported.add(name)
        if given and given[0].startswith("-"):
            raise Unsupported(" ".join(words[:2]))
        if given:
            return (yield from run_words(made, list(given), functions=False))
        for name, value in made.variables.items():
            yield from machine.write(f"{name}={value}\n")
        return 0
    finally:
        made.release()


def _id(machine: Machine, words: list[str]) -> Run:
    """``id [-u | -g | -G]``: numbers, since names of users are those of the image."""
    given, rest = options(words, "ugG")
    user = machine.files.user
    if rest or len(given) > 1:
        raise Unsupported(" ".join(words))
    groups = " ".join(map(str, dict.fromkeys((user.gid, *user.groups))))
    told = {"u": str(user.uid), "g": str(user.gid), "G": groups}
    whole = f"uid={user.uid} gid={user.gid} groups={groups.replace(' ', ',')}"
    yield from machine.write(f"{told[next(iter(given))] if given else whole}\n")
    return 0


def _hostname(machine: Machine, words: list[str]) -> Run:
    given, rest = options(words, "i")
    if rest:
        raise Unsupported(" ".join(words))
    addresses = machine.network.own_addresses()
    yield from machine.write(f"{' '.join(addresses) if 'i' in given else machine.hostname}\n")
    return 0


def _date(machine: Machine, words: list[str]) -> Run:
    """``date [-u] [+FORMAT]``, in UTC."""
    rest = options(words, "u")[1]
    if len(rest) > 1 or (rest and not rest[0].startswith("+")) or machine.variables.get("TZ", "UTC") not in ("", "UTC"):
        raise Unsupported(" ".join(words))
    now = datetime.fromtimestamp(machine.now, UTC)

    def shown(found: re.Match[str]) -> str:
        if found[1] == "s":
            return str(int(machine.now))
        if found[1] not in _DATE_LETTERS and found[1] != "%":
            raise Unsupported(f"date +{found[0]}")
        return {"e": f"{now.day:2}", "n": "\n", "t": "\t", "h": now.strftime("%b")}.get(found[1]) or now.strftime(
            found[0]
        )

    form = rest[0][1:] if rest else "%a %b %e %H:%M:%S UTC %Y"
    yield from machine.write(_DATE.sub(shown, form) + "\n")
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    **BUILTINS, **SHELLS, **PRINTING, **FILE_COMMANDS, **TEXT_COMMANDS, **NETWORK_COMMANDS,
    "date": _date, "env": _env, "hostname": _hostname, "id": _id, "sleep": _sleep,
}  # fmt: skip
"""All commands of the small shell, by name."""
PROGRAMS: Final = frozenset(COMMANDS) - BUILTINS.keys() | {"true", "false", "pwd", "kill"}
"""The commands that are programs: files of the image."""
