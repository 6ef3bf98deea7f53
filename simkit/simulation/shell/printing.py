"""Commands that print: ``echo``, ``printf``, ``date``, ``seq`` and ``yes``.

References
----------
POSIX.1-2017, ``printf``; messages and options are those of busybox 1.36.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import takewhile
from shlex import quote
from typing import Final

from simkit.simulation.shell.arrays import backslashed
from simkit.simulation.shell.effects import Budget, error, within_memory
from simkit.simulation.shell.machine import STDERR, Machine, Run, Write
from simkit.simulation.shell.variables import reference, set_text
from simkit.simulation.shell.words import with_escapes

_YES: Final = 8192
"""Bytes that ``yes`` writes at once."""
_WIDEST: Final = 10_000
_RAW: Final = "surrogateescape"
"""The error handler that keeps bytes which are no letters."""
_DIRECTIVE: Final = re.compile(r"%(?:%|([-+ 0#]*)(\*|\d{1,4})?(?:\.(\*|\d{1,4})?)?([sbcdiuxXofeEgGq]|\([^()]*\)T))")
_IS_ECHO_FLAG: Final = re.compile(r"-[neE]+")
_INTEGER: Final = re.compile(r"\s*([-+]?)(0[xX][0-9a-fA-F]{1,16}|\d{1,19})")


def _echo(machine: Machine, words: list[str]) -> Run:
    flags = list(takewhile(_IS_ECHO_FLAG.fullmatch, words[1:]))
    newline, escapes = all("n" not in each for each in flags), any("e" in each for each in flags)
    text = " ".join(words[1 + len(flags) :])
    made = with_escapes(text, raw=True) if escapes else text
    yield Write(f"{made}\n".encode("utf-8", _RAW) if newline else made.encode("utf-8", _RAW))
    return 0


def _printf(machine: Machine, words: list[str]) -> Run:
    into = ""
    if machine.bash and words[1:2] == ["--"]:
        words = [words[0], *words[2:]]
    if machine.bash and words[1:2] == ["-v"] and len(words) > 2:
        into, words = words[2], [words[0], *words[3:]]
    if len(words) < 2:
        yield error("printf", "usage: printf FORMAT [ARG]...")
        return 2
    form, values = with_escapes(words[1], raw=True), deque(words[2:])
    code, printed, budget = 0, list[str](), Budget()
    while True:
        text, faults, used = _formatted(form, values, budget, machine)
        printed.append(text)
        for fault in faults:
            yield Write(f"sh: printf: {fault}\n".encode(), STDERR)
            code = 1
        if not values or not used:
            break
    made = "".join(printed).encode("utf-8", _RAW)
    if into:
        named = reference(into)
        if named is None:
            yield error(f"{machine.shell}: printf", f"`{into}': not a valid identifier")
            return 2
        set_text(machine, named, made.decode("utf-8", "replace"))
        return code
    yield Write(made)
    return code


def _formatted(form: str, values: deque[str], budget: Budget, machine: Machine) -> tuple[str, list[str], bool]:
    """A text with values in the place of directives, what is wrong with them, and whether any was used."""
    faults: list[str] = []
    used = False

    def following() -> str:
        return values.popleft() if values else ""

    def filled(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "%%":
            return "%"
        flags, width, precision, kind = found[1], found[2] or "", found[3], found[4]
        used = True
        width = str(_whole(following(), faults)) if width == "*" else width
        precision = str(_whole(following(), faults)) if precision == "*" else precision
        spelled = f"%{flags}{width if abs(int(width or 0)) < _WIDEST else ''}"
        spelled += f".{precision}" if precision is not None and int(precision or 0) < _WIDEST else ""
        value = following()
        budget.spend(
            len(found[0]) + len(value) + min(_WIDEST, abs(int(width or 0))) + min(_WIDEST, int(precision or 0))
        )
        if kind == "q":
            return f"{spelled}s" % (backslashed(value) if machine.bash else quote(value))
        if kind[0] == "(":
            moment = machine.now if value in ("", "-1", "-2") else float(_whole(value, faults))
            return f"{spelled}s" % datetime.fromtimestamp(moment, UTC).strftime(kind[1:-2] or "%X")
        if kind in "sbc":
            text = with_escapes(value, raw=True) if kind == "b" else value[:1] if kind == "c" else value
            return f"{spelled.replace('0', '', 1) if flags.startswith('0') else spelled}s" % text
        if kind in "diuxXo":
            number = _whole(value, faults)
            return f"{spelled}{'d' if kind in 'iu' else kind}" % (number % (1 << 64) if kind in "uxXo" else number)
        return f"{spelled}{kind}" % _real(value, faults)

    return _DIRECTIVE.sub(filled, form), faults, used


def _whole(text: str, faults: list[str]) -> int:
    """A whole number; of what is none, the part in front that is one."""
    if text[:1] in ("'", '"') and len(text) > 1:
        return ord(text[1])
    found = _INTEGER.match(text)
    if text and (found is None or found.end() != len(text)):
        faults.append(f"{text}: expected numeric value" if found is None else f"{text}: not completely converted")
    if found is None:
        return 0
    digits = found[2]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" and set(digits) <= set("01234567") else 10
    return int(f"{found[1]}{digits}", base)


def _real(text: str, faults: list[str]) -> float:
    try:
        return float(Decimal(text)) if text else 0.0
    except (InvalidOperation, ValueError):
        faults.append(f"{text}: expected numeric value")
        return 0.0


def _yes(machine: Machine, words: list[str]) -> Run:
    text = f"{' '.join(words[1:]) or 'y'}\n".encode()
    while True:
        yield Write(text * max(1, _YES // len(text)))


PRINTING_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "echo": _echo,
    "printf": within_memory(_printf),
    "yes": _yes,
}
"""The commands of this module, by name."""
