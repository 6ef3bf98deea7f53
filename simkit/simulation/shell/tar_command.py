"""``tar``: archives of files, as ``kubectl cp`` sends and gets them.

References
----------
Options of busybox 1.36 and GNU tar 1.34.
"""

from __future__ import annotations

import gzip
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from simkit.simulation.shell.archives import listed, packed, unpack
from simkit.simulation.shell.effects import error, line, read_all
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run, Write

_VALUED: Final = frozenset("fCX")
_LONG: Final = {
    "--file": "f", "--directory": "C", "--create": "c", "--extract": "x", "--get": "x", "--list": "t", "--gzip": "z",
    "--touch": "m", "--no-same-owner": "o", "--verbose": "v",
}  # fmt: skip


@dataclass(slots=True)
class _Request:
    """The words of a ``tar``: letters of options, the archive, the folder, and the paths."""

    folder: str
    letters: str = ""
    archive: str = "-"
    paths: list[str] = field(default_factory=list)

    def add(self, machine: Machine, letter: str, value: str) -> None:
        """Count one option."""
        self.letters += letter
        if letter == "f":
            self.archive = value
        elif letter == "C":
            self.folder = machine.path(value)


def _request(machine: Machine, words: list[str]) -> _Request:
    made, left = _Request(machine.folder), deque(words[1:])
    if left and not left[0].startswith("-"):
        left[0] = f"-{left[0]}"
    while left:
        word = left.popleft()
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            letter = _LONG.get(name, "")
            needs = letter in _VALUED and letter and not equals
            made.add(machine, letter, (left.popleft() if left else "") if needs else value)
        elif word.startswith("-") and word != "-":
            for place, letter in enumerate(word[1:], 2):
                attached = letter in _VALUED and place == 2 and len(word) > 2  # such as -C/folder
                taken = (word[place:] if attached else left.popleft() if left else "") if letter in _VALUED else ""
                made.add(machine, letter, taken)
                if attached:
                    break
        else:
            made.paths.append(word)
    return made


def tar(machine: Machine, words: list[str]) -> Run:
    """``tar -c``, ``tar -x`` and ``tar -t``, of a file or of the standard input and output."""
    asked = _request(machine, words)
    try:
        if "c" in asked.letters:
            made = packed(machine.files, asked.paths, asked.folder)
            made = gzip.compress(made, mtime=int(machine.now)) if "z" in asked.letters else made
            if asked.archive == "-":
                yield Write(made)
            else:
                machine.files.write(machine.path(asked.archive), made)
            return 0
        if "x" in asked.letters or "t" in asked.letters:
            from_input = asked.archive == "-"
            data = (yield from read_all()) if from_input else machine.files.read(machine.path(asked.archive))
            if "t" in asked.letters:
                for name in listed(data):
                    yield line(name)
                return 0
            unpack(machine.files, data, asked.folder, times="m" not in asked.letters, owners="o" not in asked.letters)
            return 0
    except FileError as problem:
        name = asked.archive if asked.archive != "-" and "c" not in asked.letters else (asked.paths or ["-"])[0]
        yield error("tar", f"{name}: {problem}")
        return 1
    yield error("tar", "must specify one of -c, -x, -t")
    return 1
