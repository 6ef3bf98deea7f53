"""``echo``, ``printf`` and ``test``.

References
----------
POSIX.1-2017, the utilities ``echo``, ``printf`` and ``test``. ``echo`` keeps backslashes as bash and busybox do.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.kernel import Run
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.script import Unsupported

_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0([0-7]{1,3})|([1-7][0-7]{0,2})|(c)|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_DIRECTIVE: Final = re.compile(r"%(?:(%)|([-+ #0]*+)(\*|\d{1,99})?(?:\.(\*|\d{1,99})?)?([diouxXcsbeEfFgG]))")
_MOST_LETTERS: Final = 1 << 20


class _Stop(Exception):
    """``\\c``: nothing is printed behind it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _escapes(text: str, kind: str) -> str:
    """A text whose escapes are letters. Raises _Stop at ``\\c``.

    ``kind`` is ``echo``, where octal numbers begin with a zero, ``format``, where they have three digits at most, or
    ``b``, where they may be either.
    """

    def letter(found: re.Match[str]) -> str:
        if kind == "format" and found[2] and len(found[2]) == 3:
            return _letter_of(f"0{found[2][:2]}") + found[2][2]
        if found[4]:
            raise _Stop(_ESCAPE.sub(letter, text[: found.start()]))
        if found[1] or found[2] or (found[3] and kind != "echo"):
            return _letter_of(found[2] or found[3]) if not found[1] else _letter_of(found[1], 16)
        if found[3]:
            return found[0]
        if found[5] in "eEuU":
            raise Unsupported(f"\\{found[5]}")
        return _LETTERS.get(found[5], found[0])

    return _ESCAPE.sub(letter, text)


def _echo(machine: Machine, words: list[str]) -> Run:
    given, letters = deque(words[1:]), set[str]()
    while given and re.fullmatch("-[neE]+", given[0]):
        for letter in given.popleft()[1:]:
            letters = letters - {"e", "E"} | {letter} if letter != "n" else letters | {"n"}
    text, end = " ".join(given), "" if "n" in letters else "\n"
    if "e" in letters:
        try:
            text = _escapes(text, "echo")
        except _Stop as stop:
            text, end = stop.text, ""
    yield from machine.write(text + end)
    return 0


def _printf(machine: Machine, words: list[str]) -> Run:
    given = words[2:] if words[1:2] == ["--"] else words[1:]
    if not given or (given[0].startswith("-") and len(given[0]) > 1):
        raise Unsupported(" ".join(words[:2]))
    printer = _Printer(given[0], given[1:])
    yield from machine.write(printer.text())
    for problem in printer.problems:
        yield from machine.complain(f"printf: {problem}")
    return int(bool(printer.problems))


def _letter_of(digits: str, base: int = 8) -> str:
    """The byte of a number, as a letter."""
    byte = int(digits, base) & 0xFF
    return chr(byte if byte < 0x80 else 0xDC00 + byte)


