"""Values of awk: numbers, texts, texts of the input that look like numbers, and how they are formatted."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.awk_tokens import AwkError
from simkit.simulation.shell.patterns import regular_expression

_NUMBER: Final = re.compile(r"[ \t\n\r]*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_FORMAT: Final = re.compile(r"%([-+ #0]*)(\*|\d{0,9})(?:\.(\*|\d{0,9}))?(?:hh|h|ll|l)?([a-zA-Z%])")
_WIDEST: Final = 10_000
_LARGEST: Final = (1 << 63) - 1
_REPLACEMENT: Final = "\ufffd"


class Given(str):
    """A text of the input: it compares as a number if it looks like one."""

    __slots__ = ()


Value = float | str | None
"""A value; None is that of a variable that was never set."""


def number_of(value: Value) -> float:
    """The number with which a text begins; 0 without one.

    Examples
    --------
    >>> number_of("12abc"), number_of("x"), number_of(None)
    (12.0, 0.0, 0.0)
    """
    if isinstance(value, float):
        return value
    found = _NUMBER.match(value) if value else None
    return float(found.group()) if found else 0.0


def looks_numeric(value: Value) -> bool:
    """True for numbers, what was never set, and texts of the input that are numbers as a whole."""
    if isinstance(value, Given):
        found = _NUMBER.match(value)
        return found is not None and not value[found.end() :].strip(" \t\n\r")
    return not isinstance(value, str)


def text_of(value: Value, form: str = "%.6g") -> str:
    """A value as text; whole numbers have no point.

    Examples
    --------
    >>> text_of(3.0), text_of(0.1 + 0.2), text_of(None)
    ('3', '0.3', '')
    """
    if not isinstance(value, float):
        return value or ""
    if math.isfinite(value) and value == int(value):
        return str(int(value)) if abs(value) < 1e30 else form % value
    return formatted(form, [value]) if math.isfinite(value) else str(value)


def whole_of(value: Value) -> int:
    """The whole number of a value, cut to the 64 bits that a place, a width or an exit code may have.

    Examples
    --------
    >>> whole_of(2.9), whole_of(1e300) == whole_of(math.inf) == 2**63 - 1, whole_of(math.nan)
    (2, True, 0)
    """
    number = number_of(value)
    return 0 if math.isnan(number) else int(max(-_LARGEST, min(number, _LARGEST)))


def is_true(value: Value) -> bool:
    """True for numbers but 0, and texts that are not empty."""
    return number_of(value) != 0 if looks_numeric(value) else bool(value)


def compared(left: Value, right: Value) -> int:
    """-1, 0 or 1: as numbers where both are, else as texts."""
    if looks_numeric(left) and looks_numeric(right):
        a, b = number_of(left), number_of(right)
        return (a > b) - (a < b)
    first, second = text_of(left), text_of(right)
    return (first > second) - (first < second)


def matcher(text: str) -> Any:
    """The compiled pattern of a regular expression. Raises AwkError."""
    try:
        return pattern("(?s)" + regular_expression(text, extended=True))
    except PatternError:
        raise AwkError(f"invalid regular expression {text!r}") from None


def split(text: str, separator: str) -> list[str]:
    """The fields of a text. A blank stands for any number of them, other single letters for themselves.

    Examples
    --------
    >>> split(" a  b ", " "), split("a,,b", ","), split("a1b22c", "[0-9]+")
    (['a', 'b'], ['a', '', 'b'], ['a', 'b', 'c'])
    """
    if separator == " ":
        return text.split()
    if not text:
        return []
    if not separator:
        return list(text)
    if len(separator) == 1 and separator != "\\":
        return text.split(separator)
    found, start = [], 0
    for each in matcher(separator).finditer(text):
        if each.end() > each.start():
            found.append(text[start : each.start()])
            start = each.end()
    return [*found, text[start:]]


def formatted(form: str, values: Sequence[Value]) -> str:
    """A text as ``printf`` makes it; values that are missing are empty."""
    given, made, start = iter(values), list[str](), 0
    for found in _FORMAT.finditer(form):
        made += [form[start : found.start()], _one(found, given)]
        start = found.end()
    return "".join([*made, form[start:]])


def _one(found: re.Match[str], given: Iterator[Value]) -> str:
    flags, letter = found[1], found[4]
    if letter == "%":
        return "%"
    width = str(whole_of(next(given, None))) if found[2] == "*" else found[2]
    precision = str(whole_of(next(given, None))) if found[3] == "*" else found[3]
    if any(abs(int(each or 0)) > _WIDEST for each in (width, precision)):
        raise AwkError("width is too large")
    shape = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
    value = next(given, None)
    if letter == "c":
        letters = _letter(whole_of(value)) if isinstance(value, float) else text_of(value)[:1]
        return str(f"%{flags}{width}s" % letters)
    if letter == "s":
        return str(f"{shape}s" % text_of(value))
    number = number_of(value)
    if letter in "di":
        return str(f"{shape}d" % int(number)) if math.isfinite(number) else str(number)
    if letter in "ouxX":
        whole = int(number) if math.isfinite(number) else 0
        return str(f"{shape}{letter.replace('u', 'd')}" % (whole if whole >= 0 else whole + (1 << 64)))
    if letter in "aeEfFgG" and letter != "a":
        return str(f"{shape}{letter}" % number)
    raise AwkError(f"bad format %{letter}")


def _letter(code: int) -> str:
    """The letter of a code; halves of pairs are none that could be written."""
    letter = chr(code & 0x10FFFF)
    return _REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter


def _remainder(left: float, right: float) -> float:
    return left - right * int(left / right)


_NUMBERS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": _remainder, "^": operator.pow,
}  # fmt: skip


def computed(sign: str, left: float, right: float) -> float:
    """The value of an operation with two numbers. Raises AwkError.

    Examples
    --------
    >>> computed("%", -3.0, 2.0)
    -1.0
    """
    try:
        found = _NUMBERS[sign](left, right)
    except ZeroDivisionError:
        raise AwkError("division by zero") from None
    except OverflowError:
        return float("inf")
    return found if isinstance(found, float) else float("nan")
