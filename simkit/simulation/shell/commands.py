"""The commands of the shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from simkit.simulation.shell.accounts import ACCOUNT_COMMANDS
from simkit.simulation.shell.awk_functions import awk
from simkit.simulation.shell.comparison_commands import COMPARISON_COMMANDS
from simkit.simulation.shell.conditions import CONDITION_COMMANDS
from simkit.simulation.shell.counting_commands import COUNTING_COMMANDS
from simkit.simulation.shell.date_command import DATE_COMMANDS
from simkit.simulation.shell.declarations import DECLARATION_COMMANDS
from simkit.simulation.shell.digests import DIGEST_COMMANDS
from simkit.simulation.shell.dump_commands import DUMP_COMMANDS
from simkit.simulation.shell.effects import ENDLESS, PART, STANDARD_INPUT, error, line, options, within_memory
from simkit.simulation.shell.field_commands import FIELD_COMMANDS
from simkit.simulation.shell.file_commands import FILE_COMMANDS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.find_command import FIND_COMMANDS
from simkit.simulation.shell.grep_command import GREP_COMMANDS
from simkit.simulation.shell.interface_commands import INTERFACE_COMMANDS
from simkit.simulation.shell.job_commands import JOB_COMMANDS
from simkit.simulation.shell.kernel_commands import KERNEL_COMMANDS
from simkit.simulation.shell.listing import LISTING_COMMANDS
from simkit.simulation.shell.machine import Command, Machine, Read, Run, Write
from simkit.simulation.shell.mode_commands import MODE_COMMANDS
from simkit.simulation.shell.network_commands import NETWORK_COMMANDS
from simkit.simulation.shell.path_commands import PATH_COMMANDS
from simkit.simulation.shell.printing import PRINTING_COMMANDS
from simkit.simulation.shell.process_commands import PROCESS_COMMANDS
from simkit.simulation.shell.reading import READING_COMMANDS
from simkit.simulation.shell.sed_command import sed
from simkit.simulation.shell.shell_commands import SHELL_COMMANDS
from simkit.simulation.shell.sort_command import SORT_COMMANDS
from simkit.simulation.shell.switch_commands import SWITCH_COMMANDS
from simkit.simulation.shell.system_commands import SYSTEM_COMMANDS
from simkit.simulation.shell.tar_command import tar
from simkit.simulation.shell.text_commands import TEXT_COMMANDS
from simkit.simulation.shell.tool_commands import TOOL_COMMANDS
from simkit.simulation.shell.tr_command import TR_COMMANDS

_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+")


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
        while name in ENDLESS:
            yield Write(bytes(PART))
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
        for start in range(0, len(data) or 1, PART if numbered else len(data) or 1):
            yield Write(data if numbered is None else numbered.add_to(data[start : start + PART]))
    return code


def _rm(machine: Machine, words: list[str]) -> Run:
    force = any(word.startswith("-") and "f" in word for word in words[1:])
    code = 0
    for name in [word for word in words[1:] if not word.startswith("-")]:
        try:
            machine.files.remove(machine.path(name))
        except FileError as problem:
            if not force or str(problem) != "No such file or directory":
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
    if words[1:2] == ["-I"]:
        yield line("".join(f"{each} " for each in own) or "127.0.0.1 ")
        return 0
    shown = " ".join(own[:1]) if any(word == "-i" for word in words[1:]) else machine.hostname
    yield line(shown or "127.0.0.1")
    return 0


COMMANDS: Final[Mapping[str, Command]] = {
    "cat": _cat,
    "rm": _rm,
    "true": _true,
    ":": _true,
    "sync": _true,
    "false": _false,
    "hostname": _hostname,
    "tar": tar,
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
    **MODE_COMMANDS,
    **ACCOUNT_COMMANDS,
    **DIGEST_COMMANDS,
    **LISTING_COMMANDS,
    **TEXT_COMMANDS,
    **PROCESS_COMMANDS,
    **SYSTEM_COMMANDS,
    **NETWORK_COMMANDS,
    **TOOL_COMMANDS,
    **GREP_COMMANDS,
    **SORT_COMMANDS,
    **TR_COMMANDS,
    **FIELD_COMMANDS,
    **COUNTING_COMMANDS,
    **DATE_COMMANDS,
    **INTERFACE_COMMANDS,
    **SWITCH_COMMANDS,
    **KERNEL_COMMANDS,
    **PATH_COMMANDS,
    **COMPARISON_COMMANDS,
    **DUMP_COMMANDS,
}
"""All commands, by name."""
