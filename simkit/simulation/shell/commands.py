"""All commands of the small shell, and those among them for files and for what a container knows of itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.builtins import BUILTINS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.kernel import FOREVER, FileStream, Run, Sleep
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.network_commands import NETWORK_COMMANDS
from simkit.simulation.shell.options import content, options, read_all
from simkit.simulation.shell.paths import UMASK, mode_of
from simkit.simulation.shell.printing import PRINTING
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.script_files import ONLY_OWN
from simkit.simulation.shell.shells import run_sh
from simkit.simulation.shell.syntax import is_name
from simkit.simulation.shell.text_commands import TEXT_COMMANDS
from simkit.simulation.shell.user_files import packed, unpack

# Commands for files and folders


def _operands(given: Sequence[str], least: int = 1) -> Sequence[str]:
    if len(given) < least:
        raise Failed("missing operand")
    return given


def _cat(machine: Machine, words: list[str]) -> Run:
    code = 0
    for name in options(words, "u")[1] or ["-"]:
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
            output = machine.streams.get(1)
            if isinstance(output, FileStream) and output.path == machine.path(name):
                raise Unsupported(f"cat of {name}, which is its output")
            yield from machine.write(data)
    return code


def _ls(machine: Machine, words: list[str]) -> Run:
    """``ls [-1aA]``: one name a line, as where the output is no terminal."""
    given, names = options(words, "1aA")
    code, files, folders = 0, list[str](), list[str]()
    for name in sorted(names or ["."]):
        path = machine.path(name)
        if path.startswith(("/dev/", "/proc")):
            raise Unsupported(f"ls {name}")
        if machine.files.target(path) is None and not machine.files.exists(path):
            yield from machine.complain(f"ls: {name}: No such file or directory")
            code = 1
        else:
            (folders if machine.files.is_folder(path) else files).append(name)
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


def _each(machine: Machine, words: Sequence[str], names: Sequence[str], act: Callable[[str], None]) -> Run:
    """Do something with each file; a failure is told, and the others have their turn."""
    code = 0
    for name in names:
        try:
            act(name)
        except (Failed, FileError) as problem:
            told = str(problem) if isinstance(problem, Failed) else f"{name}: {problem}"
            yield from machine.complain(f"{words[0]}: {told}")
            code = 1
    return code


def _mkdir(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "p")

    def make(name: str) -> None:
        path = machine.path(name)
        if machine.files.exists(path) and not ("p" in given and machine.files.is_folder(path)):
            raise Failed(f"can't create directory '{name}': File exists")
        if "p" not in given and not machine.files.is_folder(path.rpartition("/")[0] or "/"):
            raise Failed(f"can't create directory '{name}': No such file or directory")
        machine.files.make_folder(path)

    return (yield from _each(machine, words, _operands(names), make))


def _rm(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "rRf")

    def remove(name: str) -> None:
        path = machine.path(name)
        is_link = machine.files.target(path) is not None
        if not is_link and machine.files.is_folder(path) and not {"r", "R"} & given.keys():
            raise Failed(f"can't remove '{name}': Is a directory")
        if is_link or machine.files.exists(path) or "f" not in given:
            machine.files.remove(path)

    return (yield from _each(machine, words, names if "f" in given else _operands(names), remove))


def _moves(machine: Machine, words: list[str], names: Sequence[str], act: Callable[[str, str], None]) -> Run:
    """Do something with the path of each operand of ``cp`` and ``mv`` but the last, and the one that it goes to."""
    *sources, target = _operands(names, 2)
    into = machine.path(target)
    is_folder = machine.files.is_folder(into)
    if not is_folder and (len(sources) > 1 or target.endswith("/")):
        raise Failed(f"target '{target}' is not a directory")

    def move(name: str) -> None:
        path = machine.path(name)
        place = f"{into.rstrip('/')}/{path.rpartition('/')[2]}" if is_folder else into
        if machine.files.target(path) is None and not machine.files.exists(path):
            raise Failed(f"can't stat '{name}': No such file or directory")
        if place == path or place.startswith(f"{path.rstrip('/')}/"):
            raise Failed(f"'{name}' and '{place}' are the same file, or one is in the other")
        act(path, place)

    return (yield from _each(machine, words, sources, move))


def _cp(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "rR")
    files = machine.files

    def copy(source: str, into: str) -> None:
        if files.is_folder(source) and not given:
            raise Failed(f"omitting directory '{source}'")
        for found in files.tree(source) if given else [source]:
            place, target = into + found[len(source) :], files.target(found) if given else None
            if target is not None:
                files.link(target, place)
            elif files.is_folder(found):
                files.make_folder(place)
            else:
                new = not files.exists(place)
                files.write(place, files.read(found))
                if new:
                    files.set_mode(place, files.mark(found).mode & ~UMASK & 0o777)

    return (yield from _moves(machine, words, names, copy))


def _mv(machine: Machine, words: list[str]) -> Run:
    files = machine.files

    def move(source: str, into: str) -> None:
        if files.is_folder(into):
            raise Failed(f"can't rename '{source}': Invalid argument")
        if files.target(into) is not None or files.exists(into):
            files.remove(into)
        files.move(source, into)

    return (yield from _moves(machine, words, options(words, "f")[1], move))


def _chmod(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "R")
    text, *paths = _operands(names, 2)

    def change(name: str) -> None:
        path = machine.path(name)
        if not machine.files.exists(path):
            raise Failed(f"{name}: No such file or directory")
        for each in machine.files.tree(path) if given else [path]:
            mode = mode_of(text, machine.files.mark(each).mode)
            if mode is None:
                raise Unsupported(f"chmod {text}")
            machine.files.set_mode(each, mode)

    return (yield from _each(machine, words, paths, change))


def _touch(machine: Machine, words: list[str]) -> Run:
    def touch(name: str) -> None:
        path = machine.path(name)
        if machine.files.exists(path):
            machine.files.set_time(path, machine.now)
        else:
            machine.files.write(path, b"")

    return (yield from _each(machine, words, _operands(options(words)[1]), touch))


def _tar(machine: Machine, words: list[str]) -> Run:
    """``tar`` as ``kubectl cp`` calls it: ``-c`` to the output, ``-x`` from the input, of files that are not packed."""
    given, paths = options([*words[:1], *(f"-{word.lstrip('-')}" for word in words[1:2]), *words[2:]], "cxmpo", "fC")
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


# Commands that tell of the container, and those that run others

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DATE_LETTERS: Final = frozenset("YmdHMSjyFTabABZ%")


def _sleep(machine: Machine, words: list[str]) -> Run:
    seconds = 0.0
    for word in options(words)[1] or [""]:
        found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?|inf(?:inity)?)([smhd]?)", word)
        if found is None:
            raise Failed(f"invalid time interval '{word}'")
        seconds += FOREVER if found[1].startswith("inf") else float(found[1]) * _UNITS[found[2]]
    yield Sleep(min(seconds, FOREVER))
    return 0


def _env(machine: Machine, words: list[str]) -> Run:
    """``env [NAME=VALUE...] [COMMAND...]``."""
    made, at = machine.program(machine.name, machine.arguments), 1
    made.signals = machine.signals
    try:
        while at < len(words) and is_name(words[at].partition("=")[0]) and "=" in words[at]:
            name, _, value = words[at].partition("=")
            made.assign(name, value)
            made.exported.add(name)
            at += 1
        if at < len(words):
            if words[at].startswith("-") or words[at] in ONLY_OWN:
                raise Unsupported(" ".join(words))
            return (yield from run_words(made, words[at:], functions=False))
        for name in sorted(made.exported & made.variables.keys()):
            yield from machine.write(f"{name}={made.variables[name]}\n")
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
    form = rest[0] if rest else "+%a %b %e %H:%M:%S UTC %Y"
    now = datetime.fromtimestamp(machine.now, UTC)
    form = form.replace("%s", str(int(machine.now))).replace("%e", f"{now.day:2}")
    letters = set(re.findall("%(.?)", form, re.DOTALL))
    if len(rest) > 1 or form[0] != "+" or not letters <= _DATE_LETTERS or machine.variables.get("TZ", "UTC") != "UTC":
        raise Unsupported(" ".join(words))
    yield from machine.write(f"{now.strftime(form[1:])}\n")
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    **BUILTINS, **PRINTING, **TEXT_COMMANDS, **NETWORK_COMMANDS, **dict.fromkeys(("sh", "bash", "ash", "dash"), run_sh),
    "cat": _cat, "chmod": _chmod, "cp": _cp, "date": _date, "env": _env, "hostname": _hostname, "id": _id, "ls": _ls,
    "mkdir": _mkdir, "mv": _mv, "rm": _rm, "sleep": _sleep, "tar": _tar, "touch": _touch,
}  # fmt: skip
"""All commands of the small shell, by name."""
PROGRAMS: Final = frozenset(COMMANDS) - ONLY_OWN
"""The commands that are programs: files of the image."""
