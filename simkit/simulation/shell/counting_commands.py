"""Commands that count or choose lines: ``wc``, ``uniq``, ``shuf``, ``split`` and ``seq``.

References
----------
POSIX.1-2017; options of GNU coreutils 9.1; columns of ``wc`` as busybox 1.36 has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from random import Random
from typing import Final

from simkit.simulation.shell.effects import LINE, PART, Budget, contents, error, kept_lines, line, whole, within_memory
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import Machine, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_WC: Final = Syntax(names={"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"})
_UNIQ: Final = Syntax(
    valued="fsw",
    names={
        "count": "c", "repeated": "d", "unique": "u", "ignore-case": "i", "skip-fields": "f", "skip-chars": "s",
        "check-chars": "w", "all-repeated": "D",
    },
)  # fmt: skip
_SHUF: Final = Syntax(
    valued="ino", names={"echo": "e", "input-range": "i", "head-count": "n", "output": "o", "repeat": "r"}
)
_SPLIT: Final = Syntax(
    valued="lbna",
    names={"lines": "l", "bytes": "b", "number": "n", "suffix-length": "a", "numeric-suffixes": "d",
           "additional-suffix": "S"},
)  # fmt: skip
_SEQ: Final = Syntax(valued="sf", names={"separator": "s", "format": "f", "equal-width": "w"})
_SIZES: Final = {
    "": 1,
    "b": 512,
    "K": 1024,
    "k": 1024,
    "M": 1024**2,
    "m": 1024**2,
    "G": 1024**3,
    "KB": 1000,
    "MB": 10**6,
}
_NUMBER: Final = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})")
_NUMBER_FORM: Final = re.compile(r"([^%]*)%([-+ 0#']*\d{0,3}(?:\.\d{1,2})?[fgeFGE])([^%]*)")
_AT_ONCE: Final = 1000
_MOST_FILES: Final = 2000
_MOST_NUMBERS: Final = 1_000_000
_WHITE: Final = 7
"""The width of the counts of ``uniq``."""


class _Counts:
    """The lines, words, letters and bytes of a text, and its longest line."""

    def __init__(self, data: bytes) -> None:
        self.lines = self.words = 0
        self.bytes = len(data)
        inside = False
        for start in range(0, len(data), PART):
            part = data[start : start + PART]
            self.lines += part.count(b"\n")
            self.words += len(part.split()) - (inside and not part[:1].isspace())
            inside = not part[-1:].isspace()
        self._data = data

    def of(self, letter: str) -> int:
        """The number that an option asks for."""
        if letter == "m":
            return len(self._data.decode("utf-8", "replace"))
        if letter == "L":
            return max(
                (len(each.decode("utf-8", "replace").expandtabs()) for each in self._data.split(b"\n")), default=0
            )
        return {"l": self.lines, "w": self.words, "c": self.bytes}[letter]


def _wc(machine: Machine, words: list[str]) -> Run:
    try:
        given = _WC.read(words[1:])
    except UnknownOption as problem:
        yield error("wc", str(problem))
        return 1
    wanted = [letter for letter in "lwmcL" if letter in given] or ["l", "w", "c"]
    total, code = dict.fromkeys(wanted, 0), 0
    alone = len(wanted) == 1 and len(given.rest) < 2
    for name in given.rest or ["-"]:
        data, wrong = yield from contents(machine, "wc", [name])
        code = code or wrong
        if wrong:
            continue
        counts = _Counts(data)
        found = {letter: counts.of(letter) for letter in wanted}
        total = {
            letter: max(total[letter], found[letter]) if letter == "L" else total[letter] + found[letter]
            for letter in wanted
        }
        yield line(_counted(found, name if given.rest else "", alone=alone))
    if len(given.rest) > 1:
        yield line(_counted(total, "total", alone=alone))
    return code


def _counted(found: Mapping[str, int], name: str, *, alone: bool) -> str:
    shown = [str(each) if alone else f"{each:9}" for each in found.values()]
    return " ".join([*shown, *([name] if name else ())])


def _uniq(machine: Machine, words: list[str]) -> Run:
    try:
        given = _UNIQ.read(words[1:])
    except UnknownOption as problem:
        yield error("uniq", str(problem))
        return 1
    data, code = yield from contents(machine, "uniq", given.rest[:1])
    runs: list[tuple[str, int]] = []
    last = ""
    for each in (text.decode("utf-8", "surrogateescape") for text in kept_lines(data)):
        key = _compared(each, given)
        if runs and key == last:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
            if "D" in given:
                runs.append((each, 0))
        else:
            runs.append((each, 1))
        last = key
    made = "".join(_runs(runs, given)).encode("utf-8", "surrogateescape")
    if len(given.rest) > 1:
        machine.files.write(machine.path(given.rest[1]), made)
    else:
        yield Write(made)
    return code


def _compared(text: str, given: Given) -> str:
    """The part of a line that is compared."""
    for _ in range(min(1000, whole(given.last("f", "0")))):
        text = re.sub(r"^[ \t]*[^ \t]*", "", text, count=1)
    text = text[whole(given.last("s", "0")) :]
    text = text[: whole(given.last("w"))] if "w" in given else text
    return text.lower() if "i" in given else text


def _runs(runs: Sequence[tuple[str, int]], given: Given) -> Iterator[str]:
    for at, (text, count) in enumerate(runs):
        if "D" in given:
            if count > 1 or not count or (at + 1 < len(runs) and not runs[at + 1][1]):
                yield f"{text}\n"
        elif not (("d" in given and count < 2) or ("u" in given and count > 1)):
            yield f"{count:{_WHITE}} {text}\n" if "c" in given else f"{text}\n"


def _shuf(machine: Machine, words: list[str]) -> Run:
    """``shuf``: lines, words or numbers in an order that is the same in each run of a container."""
    try:
        given = _SHUF.read(words[1:])
    except UnknownOption as problem:
        yield error("shuf", str(problem))
        return 1
    code, chosen = 0, list[str]()
    first, dash, last = given.last("i").partition("-")
    if "e" in given:
        chosen = given.rest
    elif dash:
        if not 0 <= whole(last) - whole(first) <= _MOST_NUMBERS:
            yield error("shuf", f"invalid input range: '{given.last('i')}'")
            return 1
        chosen = [str(number) for number in range(whole(first), whole(last) + 1)]
    else:
        data, code = yield from contents(machine, "shuf", given.rest)
        chosen = [each.decode("utf-8", "surrogateescape") for each in kept_lines(data)]
    machine.shared.random += 1
    order = Random(f"{machine.hostname}/{machine.shared.random}")
    most = whole(given.last("n", str(len(chosen))))
    if "r" in given and chosen:
        taken = [order.choice(chosen) for _ in range(min(most, _MOST_NUMBERS))]
    else:
        taken = order.sample(chosen, min(most, len(chosen)))
    made = "".join(f"{each}\n" for each in taken).encode("utf-8", "surrogateescape")
    if "o" in given:
        machine.files.write(machine.path(given.last("o")), made)
    else:
        yield Write(made)
    return code


def _split(machine: Machine, words: list[str]) -> Run:
    """``split [-l LINES | -b BYTES | -n PIECES] [-d] [-a LENGTH] [FILE [PREFIX]]``."""
    try:
        given = _SPLIT.read(words[1:])
    except UnknownOption as problem:
        yield error("split", str(problem))
        return 1
    data, code = yield from contents(machine, "split", given.rest[:1])
    if code:
        return code
    prefix = given.rest[1] if len(given.rest) > 1 else "x"
    pieces, length = _pieces(data, given), whole(given.last("a", "2")) or 2
    if len(pieces) > _MOST_FILES:
        yield error("split", "output file suffixes exhausted")
        return 1
    letters = "0123456789" if "d" in given else "abcdefghijklmnopqrstuvwxyz"
    for number, piece in enumerate(pieces):
        name, rest = "", number
        for _ in range(length):
            rest, at = divmod(rest, len(letters))
            name = letters[at] + name
        if rest:
            yield error("split", "output file suffixes exhausted")
            return 1
        try:
            machine.files.write(machine.path(f"{prefix}{name}{given.last('S')}"), piece)
        except FileError as problem:
            yield error("split", f"{prefix}{name}: {problem}")
            return 1
    return 0


def _pieces(data: bytes, given: Given) -> list[bytes]:
    if "b" in given:
        size = max(1, _size(given.last("b")))
        Budget().spend(len(data) // size * LINE)
        return [data[at : at + size] for at in range(0, len(data), size)]
    if "n" in given:
        count = max(1, min(_MOST_FILES, whole(given.last("n"))))
        size = len(data) // count
        return [data[at * size : (at + 1) * size if at + 1 < count else None] for at in range(count)]
    lines = [each + b"\n" for each in kept_lines(data)]
    if lines and not data.endswith(b"\n"):
        lines[-1] = lines[-1][:-1]
    size = max(1, whole(given.last("l", str(_AT_ONCE))))
    return [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([a-zA-Z]{0,2})", text)
    return int(found[1]) * _SIZES.get(found[2], 1) if found else 0


def _seq(machine: Machine, words: list[str]) -> Run:
    """``seq [-w] [-s TEXT] [-f FORM] [FIRST [STEP]] LAST``."""
    rest = next((at for at, word in enumerate(words[1:], 1) if _NUMBER.fullmatch(word)), len(words))
    given = _SEQ.read(words[1:rest])
    texts = [*given.rest, *words[rest:]]
    wrong = next((each for each in texts if not _NUMBER.fullmatch(each)), "" if texts else "missing operand")
    if wrong or len(texts) > 3:
        yield error("seq", f"invalid floating point argument: '{wrong}'" if texts else wrong)
        return 1
    try:
        numbers = [Decimal(each) for each in texts]
    except InvalidOperation:
        return 1
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    step, last = (numbers[1] if len(numbers) > 2 else Decimal(1)), numbers[-1]
    if not step:
        yield error("seq", f"invalid Zero increment value: '{texts[1]}'")
        return 1
    places = max(len(each.partition(".")[2]) for each in texts[:-1] or texts)
    shown = _form_of(given, first, last, places)
    between, count, begun = (
        given.last("s", "\n"),
        int((last - first) / step) + 1 if (last - first) / step >= 0 else 0,
        False,
    )
    for start in range(0, count, _AT_ONCE):
        part = between.join(shown(first + step * at) for at in range(start, min(count, start + _AT_ONCE)))
        yield Write(((between if begun else "") + part).encode())
        begun = True
    if begun:
        yield Write(b"\n")
    return 0


def _form_of(given: Given, first: Decimal, last: Decimal, places: int) -> Callable[[Decimal], str]:
    """The function that shows a number."""
    found = _NUMBER_FORM.fullmatch(given.last("f"))
    if found is not None:
        before, form, after = found.groups()
        return lambda number: f"{before}{f'%{form}' % float(number)}{after}"
    width = max(len(f"{number:.{places}f}") for number in (first, last)) if "w" in given else 0
    return lambda number: f"{number:0{width}.{places}f}" if width else f"{number:.{places}f}"


COUNTING_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "wc": _wc,
    "uniq": _uniq,
    "shuf": within_memory(_shuf),
    "split": within_memory(_split),
    "seq": _seq,
}
"""The commands of this module, by name."""
