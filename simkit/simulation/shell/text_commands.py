"""Commands that read text or bytes and write other text or bytes."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.effects import (
    ENDLESS,
    PART,
    STANDARD_INPUT,
    Budget,
    Lines,
    contents,
    error,
    kept_lines,
    line,
    options,
    whole,
    within_memory,
)
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.machine import Machine, Read, Run, Write
from simkit.simulation.shell.patterns import regular_expression


def _head(machine: Machine, words: list[str]) -> Run:
    """``head [-n LINES] [-c BYTES]``; a negative number leaves out as many at the end."""
    given, names = options(_spelled(words[1:]), valued="nc")
    wanted = _amount(given.get("c", given.get("n", "10")))
    if wanted < 0:
        data, code = yield from contents(machine, "head", names)
        kept = data[:wanted] if "c" in given else data[: _start_of_last(data, -wanted)]
        yield Write(kept)
        return code
    if "c" in given:
        return (yield from _first_bytes(machine, names, wanted))
    return (yield from _first_lines(machine, names, wanted))


def _tail(machine: Machine, words: list[str]) -> Run:
    """``tail [-n LINES] [-c BYTES] [-f]``; a number with a plus is the place of the first one."""
    given, names = options(_spelled(words[1:]), valued="nc")
    told = given.get("c", given.get("n", "10"))
    data, code = yield from contents(machine, "tail", names)
    number = abs(_amount(told.lstrip("+")))
    if told.startswith("+"):
        start = max(0, number - 1) if "c" in given else _end_of_first(data, number - 1)
    else:
        start = max(0, len(data) - number) if "c" in given else _start_of_last(data, number)
    yield Write(data[start:])
    if "f" in given:
        yield 1e12
    return code


_SIZES: Final = {"": 1, "b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


def _amount(text: str) -> int:
    """A number such as ``10``, ``-3`` or ``2k``; 0 for what is none."""
    found = re.fullmatch(r"(-?\d{1,15})([bkKMG]?)", text)
    return int(found[1]) * _SIZES[found[2]] if found else 0


def _spelled(words: list[str]) -> list[str]:
    """Words with ``-n5`` for ``-5``, where that is no value of another option."""
    before = ["", *words]
    return [
        f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) and last not in ("-n", "-c") else word
        for last, word in zip(before, words, strict=False)
    ]


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


def _matcher(words: list[str], given: Mapping[str, str], text: str) -> Any:
    """The compiled pattern of grep. Raises PatternError."""
    if "F" in given or words[0] == "fgrep":
        made = re.escape(text)
    else:
        made = regular_expression(text, extended="E" in given or words[0] == "egrep")
    made = rf"\b(?:{made})\b" if "w" in given else made
    made = f"^(?:{made})$" if "x" in given else made
    return pattern(f"(?i){made}" if "i" in given else made)


def _grep(machine: Machine, words: list[str]) -> Run:
    given, rest = options(words[1:], valued="emABC")
    wanted = given["e"] if "e" in given else rest.pop(0) if rest else ""
    try:
        matcher = _matcher(words, given, wanted)
    except PatternError:
        yield error("grep", f"bad regex '{wanted}'")
        return 2
    lines, count, number = Lines(machine, "grep", rest), 0, 0
    while text := (yield from lines.next()):
        number, each = number + 1, text.rstrip("\r\n")
        if bool(matcher.search(each)) is ("v" in given):
            continue
        count += 1
        if "q" in given:
            return 0
        for shown in () if "c" in given else [hit[0] for hit in matcher.finditer(each)] if "o" in given else [each]:
            yield line(f"{number}:{shown}" if "n" in given else shown)
        if count == whole(given.get("m", "0")):
            break
    if "c" in given:
        yield line(str(count))
    return 2 if lines.code else 0 if count else 1


def _wc(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    lines = count = size = 0
    data, code = yield from contents(machine, "wc", names)
    inside = False
    for start in range(0, len(data), PART):
        part = data[start : start + PART]
        lines, size = lines + part.count(b"\n"), size + len(part)
        count += len(part.split()) - (inside and not part[:1].isspace())
        inside = not part[-1:].isspace()
    counts = {"l": lines, "w": count, "c": size}
    shown = [str(counts[each]) for each in counts if each in given] or [f"{each:9}" for each in counts.values()]
    yield line(" ".join([*shown, *names]))
    return code


def _sort(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:], valued="kt")
    data, code = yield from contents(machine, "sort", names)
    lines = [each.decode("utf-8", "replace") for each in kept_lines(data)]
    field = whole(re.split(r"[^0-9]", given.get("k", "1"))[0])

    def key(text: str) -> Any:
        parts = text.split(given["t"]) if given.get("t") else text.split()
        chosen = (parts[field - 1] if 0 < field <= len(parts) else "") if "k" in given else text
        number = re.match(r"\s*-?\d{1,15}(\.\d{1,9})?", chosen)
        return (float(number[0]) if number else 0.0, text) if "n" in given else chosen

    ordered = sorted(lines, key=key, reverse="r" in given)
    for each in dict.fromkeys(ordered) if "u" in given else ordered:
        yield line(each)
    return code


def _uniq(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    data, code = yield from contents(machine, "uniq", names)
    runs: list[tuple[str, int]] = []
    for each in (text.decode("utf-8", "replace") for text in kept_lines(data)):
        if runs and runs[-1][0] == each:
            runs[-1] = each, runs[-1][1] + 1
        else:
            runs.append((each, 1))
    for text, count in runs:
        if "d" not in given or count > 1:
            yield line(f"{count:7} {text}" if "c" in given else text)
    return code


def _chosen(text: str, parts: list[str]) -> Iterable[str]:
    """The parts that a list such as ``1,3-`` names."""
    for each in text.split(","):
        first, dash, last = each.partition("-")
        start = whole(first) or 1
        yield from parts[start - 1 : (whole(last) or len(parts)) if dash else start]


def _cut(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:], valued="dfcb")
    lines, separator, budget = Lines(machine, "cut", names), given.get("d") or "\t", Budget()
    places = given.get("f") or given.get("c", given.get("b", ""))
    while text := (yield from lines.next()):
        each = text.rstrip("\r\n")
        budget.spend((places.count(",") + 1) * (len(each) + 1))
        if "f" not in given:
            yield line("".join(_chosen(places, list(each))))
        elif separator in each or "s" not in given:
            yield line(separator.join(_chosen(places, each.split(separator))) if separator in each else each)
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


_CLASSES: Final = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\v\f",
}


def _letters(text: str) -> str:
    """The letters that a set of ``tr`` names. Ranges are of single bytes, which is all that ``tr`` knows."""
    for name, letters in _CLASSES.items():
        text = text.replace(name, letters)
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
    return re.sub(
        r"([\0-\xff])-([\0-\xff])", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), text
    )


def _tr(machine: Machine, words: list[str]) -> Run:
    given, rest = options(words[1:])
    decoder, wanted = getincrementaldecoder("utf-8")("replace"), _letters(rest[0] if rest else "")
    kept, into = frozenset(wanted), _letters(rest[1]) if len(rest) > 1 else ""
    table = {ord(a): into[min(at, len(into) - 1)] for at, a in enumerate(wanted)} if into else {}
    while data := (yield Read(everything=True)):
        text = decoder.decode(data)
        if "d" in given:
            text = "".join(each for each in text if (each in kept) is ("c" in given))
        elif "c" in given and into:
            text = "".join(each if each in kept else into[-1] for each in text)
        elif into:
            text = text.translate(table)
        if "s" in given and (squeezed := into or wanted):
            text = re.sub(f"([{re.escape(squeezed)}])\\1+", r"\1", text)
        if text:
            yield Write(text.encode())
    return 0


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
    given, names = options(words[1:], valued="w")
    data, code = yield from contents(machine, "base64", names)
    if "d" in given:
        try:
            yield Write(base64.b64decode(data))
        except binascii.Error:
            yield error("base64", "truncated base64 input")
            return 1
        return code
    text, width = base64.b64encode(data).decode(), whole(given.get("w", "76"))
    for start in range(0, len(text), width or len(text) or 1):
        yield line(text[start : start + (width or len(text))])
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
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "wc": _wc,
    "sort": _sort,
    "uniq": _uniq,
    "rev": _reversed,
    "tac": _tac,
    "cut": within_memory(_cut),
    "tr": _tr,
    "tee": _tee,
    "base64": _base64,
    "gzip": _gzip,
    "gunzip": _gzip,
    "zcat": _gzip,
}
"""The commands of this module, by name."""
