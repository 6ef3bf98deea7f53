"""Commands that make checksums of files, and check them: ``md5sum``, ``sha256sum`` and their like."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.effects import Lines, contents, error, line, options
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.option_words import Syntax

_SYNTAX: Final = Syntax(names={"check": "c", "status": "s", "quiet": "q", "warn": "w", "strict": "%", "tag": "%"})
_POLYNOMIAL: Final = 0x04C11DB7
_LISTED: Final = re.compile(r"([0-9a-fA-F]+) [ *](.+)\n?")


def _digest(machine: Machine, words: list[str]) -> Run:
    given = _SYNTAX.read(words[1:])
    names = given.rest
    if "c" in given:
        return (yield from _check(machine, words[0], names, silent="s" in given, quiet="q" in given))
    code = 0
    for name in names or ["-"]:
        data, wrong = yield from contents(machine, words[0], [name])
        if not wrong:
            yield line(f"{_hexadecimal(words[0], data)}  {name}")
        code = code or wrong
    return code


def _hexadecimal(command: str, data: bytes) -> str:
    return hashlib.new(command.removesuffix("sum"), data, usedforsecurity=False).hexdigest()


def _check(machine: Machine, command: str, names: list[str], *, silent: bool, quiet: bool) -> Run:
    """Compare files with a list of their checksums."""
    lines, looked_at, failed = Lines(machine, command, names), 0, 0
    while text := (yield from lines.next()):
        listed = _LISTED.fullmatch(text)
        if listed is None:
            yield error(command, "invalid format")
            return 1
        data, wrong = yield from contents(machine, command, [listed[2]])
        same = not wrong and _hexadecimal(command, data) == listed[1].lower()
        looked_at, failed = looked_at + 1, failed + (not same)
        if not silent and not (quiet and same):
            yield line(f"{listed[2]}: {'OK' if same else 'FAILED'}")
    if failed and not silent:
        yield error(command, f"WARNING: {failed} of {looked_at} computed checksums did NOT match")
    return 1 if failed else lines.code


def _cksum(machine: Machine, words: list[str]) -> Run:
    """``cksum``: the sum of POSIX, and the number of bytes."""
    code = 0
    for name in options(words[1:])[1] or ["-"]:
        data, wrong = yield from contents(machine, "cksum", [name])
        if not wrong:
            yield line(" ".join([str(_sum(data)), str(len(data)), *([name] if name != "-" else ())]))
        code = code or wrong
    return code


def _sum(data: bytes) -> int:
    """The cyclic redundancy check of some bytes and their number."""
    size, length = len(data), bytearray()
    while size:
        size, byte = divmod(size, 256)
        length.append(byte)
    total = 0
    for byte in (*data, *length):
        total = (total << 8 & 0xFFFFFFFF) ^ _SUMS[total >> 24 ^ byte]
    return total ^ 0xFFFFFFFF


def _sum_of_byte(byte: int) -> int:
    total = byte << 24
    for _ in range(8):
        total = (total << 1 ^ (_POLYNOMIAL if total >> 31 else 0)) & 0xFFFFFFFF
    return total


_SUMS: Final = tuple(map(_sum_of_byte, range(256)))
DIGEST_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "cksum": _cksum,
    **{f"{method}sum": _digest for method in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")},
}
