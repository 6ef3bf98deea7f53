"""The functions that GNU awk has besides those of POSIX, and its orders of arrays.

References
----------
GAWK: Effective AWK Programming, edition 5.2, String-Manipulation Functions, Bit-Manipulation Functions and Controlling
Scanning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final

from simkit.simulation.shell.awk_syntax import Node
from simkit.simulation.shell.awk_tokens import AwkError
from simkit.simulation.shell.awk_values import (
    Given,
    Value,
    compared,
    looks_numeric,
    matcher,
    number_of,
    text_of,
    whole_of,
)
from simkit.simulation.shell.machine import Effect

if TYPE_CHECKING:
    from simkit.simulation.shell.awk_program import Awk

Steps = Generator[Effect, bytes, Value]
Item = tuple[str, Value]
_BITS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "and": int.__and__, "or": int.__or__, "xor": int.__xor__, "lshift": lambda a, b: a << min(b, 63) & _ALL,
    "rshift": lambda a, b: a >> min(b, 63),
}  # fmt: skip
_ALL: Final = (1 << 53) - 1
_HOW: Final = re.compile(r"@(ind|val)_(str|num|type)_(asc|desc)")
_DATE: Final = re.compile(r"(-?\d{1,4}) (-?\d{1,3}) (-?\d{1,4}) (-?\d{1,4}) (-?\d{1,5}) (-?\d{1,6})")


def _by_text(left: Value, right: Value) -> int:
    one, other = text_of(left), text_of(right)
    return (one > other) - (one < other)


def _by_number(left: Value, right: Value) -> int:
    one, other = number_of(left), number_of(right)
    return (one > other) - (one < other) or _by_text(left, right)


def _by_type(left: Value, right: Value) -> int:
    """Numbers stand before texts."""
    one, other = looks_numeric(left), looks_numeric(right)
    return compared(left, right) if one is other else -1 if one else 1


_COMPARISONS: Final[Mapping[str, Callable[[Value, Value], int]]] = {
    "str": _by_text, "num": _by_number, "type": _by_type,
}  # fmt: skip


def in_order(items: Sequence[Item], how: str) -> list[Item]:
    """The elements of an array in an order of GNU awk; as they are for one that is not known.

    Examples
    --------
    >>> in_order([("z", 1.0), ("b", 20.0)], "@val_num_desc"), in_order([("10", ""), ("9", "")], "@ind_num_asc")
    ([('b', 20.0), ('z', 1.0)], [('9', ''), ('10', '')])
    """
    found = _HOW.fullmatch(how)
    if found is None:
        return list(items)
    place, compare = int(found[1] == "val"), _COMPARISONS[found[2]]

    def comparison(one: Item, other: Item) -> int:
        return compare(*_parts(one, other, place)) or _by_text(one[0], other[0])

    return sorted(items, key=cmp_to_key(comparison), reverse=found[3] == "desc")


def _parts(one: Item, other: Item, place: int) -> tuple[Value, Value]:
    """The subscripts of two elements, or their values."""
    return (one[1], other[1]) if place else (one[0], other[0])


def _name_of_array(arguments: Sequence[Node], place: int, function: str) -> str:
    if len(arguments) <= place or arguments[place][0] != "name":
        raise AwkError(f"{function} needs an array")
    return str(arguments[place][1])


def sorted_array(awk: Awk, name: str, arguments: Sequence[Node]) -> Steps:
    """``asort`` and ``asorti``: the values or subscripts of an array in order, in it or in another one."""
    source = awk.array(_name_of_array(arguments, 0, name))
    into = awk.array(_name_of_array(arguments, 1, name)) if len(arguments) > 1 else source
    usual = "@val_type_asc" if name == "asort" else "@ind_str_asc"
    how = text_of((yield from awk.value(arguments[2]))) if len(arguments) > 2 else usual
    awk.budget.spend(len(source))
    ordered = in_order(
        [(key, Given(value) if isinstance(value, Given) else value) for key, value in source.items()], how
    )
    into.clear()
    into.update({str(at): value if name == "asort" else key for at, (key, value) in enumerate(ordered, 1)})
    return float(len(ordered))


def gensub(awk: Awk, arguments: Sequence[Node]) -> Steps:
    """``gensub(PATTERN, TEXT, HOW[, TARGET])``: the target with one match or all replaced."""
    if len(arguments) < 3:
        raise AwkError("too few arguments to gensub")
    wanted = matcher((yield from awk.pattern(arguments[0])))
    into, how = text_of((yield from awk.value(arguments[1]))), text_of((yield from awk.value(arguments[2])))
    text = text_of((yield from awk.value(arguments[3]))) if len(arguments) > 3 else awk.record.text
    every, number = how[:1] in ("g", "G"), max(1, whole_of(how) if how[:1].isdigit() else 1)
    made, start, last, count = list[str](), 0, -1, 0
    for found in wanted.finditer(text):
        if found.start() == found.end() == last:
            continue
        count, last = count + 1, found.end()
        if every or count == number:
            new = _filled(into, found)
            awk.budget.spend(len(new) + 1)
            made += [text[start : found.start()], new]
            start = found.end()
            if not every:
                break
    return "".join([*made, text[start:]])


def _filled(into: str, found: Any) -> str:
    """The text for a match: ``\\\\1`` is a group of it, and ``&`` or ``\\\\0`` all of it."""

    def part(each: re.Match[str]) -> str:
        letter = each[1]
        if letter is None or letter == "0":
            return str(found.group())
        if letter.isdigit():
            return str(found.group(int(letter)) or "") if int(letter) <= len(found.groups()) else ""
        return str(letter)

    return re.sub(r"\\(.)|&", part, into, flags=re.DOTALL)


def kept_match(awk: Awk, name: str, found: Any) -> None:
    """Keep a match and its groups in an array, with their places and lengths."""
    array = awk.array(name)
    array.clear()
    for number in range(len(found.groups()) + 1 if found is not None else 0):
        if found.group(number) is not None:
            array[str(number)] = Given(found.group(number))
            joined = text_of(awk.variables["SUBSEP"])
            array[f"{number}{joined}start"] = float(found.start(number) + 1)
            array[f"{number}{joined}length"] = float(found.end(number) - found.start(number))


def patsplit(awk: Awk, arguments: Sequence[Node]) -> Steps:
    """``patsplit(TEXT, ARRAY, PATTERN)``: the parts that match."""
    if len(arguments) < 3:
        raise AwkError("too few arguments to patsplit")
    text = text_of((yield from awk.value(arguments[0])))
    wanted = matcher((yield from awk.pattern(arguments[2])))
    array = awk.array(_name_of_array(arguments, 1, "patsplit"))
    awk.budget.spend(len(text))
    array.clear()
    array.update({str(at): Given(each.group()) for at, each in enumerate(wanted.finditer(text), 1)})
    return float(len(array))


def plain(name: str, values: Sequence[Value]) -> Value:
    """The value of a function of numbers and texts alone. Raises AwkError."""
    if not values:
        raise AwkError(f"too few arguments to {name}")
    if name == "strtonum":
        return _number(text_of(values[0])) if isinstance(values[0], str) else number_of(values[0])
    if name == "mktime":
        return _moment(text_of(values[0]))
    numbers = [whole_of(each) for each in values]
    if any(each < 0 for each in numbers):
        raise AwkError(f"{name}: negative values are not allowed")
    if name == "compl":
        return float(_ALL ^ numbers[0])
    found = numbers[0]
    for each in numbers[1:]:
        found = _BITS[name](found, each)
    return float(found)


def _number(text: str) -> float:
    stripped = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", stripped):
        return float(int(stripped, 16))
    return float(int(stripped, 8)) if re.fullmatch(r"0[0-7]{1,20}", stripped) else number_of(text)


def _moment(text: str) -> float:
    """The seconds since the epoch of a time such as ``2024 1 2 3 4 5``; -1 for what is none."""
    found = _DATE.match(text.strip())
    if found is None:
        return -1.0
    year, month, day, hour, minute, second = (int(each) for each in found.groups())
    try:
        begun = datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return -1.0
    return begun + (day - 1) * 86_400 + hour * 3600 + minute * 60 + second
