"""Commands that read text or bytes and write other text or bytes."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.effects import (
    ENDLESS,
    PART,
    STANDARD_INPUT,
    Lines,
    contents,
    error,
    kept_lines,
    line,
    options,
    whole,
)
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.machine import FOREVER, Machine, Read, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_BASE: Final = Syntax(valued="w", names={"decode": "d", "wrap": "w", "ignore-garbage": "i"})
_ENDS: Final = Syntax(
    valued="ncs",
    names={
        "lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v", "follow": "f", "retry": "F",
        "sleep-interval": "s",
    },
    numbers=True,
)  # fmt: skip


def _head(machine: Machine, words: list[str]) -> Run:
    """``head [-n LINES] [-c BYTES] [-qv]``; a negative number leaves out as many at the end."""
    return (yield from _each_file(machine, words, _beginning))


def _tail(machine: Machine, words: list[str]) -> Run:
    """``tail [-n LINES] [-c BYTES] [-qvfF]``; a number with a plus is the place of the first one."""
    return (yield from _each_file(machine, words, _end))


def _each_file(machine: Machine, words: list[str], shown: Callable[[Machine, Given, str], Run]) -> Run:
    """A part of each file, with the name before it where there are several."""
    name_of_command = words[0]
    try:
        given = _ENDS.read(words[1:])
    except UnknownOption as problem:
        yield error(name_of_command, str(problem))
        return 1
    named, code = ("v" in given or len(given.rest) > 1) and "q" not in given, 0
    begun = False
    for name in given.rest or ["-"]:
        if named and (name in STANDARD_INPUT or machine.files.is_file(machine.path(name))):
            label = "standard input" if name in STANDARD_INPUT else name
            yield line(f"{chr(10) if begun else ''}==> {label} <==")
            begun = True
        code = (yield from shown(machine, given, name)) or code
    if given.any("fF") and name_of_command == "tail":
        yield from _followed(machine, given)
    return code


def _beginning(machine: Machine, given: Given, name: str) -> Run:
    wanted = _amount(given.last("c", given.last("n", "10")))
    if wanted < 0:
        data, code = yield from contents(machine, "head", [name])
        yield Write(data[:wanted] if "c" in given else data[: _start_of_last(data, -wanted)])
        return code
    if "c" in given:
        return (yield from _first_bytes(machine, [name], wanted))
    return (yield from _first_lines(machine, [name], wanted))


def _end(machine: Machine, given: Given, name: str) -> Run:
    told = given.last("c", given.last("n", "10"))
    if "F" in given and not machine.files.exists(machine.path(name)):
        yield error("tail", f"{name}: No such file or directory")
        return 1
    data, code = yield from contents(machine, "tail", [name])
    number = abs(_amount(told.lstrip("+")))
    if told.startswith("+"):
        start = max(0, number - 1) if "c" in given else _end_of_first(data, number - 1)
    else:
        start = max(0, len(data) - number) if "c" in given else _start_of_last(data, number)
    yield Write(data[start:])
    return code


def _followed(machine: Machine, given: Given) -> Run:
    """Write what is added to files, which are looked at every second, and less often while nothing comes."""
    paths = [machine.path(name) for name in given.rest if name not in STANDARD_INPUT and not name.startswith("/dev/")]
    if not paths:
        yield FOREVER
    seen = {path: machine.files.size(path) if machine.files.is_file(path) else 0 for path in paths}
    pause = 1.0
    while True:
        yield pause
        pause = min(_LONGEST_PAUSE, pause * 2)
        for path in paths:
            size = machine.files.size(path) if machine.files.is_file(path) else 0
            if size != seen[path]:
                start = seen[path] if size > seen[path] else 0
                seen[path], pause = size, 1.0
                yield Write(machine.files.read(path)[start:] if size else b"")


_LONGEST_PAUSE: Final = 16.0
"""Seconds between two looks at a file that is followed."""
_SIZES: Final = {"": 1, "b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


def _amount(text: str) -> int:
    """A number such as ``10``, ``-3`` or ``2k``; 0 for what is none."""
    found = re.fullmatch(r"(-?\d{1,15})([bkKMG]?)", text)
    return int(found[1]) * _SIZES[found[2]] if found else 0


def _start_of_last(data: bytes, number: int) -> int:
    """The position at which the last lines begin."""
    at = len(data) - data.endswith(b"\n")
    if not number:
        return len(data)
    for _ in range(number):
        at = data.rfind(b"\n", 0, max(0, at))
        if at < 0:
            return 0
    return at + 1


def _end_of_first(data: bytes, number: int) -> int:
    """The position behind the first lines."""
    at = 0
    for _ in range(number):
        at = data.find(b"\n", at) + 1
        if not at:
            return len(data)
    return at


def _first_bytes(machine: Machine, names: list[str], number: int) -> Run:
    code = 0
    for name in names or ["-"]:
        left = number
        while left > 0:
            if name in STANDARD_INPUT:
                data = yield Read(everything=True)
            elif name in ENDLESS:
                data = bytes(min(left, PART))
            else:
                data, code = yield from contents(machine, "head", [name])
            if data:
                yield Write(data[:left])
            left -= len(data)
            if not data or (name not in STANDARD_INPUT and name not in ENDLESS):
                break
    return code


def _first_lines(machine: Machine, names: list[str], number: int) -> Run:
    lines = Lines(machine, "head", names)
    for _ in range(number):
        text = yield from lines.next()
        if not text:
            break
        yield Write(text.encode())
    return lines.code


def _reversed(machine: Machine, words: list[str]) -> Run:
    """``rev``: the letters of each line from the last to the first."""
    lines = Lines(machine, "rev", words[1:])
    while text := (yield from lines.next()):
        yield line(text.rstrip("\n")[::-1])
    return lines.code


def _tac(machine: Machine, words: list[str]) -> Run:
    data, code = yield from contents(machine, "tac", words[1:])
    lines = [each + b"\n" for each in kept_lines(data)]
    if lines and not data.endswith(b"\n"):
        lines[-1] = lines[-1][:-1]
    yield Write(b"".join(lines[::-1]))
    return code


def _tee(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    try:
        if "a" not in given:
            for name in names:
                machine.files.write(machine.path(name), b"")
        while data := (yield Read(everything=True)):
            for name in names:
                machine.files.write(machine.path(name), data, append=True)
            yield Write(data)
    except FileError as problem:
        yield error("tee", f"{name}: {problem}")
        return 1
    return 0


def _base64(machine: Machine, words: list[str]) -> Run:
    """``base64`` and ``base32``, with ``-d`` the other way round."""
    given = _BASE.read(words[1:])
    data, code = yield from contents(machine, words[0], given.rest)
    decoded, encoded = (
        (base64.b64decode, base64.b64encode) if words[0] == "base64" else (base64.b32decode, base64.b32encode)
    )
    if given.any("dD"):
        try:
            yield Write(decoded(b"".join(data.split())))
        except binascii.Error:
            yield error(words[0], "invalid input")
            return 1
        return code
    text, width = encoded(data).decode(), whole(given.last("w", "76"))
    if not width:
        yield Write(text.encode())
        return code
    for start in range(0, len(text), width):
        yield line(text[start : start + width])
    return code


def _gzip(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    unpacks = "d" in given or words[0] in ("gunzip", "zcat")
    for name in names or ["-"]:
        data, code = yield from contents(machine, words[0], [name])
        if code:
            return code
        try:
            made = _unpacked(data) if unpacks else gzip.compress(data, mtime=int(machine.now))
        except (OSError, EOFError, zlib.error):
            yield error(words[0], "invalid magic")
            return 1
        if name == "-" or "c" in given or words[0] == "zcat":
            yield Write(made)
            continue
        machine.files.write(machine.path(name.removesuffix(".gz") if unpacks else f"{name}.gz"), made)
        machine.files.remove(machine.path(name))
    return 0


def _unpacked(data: bytes) -> bytes:
    """The bytes that were packed. Raises OSError where they are too many."""
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    found = reader.decompress(data, MOST_BYTES)
    if not reader.eof:
        raise OSError("too big, or cut off")
    return found


TEXT_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "head": _head,
    "tail": _tail,
    "rev": _reversed,
    "tac": _tac,
    "tee": _tee,
    "base64": _base64,
    "base32": _base64,
    "gzip": _gzip,
    "gunzip": _gzip,
    "zcat": _gzip,
}
"""The commands of this module, by name."""
