"""The words of commands: options that are known, and others that are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.kernel import Bytes
from simkit.simulation.shell.machine import Failed, Fatal, Machine
from simkit.simulation.shell.script import Unsupported

_LEAVING: Final = ("break", "continue", "exit", "return", "shift")
_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")


def options(words: Sequence[str], flags: str = "", valued: str = "") -> tuple[dict[str, str], list[str]]:
    """The options of a command with their values, and its other words. Raises Unsupported for an unknown option.

    Parameters
    ----------
    flags, valued
        The letters of options without and with a value.

    Examples
    --------
    >>> options(["head", "-qn2", "file"], "q", "n")
    ({'q': '', 'n': '2'}, ['file'])
    """
    found, rest, given = dict[str, str](), list[str](), iter(words[1:])
    for word in given:
        if word == "--":
            return found, [*rest, *given]
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in valued:
                value = word[place:] or next(given, None)
                if value is None:
                    raise Failed(f"option requires an argument -- '{letter}'")
                found[letter] = value
                break
            if letter not in flags or word.startswith("--"):
                raise Unsupported(f"{words[0]} {word}")
            found[letter] = ""
    return found, rest


def whole(words: Sequence[str], text: str) -> int:
    """A number in decimal digits. Raises Failed, or Fatal for a command that leaves the shell, a function or a loop."""
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text) is None:
        if words[0] in _LEAVING:
            raise Fatal(f"{words[0]}: Illegal number: {text}")
        raise Failed(f"invalid number '{text}'")
    return int(text)


def read_all(machine: Machine) -> Bytes:
    """The rest of the standard input. Raises Failed for more than the files of a container may hold."""
    found = bytearray()
    while part := (yield from machine.read(everything=True)):
        found += part
        if len(found) > MOST_BYTES:
            raise Failed("out of memory")
    return bytes(found)


def content(machine: Machine, name: str) -> Bytes:
    """The content of a file, or of the standard input for ``-``. Raises Failed."""
    if name in ("-", "/dev/stdin"):
        return (yield from read_all(machine))
    if machine.path(name).startswith(("/dev/", "/proc/")) and machine.path(name) != "/dev/null":
        raise Unsupported(name)
    try:
        return machine.files.read(machine.path(name))
    except FileError as problem:
        raise Failed(f"{name}: {problem}") from problem


def only_content(machine: Machine, words: Sequence[str], names: Sequence[str]) -> Bytes:
    """The content of the one file that is named, or of the standard input. Raises Unsupported for several files."""
    if len(names) > 1:
        raise Unsupported(f"{words[0]} with several files")
    return (yield from content(machine, names[0] if names else "-"))


def lines_of(data: bytes) -> list[bytes]:
    """The lines of an input with their ends. Raises Failed for more than a command may hold."""
    if len(data) + 128 * data.count(b"\n") > 4 * MOST_BYTES:
        raise Failed("out of memory")
    return _LINE.findall(data)
