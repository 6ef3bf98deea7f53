"""The commands of the shell."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.archives import packed, unpack
from simkit.simulation.shell.awk_functions import awk
from simkit.simulation.shell.conditions import CONDITION_COMMANDS
from simkit.simulation.shell.declarations import DECLARATION_COMMANDS
from simkit.simulation.shell.digests import DIGEST_COMMANDS
from simkit.simulation.shell.effects import STANDARD_INPUT, error, line, options, read_all, within_memory
from simkit.simulation.shell.file_commands import FILE_COMMANDS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.find_command import FIND_COMMANDS
from simkit.simulation.shell.job_commands import JOB_COMMANDS
from simkit.simulation.shell.listing import LISTING_COMMANDS
from simkit.simulation.shell.machine import Machine, Read, Run, Write
from simkit.simulation.shell.network_commands import NETWORK_COMMANDS
from simkit.simulation.shell.printing import PRINTING_COMMANDS
from simkit.simulation.shell.process_commands import PROCESS_COMMANDS
from simkit.simulation.shell.reading import READING_COMMANDS
from simkit.simulation.shell.sed_command import sed
from simkit.simulation.shell.shell_commands import SHELL_COMMANDS
from simkit.simulation.shell.system_commands import SYSTEM_COMMANDS
from simkit.simulation.shell.text_commands import TEXT_COMMANDS
from simkit.simulation.shell.tool_commands import TOOL_COMMANDS

Command = Callable[[Machine, list[str]], Run]
_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_PART: Final = 1 << 16
"""Bytes of a file that get their numbers at once."""


class _Numbered:
    """Writes the number of each line before it, or of each that is not empty."""

    def __init__(self, *, empty: bool) -> None:
        self._empty, self._number, self._begun = empty, 0, False

    def add_to(self, data: bytes) -> bytes:
        """The next part of the text, with numbers."""
        made = bytearray()
        for each in _LINES.findall(data):
            if not self._begun and (self._empty or each != b"\n"):
                self._number += 1
                made += b"%6d\t" % self._number
            made += each
            self._begun = not each.endswith(b"\n")
        return bytes(made)


def _cat(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    numbered = _Numbered(empty="b" not in given) if "b" in given or "n" in given else None
    code = 0
    for name in names or ["-"]:
        if name in STANDARD_INPUT:
            while data := (yield Read(everything=True)):
                yield Write(data if numbered is None else numbered.add_to(data))
            continue
        try:
            data = machine.files.read(machine.path(name))
        except FileError as problem:
            yield error("cat", f"can't open '{name}': {problem}")
            code = 1
            continue
        for start in range(0, len(data) or 1, _PART if numbered else len(data) or 1):
            yield Write(data if numbered is None else numbered.add_to(data[start : start + _PART]))
    return code


def _mkdir(machine: Machine, words: list[str]) -> Run:
    code, (given, names) = 0, options(words[1:], valued="m")
    for name in names:
        path, told = machine.path(name.rstrip("/") or "/"), ""
        if "p" not in given:
            above = machine.files.is_folder(path.rpartition("/")[0] or "/")
            told = "File exists" if machine.files.exists(path) else "" if above else "No such file or directory"
        try:
            if not told:
                machine.files.make_folder(path)
        except FileError as problem:
            told = str(problem)
        if told:
            yield error("mkdir", f"can't create directory '{name}': {told}")
            code = 1
    return code


def _touch(machine: Machine, words: list[str]) -> Run:
    yield from ()
    given, names = options(words[1:], valued="drt")
    for name in names:
        path = machine.path(name)
        if machine.files.is_folder(path) or ("c" in given and not machine.files.exists(path)):
            continue
        try:
            machine.files.write(path, b"", append=True)
        except FileError as problem:
            yield error("touch", f"{name}: {problem}")
            return 1
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


def _true(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 0


def _false(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 1


def _hostname(machine: Machine, words: list[str]) -> Run:
    own = machine.network.own_addresses()
    shown = " ".join(own[:1]) if any(word.lower() == "-i" for word in words[1:]) else machine.hostname
    yield line(shown or "127.0.0.1")
    return 0


def _whoami(machine: Machine, words: list[str]) -> Run:
    asked = "".join(word[1:] for word in words[1:] if word.startswith("-"))
    plain = words[0] == "whoami" or "n" in asked
    known = "root" if plain else "0" if asked else "uid=0(root) gid=0(root) groups=0(root)"
    yield line("root" if words[0] == "groups" else known)
    return 0


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
    "cat": _cat,
    "mkdir": _mkdir,
    "touch": _touch,
    "rm": _rm,
    "true": _true,
    ":": _true,
    "sync": _true,
    "false": _false,
    "hostname": _hostname,
    "whoami": _whoami,
    "id": _whoami,
    "groups": _whoami,
    "tar": _tar,
    "awk": within_memory(awk),
    "sed": within_memory(sed),
    **PRINTING_COMMANDS,
    **SHELL_COMMANDS,
    **DECLARATION_COMMANDS,
    **READING_COMMANDS,
    **JOB_COMMANDS,
    **CONDITION_COMMANDS,
    **FILE_COMMANDS,
    **FIND_COMMANDS,
    **DIGEST_COMMANDS,
    **LISTING_COMMANDS,
    **TEXT_COMMANDS,
    **PROCESS_COMMANDS,
    **SYSTEM_COMMANDS,
    **NETWORK_COMMANDS,
    **TOOL_COMMANDS,
}
"""All commands, by name."""
