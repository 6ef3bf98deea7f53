"""The functions of awk, and the command itself.

References
----------
POSIX.1-2017, awk, Functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from simkit.simulation.shell.awk_extensions import gensub, kept_match, patsplit, plain, sorted_array
from simkit.simulation.shell.awk_program import Awk
from simkit.simulation.shell.awk_syntax import Node, parse
from simkit.simulation.shell.awk_tokens import AwkError, unescaped
from simkit.simulation.shell.awk_values import Given, Value, formatted, matcher, number_of, split, text_of
from simkit.simulation.shell.effects import error
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import shell
from simkit.simulation.shell.machine import Effect, Machine, Run
from simkit.simulation.shell.syntax import parse as parse_script
from simkit.simulation.shell.tree import ScriptError

_OF_GNU: Final = frozenset({"and", "or", "xor", "lshift", "rshift", "compl", "strtonum", "mktime"})
Steps = Generator[Effect, bytes, Value]
_RECORD: Final[Node] = ("field", ("value", 0.0))
_MODULUS: Final = 2_147_483_647


def called(awk: Awk, name: str, arguments: Sequence[Node]) -> Steps:
    """The value of a function that is built in. Raises AwkError."""
    if name in ("sub", "gsub"):
        return (yield from _substituted(awk, arguments, every=name == "gsub"))
    if name == "split":
        return (yield from _split(awk, arguments))
    if name == "gensub":
        return (yield from gensub(awk, arguments))
    if name in ("asort", "asorti"):
        return (yield from sorted_array(awk, name, arguments))
    if name == "patsplit":
        return (yield from patsplit(awk, arguments))
    if name == "match":
        return (yield from _matched(awk, arguments))
    if name == "length" and arguments and arguments[0][0] == "name" and arguments[0][1] in awk.arrays:
        return float(len(awk.array(arguments[0][1])))
    values = yield from awk.values(arguments)
    if name in ("close", "system", "fflush"):
        return (yield from _outside(awk, name, text_of(values[0]) if values else ""))
    return plain(name, values) if name in _OF_GNU else _plain(awk, name, values)


def _plain(awk: Awk, name: str, values: Sequence[Value]) -> Value:
    texts = [text_of(each) for each in values]
    numbers = [number_of(each) for each in values]
    try:
        match name:
            case "length":
                return float(len(texts[0] if texts else awk.record.text))
            case "index":
                return float(texts[0].find(texts[1]) + 1)
            case "substr":
                return _part(texts[0], numbers[1], numbers[2] if len(numbers) > 2 else math.inf)
            case "sprintf":
                return formatted(texts[0], values[1:])
            case "tolower":
                return texts[0].lower()
            case "toupper":
                return texts[0].upper()
            case "int":
                return float(math.trunc(numbers[0]))
            case "sqrt" | "exp" | "log" | "sin" | "cos":
                found: float = getattr(math, name)(numbers[0])
                return found
            case "atan2":
                return math.atan2(*numbers[:2])
            case "srand":
                before, awk.machine.shared.random = (
                    awk.machine.shared.random,
                    int(numbers[0] if numbers else awk.machine.now),
                )
                return float(before)
            case "rand":
                awk.machine.shared.random = (awk.machine.shared.random * 48_271 + 11) % _MODULUS
                return awk.machine.shared.random / _MODULUS
            case "systime":
                return float(int(awk.machine.now))
            case "strftime":
                when = datetime.fromtimestamp(numbers[1] if len(numbers) > 1 else awk.machine.now, UTC)
                return when.strftime(texts[0] if texts else "%a %b %d %H:%M:%S %Z %Y")
    except (ValueError, OverflowError):
        return math.nan
    except IndexError:
        raise AwkError(f"too few arguments to {name}") from None
    raise AwkError(f"unknown function {name}")


def _part(text: str, start: float, length: float) -> str:
    """The letters from a number on, both rounded."""
    if math.isnan(start) or math.isnan(length):
        return ""
    first = round(start)
    last = len(text) + 1 if math.isinf(length) else first + round(length)
    return text[max(0, first - 1) : max(0, last - 1)]


def _split(awk: Awk, arguments: Sequence[Node]) -> Steps:
    if len(arguments) < 2 or arguments[1][0] != "name":
        raise AwkError("split needs an array")
    text = text_of((yield from awk.value(arguments[0])))
    separator = (yield from awk.pattern(arguments[2])) if len(arguments) > 2 else text_of(awk.variables["FS"])
    awk.budget.spend(len(text))
    found = split(text, separator if len(arguments) < 3 or arguments[2][0] != "ere" or separator != " " else "[ ]")
    array = awk.array(arguments[1][1])
    array.clear()
    array.update({str(number): Given(each) for number, each in enumerate(found, 1)})
    if len(arguments) > 3 and arguments[3][0] == "name":
        between = awk.array(arguments[3][1])
        between.clear()
        between.update(_between(text, found))
    return float(len(found))


def _between(text: str, parts: Sequence[str]) -> dict[str, Value]:
    """The texts between parts of a text, by number."""
    made: dict[str, Value] = {}
    at = text.find(parts[0]) + len(parts[0]) if parts else 0
    for number, part in enumerate(parts[1:], 1):
        start = text.find(part, at + 1) if part else at + 1
        made[str(number)], at = text[at:start], start + len(part)
    return made


def _matched(awk: Awk, arguments: Sequence[Node]) -> Steps:
    if len(arguments) < 2:
        raise AwkError("too few arguments to match")
    text = text_of((yield from awk.value(arguments[0])))
    found = matcher((yield from awk.pattern(arguments[1]))).search(text)
    if len(arguments) > 2 and arguments[2][0] == "name":
        kept_match(awk, arguments[2][1], found)
    awk.variables["RSTART"] = float(found.start() + 1) if found else 0.0
    awk.variables["RLENGTH"] = float(found.end() - found.start()) if found else -1.0
    return awk.variables["RSTART"]


def _substituted(awk: Awk, arguments: Sequence[Node], *, every: bool) -> Steps:
    if len(arguments) < 2:
        raise AwkError("too few arguments to sub")
    wanted = matcher((yield from awk.pattern(arguments[0])))
    into = text_of((yield from awk.value(arguments[1])))
    place = arguments[2] if len(arguments) > 2 else _RECORD
    text, count, start, made = text_of((yield from awk.value(place))), 0, 0, list[str]()
    last = -1
    for found in wanted.finditer(text):
        if found.start() == found.end() == last:
            continue
        new = _replacement(into, found)
        awk.budget.spend(len(new) + 1)
        made += [text[start : found.start()], new]
        start, last, count = found.end(), found.end(), count + 1
        if not every:
            break
    if count:
        awk.budget.spend(len(text))
        yield from awk.assign(place, "".join([*made, text[start:]]))
    return float(count)


def _replacement(into: str, found: Any) -> str:
    """The text for a match: ``&`` is the match itself, and ``\\&`` the letter."""
    return re.sub(r"\\(&|\\)|&", lambda each: each[1] or found.group(), into)


def _outside(awk: Awk, name: str, text: str) -> Steps:
    if name == "fflush":
        return 0.0
    if name == "close":
        was_read = awk.input.close(text)
        return 0.0 if was_read else float((yield from awk.outputs.close(text)))
    try:
        return float((yield from shell(awk.machine.child(), parse_script(text))))
    except ScriptError as problem:
        yield error("sh", str(problem))
        return 2.0


def awk(machine: Machine, words: list[str]) -> Run:
    """``awk [-F FS] [-v NAME=VALUE] [-f FILE | PROGRAM] FILE...``. Raises TooMuch."""
    variables, sources, given = dict[str, str](), list[str](), list(words[1:])
    try:
        while given and given[0].startswith("-") and given[0] != "-":
            word = given.pop(0)
            if word == "--":
                break
            value = word[2:] or (given.pop(0) if given else "")
            if word[1] == "F":
                variables["FS"] = "\t" if value == "t" else unescaped(value)
            elif word[1] == "v":
                name, _, text = value.partition("=")
                variables[name] = unescaped(text)
            elif word[1] == "f":
                sources.append(machine.files.read(machine.path(value)).decode("utf-8", "replace"))
            else:
                raise AwkError(f"unrecognized option: {word[1]}")
        if not sources and not given:
            raise AwkError("a program is missing")
        text = "\n".join(sources) if sources else given.pop(0)
        return (yield from Awk(machine, parse(text), variables, given).run())
    except (AwkError, FileError) as problem:
        told = str(problem)
    yield error("awk", told)
    return 2