class _Printer:
    """Prints arguments by a format, which is used again as long as there are some left."""

    def __init__(self, form: str, arguments: Sequence[str]) -> None:
        self._form, self._left = form, deque(arguments)
        self.problems: list[str] = []

    def text(self) -> str:
        made, size = list[str](), 0
        try:
            while True:
                before = len(self._left)
                self._pass(made)
                size += len(made[-1]) if made else 0
                if not self._left or len(self._left) == before:
                    return "".join(made)
                if size > _MOST_LETTERS:
                    raise Failed("out of memory")
        except _Stop as stop:
            return "".join(made) + stop.text

    def _pass(self, made: list[str]) -> None:
        """Print the format once."""
        position = 0
        while position < len(self._form):
            at = self._form.find("%", position)
            made.append(_escapes(self._form[position : at if at >= 0 else len(self._form)], "format"))
            if at < 0:
                return
            found = _DIRECTIVE.match(self._form, at)
            if found is None:
                raise Unsupported(f"printf {self._form[at : at + 3]}")
            made.append("%" if found[1] else self._directive(found))
            position = found.end()

    def _argument(self) -> str:
        return self._left.popleft() if self._left else ""

    def _width(self, text: str | None) -> str:
        width = str(self._number(self._argument())) if text == "*" else text or ""
        if width.lstrip("-").isdigit() and abs(int(width)) > 9999:
            raise Failed("width is too large")
        return width

    def _directive(self, found: re.Match[str]) -> str:
        flags, kind = found[2], found[5]
        width = self._width(found[3])
        has_precision = "." in found[0]
        precision = self._width(found[4]) if has_precision else ""
        shape = f"%{flags}{width}" + (f".{precision or 0}" if has_precision and not precision.startswith("-") else "")
        if kind in "sb":
            text = self._argument()
            if kind == "b":
                try:
                    text = _escapes(text, "b")
                except _Stop as stop:
                    raise _Stop(_padded(shape, stop.text)) from None
            return _padded(shape, text)
        if kind == "c":
            return _padded(f"%{flags}{width}", self._argument()[:1])
        if kind in "eEfFgG":
            return (shape + kind) % self._real(self._argument())
        number = self._number(self._argument())
        if not -(1 << 63) <= number < 1 << 63:
            raise Unsupported(f"printf of {number}")
        if kind in "ouxX" and number < 0:
            number += 1 << 64
        return _integer(shape, kind.replace("u", "d").replace("i", "d"), number)

    def _number(self, text: str) -> int:
        if text[:1] in ("'", '"'):
            return ord(text[1]) if len(text) > 1 else 0
        found = re.match(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|\d+)", text)
        digits = found[2] if found is not None else "0"
        octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
        if (found is None and text) or (found is not None and found.end() != len(text)) or len(digits) > 20:
            self.problems.append(f"{text}: invalid number")
        if octal and not set(digits) <= set("01234567"):
            raise Unsupported(f"printf of {text}")
        number = int(digits[:20], 8 if octal else 0) if found is not None else 0
        return -number if found is not None and found[1] == "-" else number

    def _real(self, text: str) -> float:
        found = re.fullmatch(r"\s*[-+]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][-+]?\d{1,3})?", text)
        if found is None and text:
            raise Unsupported(f"printf of {text}")
        return float(text) if text else 0.0


def _padded(shape: str, text: str) -> str:
    if len(shape) > 1 and not text.isascii():
        raise Unsupported("printf that pads letters outside of ASCII")
    found = re.fullmatch(r"%([-+ #0]*+)(\d*)(?:\.(\d+))?", shape)
    if found is None:
        raise Unsupported(f"printf {shape}s")
    text = text[: int(found[3])] if found[3] else text
    width = int(found[2] or 0)
    return text.ljust(width) if "-" in found[1] else text.rjust(width)


def _integer(shape: str, kind: str, number: int) -> str:
    if kind == "o" and "#" in shape:
        raise Unsupported("printf %#o")
    if "#" in shape and number == 0:
        shape = shape.replace("#", "")
    if "." in shape:
        flags = shape[1:].partition(".")[0].rstrip("123456789")
        shape = shape.replace("0", "", 1) if "0" in flags else shape
    return (shape + kind) % number


# Tests


def _test(machine: Machine, words: list[str]) -> Run:
    given = words[1:]
    if words[0] == "[" and (not given or given.pop() != "]"):
        raise Failed("missing ]", 2)
    yield from ()
    return int(not _holds(machine, given))


def _holds(machine: Machine, words: Sequence[str]) -> bool:
    if len(words) > 4 or (len(words) > 2 and words[1] in ("-a", "-o")):
        return _joined(machine, words)
    if not words:
        return False
    if len(words) == 1:
        return bool(words[0])
    if len(words) == 3 and words[1] in _BINARY:
        return _BINARY[words[1]](machine, words[0], words[2])
    if words[0] == "!":
        return not _holds(machine, words[1:])
    if len(words) == 2 and words[0] in _UNARY:
        return _UNARY[words[0]](machine, words[1])
    if words[0] == "(" and words[-1] == ")":
        return _holds(machine, words[1:-1])
    raise Unsupported(f"test {' '.join(words)}"[:80])


