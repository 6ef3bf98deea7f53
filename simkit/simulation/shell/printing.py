"""``echo``, ``printf`` and ``test``.

References
----------
POSIX.1-2017, the utilities ``echo``, ``printf`` and ``test``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.simulation.shell.kernel import Run
from simkit.simulation.shell.machine import Command, Failed, Machine
from simkit.simulation.shell.script import Unsupported

_ESCAPE: Final = re.compile(r"\\([0-7]{1,3}|.?)", re.DOTALL)
_LONG_ESCAPE: Final = re.compile(r"\\(0[0-7]{0,3}|[1-7][0-7]{0,2}|.?)", re.DOTALL)
_DIVERSE: Final = re.compile(r"\\[abcefnrtvxuU0-7\\]")
"""Escapes that ``echo`` reads in some shells, and in others only behind ``-e``."""
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_DIRECTIVE: Final = re.compile(r"%(?:(%)|(-?0?)([1-9][0-9]{0,99})?(?:\.([0-9]{1,99}))?([sbcdixXo]))")
_MOST_LETTERS: Final = 1 << 20
_WIDEST: Final = 9999


def _letter(found: re.Match[str]) -> str:
    text = found[1]
    if text[:1].isdigit():
        byte = int(text, 8) & 0xFF
        return chr(byte if byte < 0x80 else 0xDC00 + byte)
    if text not in _LETTERS:
        raise Unsupported(f"the escape {found[0]}")
    return _LETTERS[text]


def _echo(machine: Machine, words: list[str]) -> Run:
    ends = words[1:2] != ["-n"]
    text = " ".join(words[1 if ends else 2 :])
    if _DIVERSE.search(text) or re.match("-[neE]+( |$)", text):
        raise Unsupported("echo with -e or with escapes, which shells read differently from each other (say printf)")
    yield from machine.write(f"{text}\n" if ends else text)
    return 0


def _printf(machine: Machine, words: list[str]) -> Run:
    given = deque(words[2:] if words[1:2] == ["--"] else words[1:])
    if not given or (given[0].startswith("-") and len(given[0]) > 1):
        raise Unsupported(" ".join(words[:2]))
    form, made, size = given.popleft(), list[str](), 0
    while True:
        before = len(given)
        made.append(_formatted(form, given))
        size += len(made[-1])
        if size > _MOST_LETTERS:
            raise Failed("out of memory")
        if not given or len(given) == before:
            break
    yield from machine.write("".join(made))
    return 0


def _formatted(form: str, arguments: deque[str]) -> str:
    """A format, filled once with the next arguments."""
    made, position = list[str](), 0
    while position < len(form):
        at = form.find("%", position)
        made.append(_ESCAPE.sub(_letter, form[position : at if at >= 0 else len(form)]))
        if at < 0:
            break
        found = _DIRECTIVE.match(form, at)
        if found is None:
            raise Unsupported(f"printf {form[at : at + 5]}")
        made.append("%" if found[1] else _directive(found, arguments.popleft() if arguments else ""))
        position = found.end()
    return "".join(made)


def _directive(found: re.Match[str], text: str) -> str:
    _, flags, width, precision, kind = found.groups()
    if max(int(width or 0), int(precision or 0)) > _WIDEST:
        raise Failed("width is too large")
    if kind in "dixXo":
        if precision or re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})|", text) is None or (text[:1] == "-" and kind in "xXo"):
            raise Unsupported(f"printf {found[0]} of {text}"[:80])
        return f"%{flags}{width or ''}{kind}" % int(text or 0)
    if kind == "b":
        text = _LONG_ESCAPE.sub(_letter, text)
    counts = width or precision or kind == "c"
    if "0" in flags or (kind == "c" and (precision or not text)) or (counts and not text.isascii()):
        raise Unsupported(f"printf {found[0]} of {text}"[:80])
    text = text[: 1 if kind == "c" else int(precision)] if precision or kind == "c" else text
    return text.ljust(int(width or 0)) if flags == "-" else text.rjust(int(width or 0))


def _test(machine: Machine, words: list[str]) -> Run:
    given = words[1:]
    if words[0] == "[" and (not given or given.pop() != "]"):
        raise Failed("missing ]", 2)
    yield from ()
    return int(not _holds(machine, given))


def _holds(machine: Machine, words: Sequence[str]) -> bool:
    if len(words) < 2:
        return words not in ([], [""])
    if len(words) == 3 and words[1] in _BINARY:
        return _BINARY[words[1]](words[0], words[2])
    if words[0] == "!" and len(words) < 5:
        return not _holds(machine, words[1:])
    if len(words) == 2 and words[0] in _UNARY:
        return _UNARY[words[0]](machine, words[1])
    raise Unsupported(f"test {' '.join(words)}"[:80])


def _whole(text: str) -> int:
    if re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", text) is None:
        raise Failed(f"{text}: integer expected", 2)
    return int(text)


def _of_file(check: Callable[[Machine, str], bool]) -> Callable[[Machine, str], bool]:
    def holds(machine: Machine, name: str) -> bool:
        if machine.path(name).startswith(("/dev/", "/proc/")) and machine.path(name) != "/dev/null":
            raise Unsupported(f"test of {name}")
        return bool(name) and check(machine, machine.path(name))

    return holds


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
_BINARY: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": str.__eq__,
    "==": str.__eq__,
    "!=": str.__ne__,
    "-eq": lambda left, right: _whole(left) == _whole(right),
    "-ne": lambda left, right: _whole(left) != _whole(right),
    "-lt": lambda left, right: _whole(left) < _whole(right),
    "-le": lambda left, right: _whole(left) <= _whole(right),
    "-gt": lambda left, right: _whole(left) > _whole(right),
    "-ge": lambda left, right: _whole(left) >= _whole(right),
}

PRINTING: Final[Mapping[str, Command]] = {"echo": _echo, "printf": _printf, "test": _test, "[": _test}
"""The commands of this module, by name."""
