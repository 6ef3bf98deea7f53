"""Commands that read texts: lines, words, letters, and sums of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.linear_patterns import re2_module
from simkit.simulation.shell.kernel import Run
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.options import content, lines_of, only_content, options, read_all, whole
from simkit.simulation.shell.patterns import CLASSES
from simkit.simulation.shell.script import Unsupported

_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_COUNT: Final = re.compile(r"^-(\d{1,9})$")


def _head(machine: Machine, words: list[str]) -> Run:
    """``head [-n LINES | -c BYTES] [FILE]``; without a file it reads no more than it shows."""
    plain = [words[0], *(_COUNT.sub(r"-n\1", word) for word in words[1:2]), *words[2:]]
    given, names = options(plain, "", "nc")
    count = whole(words, given.get("c", given.get("n", "10")))
    if count < 0 or given.get("c", given.get("n", ""))[:1] == "+":
        raise Unsupported(" ".join(words))
    if names or "c" in given:
        data = yield from only_content(machine, words, names)
        kept = data[:count] if "c" in given else b"".join(_LINES.findall(data)[:count])
        yield from machine.write(kept)
        return 0
    while count and (line := (yield from machine.read())):
        yield from machine.write(line)
        count -= 1
    return 0


def _tail(machine: Machine, words: list[str]) -> Run:
    plain = [words[0], *(_COUNT.sub(r"-n\1", word) for word in words[1:2]), *words[2:]]
    given, names = options(plain, "", "nc")
    text = given.get("c", given.get("n", "10"))
    count = abs(whole(words, text))
    data = yield from only_content(machine, words, names)
    start = count - 1 if text.startswith("+") else -count or len(data)
    kept = data[start:] if "c" in given else b"".join((_LINES.findall(data) or [b""])[start:])
    yield from machine.write(kept)
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
    """``grep [-FEivqcnx] PATTERN [FILE]``."""
    given, rest = options(words, "FEivqcnxs", "e")
    names = rest if "e" in given else rest[1:]
    if "e" not in given and not rest:
        raise Failed("a pattern is missing", 2)
    pattern = _pattern(given.get("e", rest[0] if rest else ""), given)
    try:
        data = yield from only_content(machine, words, names)
    except Failed as problem:
        raise Failed(str(problem), 2) from problem
    found = []
    for number, line in enumerate(lines_of(data), 1):
        if (pattern.search(line.decode("utf-8", "replace")) is not None) != ("v" in given):
            found.append((number, line))
    if "c" in given and "q" not in given:
        yield from machine.write(f"{len(found)}\n")
    elif "q" not in given:
        for number, line in found:
            yield from machine.write((f"{number}:".encode() if "n" in given else b"") + line + b"\n")
    return int(not found)


def _pattern(text: str, given: Mapping[str, str]) -> Any:
    """A pattern of ``grep`` as a regular expression. Raises Unsupported for what shells' programs read differently."""
    if "\n" in text:
        raise Unsupported("grep with several patterns")
    made = re.escape(text) if "F" in given else _expression(text, extended="E" in given)
    made = f"^(?:{made})$" if "x" in given else made
    re2 = re2_module()
    settings = re2.Options()
    settings.log_errors, settings.case_sensitive = False, "i" not in given
    try:
        return re2.compile(made, settings)
    except re2.error as error:
        raise Unsupported(f"grep {text}") from error


def _expression(text: str, *, extended: bool) -> str:
    position, made = 0, list[str]()
    while position < len(text):
        letter, following = text[position], text[position + 1 : position + 2]
        if letter == "\\":
            if not following or following.isalnum() or (following in "(){}+?|<>'`" and not extended):
                raise Unsupported(f"grep \\{following}")
            made.append(re.escape(following))
            position += 2
            continue
        if letter == "[":
            end = _end_of_set(text, position)
            made.append(text[position:end].replace("\\", "\\\\"))
            position = end
            continue
        if not extended and (
            (letter == "*" and not made) or (letter == "^" and made) or (letter == "$" and position < len(text) - 1)
        ):
            raise Unsupported(f"grep {text}")
        made.append(letter if letter in ".*^$" or (extended and letter in "+?|(){}") else re.escape(letter))
        position += 1
    return "".join(made)


def _end_of_set(text: str, opening: int) -> int:
    end = opening + 1 + (text[opening + 1 : opening + 2] == "^")
    end += text[end : end + 1] == "]"
    while end < len(text) and text[end] != "]":
        inner = text.find(":]", end + 2) if text.startswith("[:", end) else -1
        end = inner + 2 if inner > 0 else end + 1
    if end >= len(text):
        raise Failed(f"unmatched [ in {text}", 2)
    return end + 1