def _joined(machine: Machine, words: Sequence[str]) -> bool:
    """Conditions with ``-o`` and ``-a`` between them, without brackets."""
    if "(" in words or ")" in words:
        raise Unsupported("test with brackets")
    for joint, joins in (("-o", any), ("-a", all)):
        parts, start = list[Sequence[str]](), 0
        for place, word in enumerate(words):
            if word == joint:
                parts.append(words[start:place])
                start = place + 1
        if parts:
            parts.append(words[start:])
            if not all(parts) or any(len(part) > 4 and joint == "-a" for part in parts):
                raise Unsupported(f"test {' '.join(words)}"[:80])
            return joins([_holds(machine, part) for part in parts])
    raise Unsupported(f"test {' '.join(words)}"[:80])


def _whole(text: str) -> int:
    if re.fullmatch(r"\s*[-+]?\d{1,18}\s*", text) is None:
        raise Failed(f"{text}: integer expected", 2)
    return int(text)


def _of_file(check: Callable[[Machine, str], bool]) -> Callable[[Machine, str], bool]:
    return lambda machine, name: bool(name) and check(machine, machine.path(name))


def _is_newer(machine: Machine, left: str, right: str) -> bool:
    first, second = machine.path(left), machine.path(right)
    if not machine.files.exists(first) or not machine.files.exists(second):
        raise Unsupported("test -nt of a file that is not there")
    return machine.files.mark(first).time > machine.files.mark(second).time


_UNARY: Final[Mapping[str, Callable[[Machine, str], bool]]] = {
    "-z": lambda _, text: not text,
    "-n": lambda _, text: bool(text),
    "-e": _of_file(lambda machine, path: machine.files.exists(path)),
    "-f": _of_file(lambda machine, path: machine.files.is_file(path)),
    "-d": _of_file(lambda machine, path: machine.files.is_folder(path)),
    "-s": _of_file(lambda machine, path: machine.files.exists(path) and machine.files.size(path) > 0),
    "-r": _of_file(lambda machine, path: machine.files.may(path, "r")),
    "-w": _of_file(lambda machine, path: machine.files.may(path, "w")),
    "-x": _of_file(lambda machine, path: machine.files.may(path, "x")),
    "-h": _of_file(lambda machine, path: machine.files.target(path) is not None),
    "-L": _of_file(lambda machine, path: machine.files.target(path) is not None),
    "-t": lambda machine, number: "TERM" in machine.variables and number in ("0", "1", "2"),
}
_BINARY: Final[Mapping[str, Callable[[Machine, str, str], bool]]] = {
    "=": lambda _, left, right: left == right,
    "==": lambda _, left, right: left == right,
    "!=": lambda _, left, right: left != right,
    "-eq": lambda _, left, right: _whole(left) == _whole(right),
    "-ne": lambda _, left, right: _whole(left) != _whole(right),
    "-lt": lambda _, left, right: _whole(left) < _whole(right),
    "-le": lambda _, left, right: _whole(left) <= _whole(right),
    "-gt": lambda _, left, right: _whole(left) > _whole(right),
    "-ge": lambda _, left, right: _whole(left) >= _whole(right),
    "-nt": _is_newer,
    "-ot": lambda machine, left, right: _is_newer(machine, right, left),
    "-a": lambda _, left, right: bool(left) and bool(right),
    "-o": lambda _, left, right: bool(left) or bool(right),
}

PRINTING: Final[Mapping[str, Command]] = {"echo": _echo, "printf": _printf, "test": _test, "[": _test}
"""The commands of this module, by name."""
