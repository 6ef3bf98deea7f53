"""The commands of the shell."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.archives import packed, unpack
from simkit.simulation.shell.effects import error, line, read_all, whole
from simkit.simulation.shell.file_commands import FILE_COMMANDS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_interactive, run_script
from simkit.simulation.shell.listing import LISTING_COMMANDS
from simkit.simulation.shell.machine import Exit, Machine, Read, Run, Write
from simkit.simulation.shell.network_commands import NETWORK_COMMANDS
from simkit.simulation.shell.system_commands import SYSTEM_COMMANDS
from simkit.simulation.shell.text_commands import TEXT_COMMANDS

Command = Callable[[Machine, list[str]], Run]
_MOST_NUMBERS: Final = 100_000
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0", "a": "\a", "b": "\b"}


def _escaped(text: str) -> str:
    return re.sub(r"\\([ntr\\0ab])", lambda found: _ESCAPES[found[1]], text)


def _echo(machine: Machine, words: list[str]) -> Run:
    given, newline, escapes = words[1:], True, False
    while given and re.fullmatch(r"-[neE]+", given[0]):
        newline, escapes = newline and "n" not in given[0], escapes or "e" in given[0]
        given = given[1:]
    text = " ".join(given)
    yield Write(((_escaped(text) if escapes else text) + ("\n" if newline else "")).encode())
    return 0


def _printf(machine: Machine, words: list[str]) -> Run:
    form, given = _escaped(words[1] if len(words) > 1 else ""), list(words[2:])

    def value(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        text = given.pop(0) if given else ""
        return str(whole(text)) if found[0][-1] == "d" else text

    yield Write(re.sub(r"%(?:%|[sd])", value, form).encode())
    return 0


def _cat(machine: Machine, words: list[str]) -> Run:
    code = 0
    for name in words[1:] or ["-"]:
        if name == "-":
            while data := (yield Read()):
                yield Write(data)
            continue
        try:
            yield Write(machine.files.read(machine.path(name)))
        except FileError as problem:
            yield error("cat", f"can't open '{name}': {problem}")
            code = 1
    return code


def _mkdir(machine: Machine, words: list[str]) -> Run:
    yield from ()
    for name in words[1:]:
        if not name.startswith("-"):
            machine.files.make_folder(machine.path(name))
    return 0


def _touch(machine: Machine, words: list[str]) -> Run:
    yield from ()
    for name in words[1:]:
        machine.files.write(machine.path(name), b"", append=True)
    return 0


def _rm(machine: Machine, words: list[str]) -> Run:
    force = any(word.startswith("-") and "f" in word for word in words[1:])
    code = 0
    for name in [word for word in words[1:] if not word.startswith("-")]:
        try:
            machine.files.remove(machine.path(name))
        except FileError as problem:
            if not force:
                yield error("rm", f"can't remove '{name}': {problem}")
                code = 1
    return code


def _cd(machine: Machine, words: list[str]) -> Run:
    target = words[1] if len(words) > 1 else "/"
    if not machine.files.is_folder(machine.path(target)):
        yield error("sh: cd", f"can't cd to {target}: No such file or directory")
        return 2
    machine.folder = machine.path(target)
    return 0


def _pwd(machine: Machine, words: list[str]) -> Run:
    yield line(machine.folder)
    return 0


def _env(machine: Machine, words: list[str]) -> Run:
    for name, value in sorted(machine.environment.items()):
        yield line(f"{name}={value}")
    return 0


def _export(machine: Machine, words: list[str]) -> Run:
    yield from ()
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            machine.assign(name, value)
    return 0


def _read(machine: Machine, words: list[str]) -> Run:
    """A line of the input, split into variables; the last one gets the rest."""
    names = [word for word in words[1:] if not word.startswith("-")] or ["REPLY"]
    given = yield Read()
    left = given.decode("utf-8", "replace").rstrip("\n")
    for name in names[:-1]:
        value, _, left = left.strip().partition(" ")
        machine.assign(name, value)
    machine.assign(names[-1], left.strip())
    return int(not given)


def _date(machine: Machine, words: list[str]) -> Run:
    moment = datetime.fromtimestamp(machine.now, UTC)
    form = next((word[1:] for word in words[1:] if word.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    wrong = next((word for word in words[1:] if not word.startswith(("+", "-"))), "")
    if wrong:
        yield error("date", f"invalid date '{wrong}'")
        return 1
    yield line(moment.strftime(form))
    return 0


def _sleep(machine: Machine, words: list[str]) -> Run:
    text = words[1] if len(words) > 1 else "0"
    if text in ("inf", "infinity"):
        yield 1e12
        return 0
    units: Mapping[str, int] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd]?)", text)
    if found is None:
        yield error("sleep", f"invalid number '{text}'")
        return 1
    yield float(found[1]) * units[found[2] or "s"]
    return 0


def _seq(machine: Machine, words: list[str]) -> Run:
    numbers = [whole(word) for word in words[1:4]]
    first, step = (numbers[0] if len(numbers) > 1 else 1), (numbers[1] if len(numbers) > 2 else 1)
    last = numbers[-1] if numbers else 0
    span = range(first, last + (1 if step >= 0 else -1), step or 1)
    for number in span[:_MOST_NUMBERS]:
        yield line(str(number))
    return 0


def _exit(machine: Machine, words: list[str]) -> Run:
    yield from ()
    raise Exit(whole(words[1]) % 256 if len(words) > 1 else machine.code)


def _true(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 0


def _false(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 1


def _hostname(machine: Machine, words: list[str]) -> Run:
    yield line(machine.hostname)
    return 0


def _whoami(machine: Machine, words: list[str]) -> Run:
    yield line("root" if words[0] == "whoami" else "uid=0(root) gid=0(root)")
    return 0


def _test(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return int(not _either([word for word in words[1:] if word not in ("]", "]]")], machine))


def _either(given: list[str], machine: Machine) -> bool:
    """Conditions that ``-o`` and ``-a`` join."""
    for operator, joined in (("-o", any), ("-a", all)):
        if operator in given[1:-1]:
            place = given.index(operator, 1)
            return joined(_either(part, machine) for part in (given[:place], given[place + 1 :]))
    return not _either(given[1:], machine) if given[:1] == ["!"] and len(given) > 1 else _holds(machine, given)


def _holds(machine: Machine, given: list[str]) -> bool:
    match given:
        case ["-f", path]:
            return machine.files.is_file(machine.path(path))
        case ["-d", path]:
            return machine.files.is_folder(machine.path(path))
        case ["-e" | "-r" | "-w" | "-x", path]:
            return machine.files.exists(machine.path(path))
        case ["-L" | "-h", path]:
            return machine.files.target(machine.path(path)) is not None
        case ["-s", path]:
            return machine.files.is_file(machine.path(path)) and bool(machine.files.read(machine.path(path)))
        case ["-z", text]:
            return not text
        case ["-n", text] | [text]:
            return bool(text)
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" as operator, right]:
            sign = (whole(left) > whole(right)) - (whole(left) < whole(right))
            wanted = {"-eq": (0,), "-ne": (-1, 1), "-lt": (-1,), "-le": (-1, 0), "-gt": (1,), "-ge": (0, 1)}
            return sign in wanted[operator]
    return False


def _sh(machine: Machine, words: list[str]) -> Run:
    given = words[1:]
    flags = [word for word in given if word.startswith("-")]
    rest = [word for word in given if not word.startswith("-")]
    if any("c" in flag for flag in flags):
        given = words[words.index(rest[0]) :] if rest else [""]
        child = replace(machine.child(), script=given[1] if len(given) > 1 else words[0], arguments=tuple(given[2:]))
        return (yield from run_script(child, given[0]))
    if rest:
        try:
            text = machine.files.read(machine.path(rest[0])).decode("utf-8", "replace")
        except FileError:
            yield error("sh", f"can't open '{rest[0]}': No such file or directory")
            return 2
        return (yield from run_script(replace(machine.child(), script=rest[0], arguments=tuple(rest[1:])), text))
    prompt = machine.environment.get("TERM") is not None
    return (yield from run_interactive(machine.child(), prompt=prompt))


def _tar(machine: Machine, words: list[str]) -> Run:
    """``tar cf - PATH...`` and ``tar xf - [-C FOLDER]``: what kubectl cp runs."""
    folder, paths, flags, index = machine.folder, [], "", 1
    while index < len(words):
        word = words[index]
        if word == "-C" and index + 1 < len(words):
            folder, index = machine.path(words[index + 1]), index + 1
        elif word.startswith("--"):
            pass
        elif word.startswith("-") and word != "-":
            flags += word[1:]
        elif index == 1:
            flags += word
        elif word != "-":
            paths.append(word)
        index += 1
    try:
        if "c" in flags:
            made = packed(machine.files, paths, folder, machine.now)
            yield Write(gzip.compress(made, mtime=int(machine.now)) if "z" in flags else made)
            return 0
        if "x" in flags:
            unpack(machine.files, (yield from read_all()), folder)
            return 0
    except FileError as problem:
        yield error("tar", f"{paths[0] if paths else '-'}: {problem}")
        return 1
    yield error("tar", "must specify one of -c, -x")
    return 1


COMMANDS: Final[Mapping[str, Command]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "mkdir": _mkdir,
    "touch": _touch,
    "rm": _rm,
    "cd": _cd,
    "pwd": _pwd,
    "env": _env,
    "printenv": _env,
    "export": _export,
    "local": _export,
    "read": _read,
    "date": _date,
    "sleep": _sleep,
    "seq": _seq,
    "exit": _exit,
    "true": _true,
    ":": _true,
    "set": _true,
    "trap": _true,
    "sync": _true,
    "false": _false,
    "hostname": _hostname,
    "whoami": _whoami,
    "id": _whoami,
    "test": _test,
    "[": _test,
    "[[": _test,
    "sh": _sh,
    "bash": _sh,
    "ash": _sh,
    "tar": _tar,
    **FILE_COMMANDS,
    **LISTING_COMMANDS,
    **TEXT_COMMANDS,
    **SYSTEM_COMMANDS,
    **NETWORK_COMMANDS,
}
"""All commands, by name."""
