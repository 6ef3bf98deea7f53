"""Commands that show bytes as numbers: ``od``, ``hexdump`` and ``xxd``.

References
----------
POSIX.1-2017, ``od``; GNU coreutils 9.1, util-linux 2.38 and xxd of vim 9.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.effects import ENDLESS, Budget, contents, error, whole, within_memory
from simkit.simulation.shell.files import MOST_BYTES
from simkit.simulation.shell.machine import Effect, Machine, Run, Write
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption

_OD: Final = Syntax(
    valued="tANjw",
    names={"format": "t", "address-radix": "A", "read-bytes": "N", "skip-bytes": "j", "width": "w",
           "output-duplicates": "v"},
)  # fmt: skip
_HEXDUMP: Final = Syntax(valued="nse", names={"canonical": "C", "length": "n", "skip": "s", "no-squeezing": "v"})
_XXD: Final = Syntax(valued="clsgo", names={"plain": "p", "ps": "p", "revert": "r", "cols": "c", "len": "l"})
_SHORT: Final = {"c": "c", "b": "o1", "x": "x2", "d": "u2", "o": "o2", "a": "a", "i": "d4"}
_TYPE: Final = re.compile(r"([acdoux])([1248CSIL]?)(z?)")
_SIZES: Final = {"C": 1, "S": 2, "I": 4, "L": 8, "": 4}
_DIGITS: Final = {
    "x": {1: 2, 2: 4, 4: 8, 8: 16}, "o": {1: 3, 2: 6, 4: 11, 8: 22}, "u": {1: 3, 2: 5, 4: 10, 8: 20},
    "d": {1: 4, 2: 6, 4: 11, 8: 20},
}  # fmt: skip
_ESCAPES: Final = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_NAMES: Final = re.findall(
    r"\w+",
    "nul soh stx etx eot enq ack bel bs ht nl vt ff cr so si "
    "dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us sp",
)
_FORM: Final = re.compile(r"(?:(\d{1,4})?/(\d{1,2})\s{1,9}|(\d{1,4})\s{1,9})?\"((?:[^\"\\]|\\.){0,200})\"")
_ROW: Final = 16
Found = Generator[Effect, bytes, tuple[bytes, int]]
"""Steps up to the bytes that are shown, and the exit code so far."""
_WORK: Final = 8
"""The letters that are shown for a byte, about."""


def _data(machine: Machine, command: str, names: Sequence[str], most: int) -> Found:
    """The bytes to show; of an endless device as many as are asked for."""
    if names and names[0] in ENDLESS and 0 <= most <= MOST_BYTES:
        yield from ()
        return bytes(most), 0
    return (yield from contents(machine, command, names))


def _number(text: str) -> int:
    """A number of bytes, also in hexadecimal digits; -1 for what is none."""
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]{1,12}|\d{1,12})([bkKM]?)", text)
    unit = {"": 1, "b": 512, "k": 1024, "K": 1024, "M": 1024**2}
    return int(found[1], 16 if found[1][:2].lower() == "0x" else 10) * unit[found[2]] if found else -1


def _od(machine: Machine, words: list[str]) -> Run:
    try:
        given = _OD.read(words[1:])
    except UnknownOption as problem:
        yield error("od", str(problem))
        return 1
    most, skipped = _number(given.last("N", "-")), max(0, _number(given.last("j", "0")))
    data, code = yield from _data(machine, "od", given.rest, most + skipped)
    data = data[skipped : skipped + most] if most >= 0 else data[skipped:]
    wanted = [_SHORT[letter] for letter in given.values if letter in _SHORT]
    kinds = [_TYPE.fullmatch(text) for each in given.all("t") for text in re.findall(r"[acdoux][1248CSIL]?z?", each)]
    kinds += [_TYPE.fullmatch(text) for text in wanted]
    types = [(each[1], _SIZES.get(each[2]) or int(each[2])) for each in kinds if each is not None] or [("o", 2)]
    Budget().spend(len(data) * _WORK * len(types))
    width = whole(given.last("w", "16")) or 16
    address = _address(given.last("A", "o")[:1])
    yield Write("".join(f"{each}\n" for each in _rows(data, types, width, address, skipped, "v" in given)).encode())
    return code


def _address(radix: str) -> Callable[[int], str]:
    forms: Mapping[str, Callable[[int], str]] = {
        "o": "{:07o}".format, "d": "{:07d}".format, "x": "{:06x}".format, "n": lambda _: "",
    }  # fmt: skip
    return forms.get(radix, forms["o"])


def _rows(
    data: bytes,
    types: Sequence[tuple[str, int]],
    width: int,
    address: Callable[[int], str],
    start: int,
    every: bool,
) -> Iterator[str]:
    before, starred = None, False
    for at in range(0, len(data), width):
        row = data[at : at + width]
        if row == before and len(row) == width and not every:
            if not starred:
                yield "*"
            starred = True
            continue
        before, starred = row, False
        for number, (kind, size) in enumerate(types):
            label = address(start + at)
            yield (label if not number else " " * len(label)) + _values(row, kind, size)
    end = address(start + len(data))
    if end:
        yield end


def _values(row: bytes, kind: str, size: int) -> str:
    if kind in "ac":
        return "".join(f" {_letter(byte, kind):>3}" for byte in row)
    made = []
    for at in range(0, len(row), size):
        number = int.from_bytes(row[at : at + size].ljust(size, b"\0"), "little", signed=kind == "d")
        width = _DIGITS[kind][size]
        made.append(f" {number:0{width}{kind}}" if kind in "xo" else f" {number:{width}d}")
    return "".join(made)


def _letter(byte: int, kind: str) -> str:
    if kind == "a":
        return "del" if byte & 127 == 127 else _NAMES[byte & 127] if byte & 127 < len(_NAMES) else chr(byte & 127)
    return _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"{byte:03o}")


def _hexdump(machine: Machine, words: list[str]) -> Run:
    """``hexdump [-C] [-e FORM] [-n BYTES] [-s BYTES]``, and ``hd``."""
    try:
        given = _HEXDUMP.read(words[1:])
    except UnknownOption as problem:
        yield error("hexdump", str(problem))
        return 1
    most, skipped = _number(given.last("n", "-")), max(0, _number(given.last("s", "0")))
    data, code = yield from _data(machine, words[0], given.rest, most + skipped)
    data = data[skipped : skipped + most] if most >= 0 else data[skipped:]
    Budget().spend(len(data) * _WORK)
    if "e" in given:
        yield Write(_formatted(data, given.all("e")).encode())
    elif "C" in given or words[0] == "hd":
        yield Write("".join(_canonical(data, skipped, every="v" in given)).encode())
    else:
        yield Write("".join(_words_of_two(data, skipped, every="v" in given)).encode())
    return code


def _canonical(data: bytes, start: int, *, every: bool) -> Iterator[str]:
    for at, row in _distinct(data, every=every):
        if row is None:
            yield "*\n"
            continue
        halves = [" ".join(f"{byte:02x}" for byte in row[part : part + 8]) for part in (0, 8)]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{start + at:08x}  {halves[0]:<23}  {halves[1]:<23}  |{text}|\n"
    if data:
        yield f"{start + len(data):08x}\n"


def _words_of_two(data: bytes, start: int, *, every: bool) -> Iterator[str]:
    for at, row in _distinct(data, every=every):
        if row is None:
            yield "*\n"
            continue
        parts = [f"{int.from_bytes(row[part : part + 2], 'little'):04x}" for part in range(0, len(row), 2)]
        yield f"{start + at:07x} {' '.join(parts):<39}\n"
    if data:
        yield f"{start + len(data):07x}\n"


def _distinct(data: bytes, *, every: bool) -> Iterator[tuple[int, bytes | None]]:
    """The rows with their places; None stands for those that are the same as the one before."""
    before, starred = b"", False
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        if row == before and not every:
            if not starred:
                yield at, None
            starred = True
            continue
        before, starred = row, False
        yield at, row


def _formatted(data: bytes, forms: Sequence[str]) -> str:
    """The bytes in the form of ``-e``: so many units of so many bytes each, in the places of its directives."""
    parts = [found.groups() for form in forms for found in _FORM.finditer(form)]
    if not any(size or "%" in text for _, size, _, text in parts):
        return ""
    made, at = [], 0
    while at < len(data):
        begun = at
        for times, size, alone, text in parts:
            shown = re.sub(r"\\(.)", lambda hit: {"n": "\n", "t": "\t"}.get(hit[1], hit[1]), text)
            for turn in range(int(times or alone or 1)):
                if "%" not in shown:
                    made.append(shown)
                    continue
                if at >= len(data):
                    break
                unit = data[at : at + int(size or 4 if re.search(r"%[-\d]*[dxXou]", shown) else size or 1)]
                at += len(unit)
                last = turn + 1 == int(times or alone or 1) or at >= len(data)
                text_of = _unit(unit, shown)
                made.append(text_of.rstrip(" ") if last and int(times or alone or 1) > 1 else text_of)
        if at == begun:
            break
    return "".join(made)


def _unit(unit: bytes, form: str) -> str:
    def filled(found: re.Match[str]) -> str:
        kind = found[2]
        if kind == "c":
            return f"%{found[1]}s" % chr(unit[0])
        if kind == "_p":
            return chr(unit[0]) if 32 <= unit[0] < 127 else "."
        return f"%{found[1]}{'d' if kind in 'iu' else kind}" % int.from_bytes(unit, "little", signed=kind in "di")

    return re.sub(r"%([-0 ]*\d{0,3}(?:\.\d{1,2})?)(_p|[cdiouxX])", filled, form)


def _xxd(machine: Machine, words: list[str]) -> Run:
    try:
        given = _XXD.read([word if word not in ("-ps", "-plain") else "-p" for word in words[1:]])
    except UnknownOption as problem:
        yield error("xxd", str(problem))
        return 1
    most, skipped = _number(given.last("l", "-")), max(0, _number(given.last("s", "0")))
    data, code = yield from _data(machine, "xxd", given.rest[:1], most + skipped)
    if "r" in given:
        yield Write(_reverted(data, plain="p" in given))
        return code
    data = data[skipped : skipped + most] if most >= 0 else data[skipped:]
    Budget().spend(len(data) * _WORK)
    yield Write("".join(_of_xxd(data, given, skipped)).encode())
    return code


def _of_xxd(data: bytes, given: Given, start: int) -> Iterator[str]:
    plain = "p" in given
    width = whole(given.last("c", "30" if plain else "6" if "b" in given else "16"))
    width, group = (width if 0 < width <= 256 else len(data) or 1), whole(given.last("g", "1" if "b" in given else "2"))
    for at in range(0, len(data), width):
        row = data[at : at + width]
        shown = [f"{byte:08b}" if "b" in given else f"{byte:02X}" if "u" in given else f"{byte:02x}" for byte in row]
        if plain:
            yield "".join(shown) + "\n"
            continue
        size = group or width
        parts = ["".join(shown[part : part + size]) for part in range(0, len(row), size)]
        wide = width * len(shown[0]) + -(-width // size) - 1
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{start + at:08x}: {' '.join(parts):<{wide}}  {text}\n"


def _reverted(data: bytes, *, plain: bool) -> bytes:
    text = data.decode("latin-1")
    if plain:
        digits = re.sub(r"[^0-9a-fA-F]", "", text)
        return bytes.fromhex(digits[: len(digits) // 2 * 2])
    made = bytearray()
    for each in text.splitlines():
        found = re.match(
            r"[0-9a-fA-F]{1,16}:((?: ?[0-9a-fA-F]{2})+)", each.replace("  ", "|", 1) if "  " in each else each
        )
        if found is not None:
            made += bytes.fromhex(found[1])
    return bytes(made)


DUMP_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "od": within_memory(_od),
    "hexdump": within_memory(_hexdump),
    "hd": within_memory(_hexdump),
    "xxd": within_memory(_xxd),
}
"""The commands of this module, by name."""
