"""Commands about the machine and its processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.effects import line
from simkit.simulation.shell.machine import Machine, Run, Write


def _uptime(machine: Machine, words: list[str]) -> Run:
    at = datetime.fromtimestamp(machine.now, UTC).strftime("%H:%M:%S")
    yield line(f" {at} up 0 min,  0 users,  load average: 0.00, 0.00, 0.00")
    return 0


def _uname(machine: Machine, words: list[str]) -> Run:
    known = {"s": "Linux", "n": machine.hostname, "r": "6.1.0-simkit", "v": "#1 SMP", "m": "x86_64", "o": "GNU/Linux"}
    asked = "".join(word.lstrip("-") for word in words[1:]) or "s"
    yield line(" ".join(value for letter, value in known.items() if "a" in asked or letter in asked))
    return 0


def _nproc(machine: Machine, words: list[str]) -> Run:
    yield line("8")
    return 0


def _which(machine: Machine, words: list[str]) -> Run:
    names = [word for word in words[1:] if not word.startswith("-")]
    found = [path for path in map("/bin/{}".format, names) if machine.files.is_file(path)]
    for path in found:
        yield line(path)
    return 0 if len(found) == len(names) else 1


def _clear(machine: Machine, words: list[str]) -> Run:
    yield Write(b"\x1b[H\x1b[J")
    return 0


SYSTEM_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "uptime": _uptime,
    "uname": _uname,
    "nproc": _nproc,
    "which": _which,
    "clear": _clear,
}
"""The commands of this module, by name."""