def _sort(machine: Machine, words: list[str]) -> Run:
    """``sort [-rnu] [FILE...]`` by bytes."""
    given, names = options(words, "rnu")
    data = b""
    for name in names or ["-"]:
        part = yield from content(machine, name)
        data += part + (b"\n" if part and not part.endswith(b"\n") else b"")
    lines = lines_of(data)
    if "u" in given:
        lines = list({_key(line, given): line for line in reversed(lines)}.values())
    lines.sort(key=lambda line: (_key(line, given), line), reverse="r" in given)
    yield from machine.write(b"".join(line + b"\n" for line in lines))
    return 0


def _key(line: bytes, given: Mapping[str, str]) -> bytes | float:
    if "n" not in given:
        return line
    found = re.match(rb"[ \t]*(-?\d{1,300}(?:\.\d{0,300})?|-?\.\d{1,300})", line)
    return float(found[1]) if found is not None else 0.0


def _tr(machine: Machine, words: list[str]) -> Run:
    """``tr [-cds] SET [SET]`` of letters in ASCII."""
    given, sets = options(words, "cCds")
    deletes, squeezes = "d" in given, "s" in given
    if len(sets) not in ((1,) if deletes else (1, 2) if squeezes else (2,)) or (deletes and squeezes):
        raise Unsupported(" ".join(words))
    if len(sets) == 2 and (not sets[1] or ("[:" in sets[1] and sets[1] not in ("[:upper:]", "[:lower:]"))):
        raise Unsupported(" ".join(words))
    first, second = _letters(sets[0]), _letters(sets[1]) if len(sets) > 1 else ""
    if {"c", "C"} & given.keys():
        first = "".join(chr(number) for number in range(256) if chr(number) not in first)
    table = dict(zip(first, second + second[-1:] * (len(first) - len(second)), strict=False))
    text = (yield from read_all(machine)).decode("latin-1")
    if any(ord(letter) > 127 for letter in text) and ({"c", "C"} & given.keys()):
        raise Unsupported("tr -c of letters outside of ASCII")
    if deletes:
        gone = set(first)
        text = "".join(letter for letter in text if letter not in gone)
    else:
        text = "".join(table.get(letter, letter) for letter in text) if second else text
        repeated = set(second or first)
        if squeezes:
            text = re.sub(r"(.)\1+", lambda run: run[run[1] in repeated], text, flags=re.DOTALL)
    yield from machine.write(text.encode("latin-1"))
    return 0


_TR_PART: Final = re.compile(r"\[:(\w+):\]|(\\[0-7]{1,3}|\\.|.)-(\\[0-7]{1,3}|\\.|.)|(\\[0-7]{1,3}|\\.|.)", re.DOTALL)


def _letters(text: str) -> str:
    if not text.isascii() or "[=" in text or re.search(r"\[.\*\d*\]", text):
        raise Unsupported(f"tr {text}")
    made = list[str]()
    for name, low, high, single in _TR_PART.findall(text):
        if name:
            if name not in CLASSES:
                raise Failed(f"invalid class {name}")
            made += [chr(number) for number in range(128) if CLASSES[name](chr(number))]
        elif low:
            first, last = ord(_letter(low)), ord(_letter(high))
            if first > last:
                raise Failed(f"range-endpoints of '{low}-{high}' are in reverse collating sequence order")
            made += map(chr, range(first, last + 1))
        else:
            made.append(_letter(single))
    return "".join(made)


def _letter(text: str) -> str:
    if len(text) == 1:
        return text
    if text[1:].isdigit():
        return chr(int(text[1:], 8) & 0xFF)
    return {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}.get(text[1], text[1])


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


def _seq(machine: Machine, words: list[str]) -> Run:
    """``seq [FIRST [STEP]] LAST`` of whole numbers."""
    numbers = [whole(words, word) for word in words[1:] if re.fullmatch(r"-?\d+", word)]
    if not 1 <= len(numbers) <= 3 or len(numbers) != len(words) - 1 or (len(numbers) == 3 and numbers[1] == 0):
        raise Unsupported(" ".join(words))
    first, step = (numbers[0] if len(numbers) > 1 else 1), (numbers[1] if len(numbers) == 3 else 1)
    for number in range(first, numbers[-1] + (1 if step > 0 else -1), step):
        yield from machine.kernel.tick()
        yield from machine.write(f"{number}\n")
    return 0


TEXT_COMMANDS: Final[Mapping[str, Command]] = {
    "grep": _grep, "head": _head, "seq": _seq, "sha256sum": _sha256sum, "sort": _sort, "tail": _tail, "tr": _tr,
    "wc": _wc,
}  # fmt: skip
"""The commands of this module, by name."""
