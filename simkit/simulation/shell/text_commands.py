"""Commands that read texts: lines, words, letters, and sums of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.kernel import Run
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.options import content, lines_of, only_content, options, read_all
from simkit.simulation.shell.script import Unsupported


def _counted(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """The unit (``n`` for lines, ``c`` for bytes), the number and the files of ``head`` and ``tail``."""
    short = re.fullmatch("-[0-9]{1,9}", words[1]) if len(words) > 1 else None
    given, names = options([words[0], f"-n{words[1][1:]}", *words[2:]] if short else words, "", "nc")
    if len(given) > 1:
        raise Unsupported(" ".join(words))
    unit, text = next(iter(given.items()), ("n", "10"))
    if re.fullmatch("[-+]?[0-9]{1,18}", text) is None:
        raise Unsupported(" ".join(words))
    return unit, text, names


def _head(machine: Machine, words: list[str]) -> Run:
    """``head [-n LINES | -c BYTES] [FILE]``; without a file it reads no more lines than it shows."""
    unit, text, names = _counted(words)
    if not text.isdigit():
        raise Unsupported(" ".join(words))
    if names or unit == "c":
        data = yield from only_content(machine, words, names)
        kept = data[: int(text)] if unit == "c" else b"".join(lines_of(data)[: int(text)])
        yield from machine.write(kept)
        return 0
    left = int(text)
    while left and (line := (yield from machine.read())):
        yield from machine.write(line)
        left -= 1
    return 0


def _tail(machine: Machine, words: list[str]) -> Run:
    """``tail [-n LINES | -c BYTES] [FILE]``; ``+N`` begins with the line or byte of that number."""
    unit, text, names = _counted(words)
    data = yield from only_content(machine, words, names)
    lines, count = lines_of(data) if unit == "n" else [], abs(int(text))
    size = len(lines) if unit == "n" else len(data)
    start = max(0, count - 1 if text.startswith("+") else size - count)
    yield from machine.write(b"".join(lines[start:]) if unit == "n" else data[start:])
    return 0


def _wc(machine: Machine, words: list[str]) -> Run:
    """``wc -l``, ``-w`` or ``-c``: one count, so that nothing has to be aligned."""
    given, names = options(words, "lwc")
    if len(given) != 1:
        raise Unsupported(" ".join(words))
    data = yield from only_content(machine, words, names)
    count = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}[next(iter(given))]
    yield from machine.write(f"{count} {names[0]}\n" if names else f"{count}\n")
    return 0


def _grep(machine: Machine, words: list[str]) -> Run:
    """``grep [-Fvqcx] TEXT [FILE]``; without ``-F``, ``^`` and ``$`` tie a text to the ends of lines."""
    given, rest = options(words, "Fvqcx")
    if not rest:
        raise Unsupported("grep without a text")
    is_meant = _matcher(rest[0], given)
    try:
        data = yield from only_content(machine, words, rest[1:])
    except Failed as problem:
        raise Failed(str(problem), 2) from problem
    lines = [line.removesuffix(b"\n") for line in lines_of(data)]
    found = [line for line in lines if is_meant(line) != ("v" in given)]
    if "q" not in given:
        shown = f"{len(found)}\n".encode() if "c" in given else b"".join(line + b"\n" for line in found)
        yield from machine.write(shown)
    return int(not found)


def _matcher(text: str, given: Collection[str]) -> Callable[[bytes], bool]:
    """What tells whether a line has a text. Raises Unsupported for any pattern but a text at an end of lines."""
    start, end = "x" in given, "x" in given
    if "F" not in given:
        start, end = start or text.startswith("^"), end or text.endswith("$")
        text = text.removeprefix("^").removesuffix("$")
    if not text or "\n" in text or ("F" not in given and re.search(r"[][{\\.*^$]", text)):
        raise Unsupported(f"grep {text}"[:80])
    wanted = text.encode("utf-8", "surrogateescape")
    if start and end:
        return wanted.__eq__
    if start or end:
        return lambda line: line.startswith(wanted) if start else line.endswith(wanted)
    return lambda line: wanted in line


def _sort(machine: Machine, words: list[str]) -> Run:
    """``sort [-rnu] [FILE...]`` by bytes."""
    given, names = options(words, "rnu")
    if {"n", "u"} <= given.keys():
        raise Unsupported("sort -n -u")
    data = b""
    for name in names or ["-"]:
        try:
            part = yield from content(machine, name)
        except Failed as problem:
            raise Failed(str(problem), 2) from problem
        data += part + (b"\n" if part and not part.endswith(b"\n") else b"")
    lines = [line.removesuffix(b"\n") for line in lines_of(data)]
    lines = list(set(lines)) if "u" in given else lines
    lines.sort(key=lambda line: (_number(line) if "n" in given else 0.0, line), reverse="r" in given)
    yield from machine.write(b"".join(line + b"\n" for line in lines))
    return 0


def _number(line: bytes) -> float:
    found = re.match(rb"[ \t]*(-?[0-9]{1,300}(?:\.[0-9]{0,300})?)", line)
    return float(found[1]) if found is not None else 0.0


def _tr(machine: Machine, words: list[str]) -> Run:
    """``tr SET SET``, and ``tr -d SET``, of letters in ASCII."""
    given, sets = options(words, "d")
    if len(sets) != 2 - len(given):
        raise Unsupported(" ".join(words))
    first, second = _letters(sets[0]), _letters(sets[-1])
    text = (yield from read_all(machine)).decode("latin-1")
    if given:
        text = "".join(letter for letter in text if letter not in first)
    elif len(first) > len(second) > 1 or not second:
        raise Unsupported(" ".join(words))
    else:
        second = second * len(first) if len(second) == 1 else second[: len(first)]
        text = text.translate(str.maketrans(first, second))
    yield from machine.write(text.encode("latin-1"))
    return 0


def _letters(text: str) -> str:
    """The letters of a set: letters, ranges, and ``\\n``, ``\\t``, ``\\r`` and ``\\\\``."""
    plain = re.sub(r"\\([ntr\\])", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], "\0"), text)
    if not text.isascii() or "[" in text or "\\" in plain:
        raise Unsupported(f"tr {text}")
    return re.sub("(.)-(.)", _range, plain, flags=re.DOTALL).replace("\0", "\\")


def _range(found: re.Match[str]) -> str:
    first, last = ord(found[1]), ord(found[2])
    if first > last or not (found[1] + found[2]).isalnum():
        raise Unsupported(f"tr {found[0]}")
    return "".join(map(chr, range(first, last + 1)))


def _sha256sum(machine: Machine, words: list[str]) -> Run:
    code = 0
    for name in options(words)[1] or ["-"]:
        try:
            data = yield from content(machine, name)
        except Failed as problem:
            yield from machine.complain(f"sha256sum: {problem}")
            code = 1
        else:
            yield from machine.write(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    return code


TEXT_COMMANDS: Final[Mapping[str, Command]] = {
    "grep": _grep, "head": _head, "sha256sum": _sha256sum, "sort": _sort, "tail": _tail, "tr": _tr,
    "wc": _wc,
}  # fmt: skip
"""The commands of this module, by name."""
