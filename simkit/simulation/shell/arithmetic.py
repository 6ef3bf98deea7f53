"""Values of ``$((...))``: whole numbers, variables, the operators of C, and assignments.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.4 Arithmetic Expansion; powers, bases and elements of arrays as in bash.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

_TOKEN: Final = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+#[\w@]+|\d+|[A-Za-z_]\w*|\*\*(?!\*)|<<=|>>=|\|\||&&|[-+*/%&|^<>=!]=|\+\+|--|<<|>>|[-+*/%()<>!~&|^?:=,])"
)
_DEEPEST: Final = 30
_BITS: Final = 64


_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"


class ArithmeticFault(Exception):
    """An expression without a value."""


class Variables(Protocol):
    """The variables of an expression."""

    @property
    def bash(self) -> bool:
        """True if expressions are those of bash."""

    def look(self, name: str, subscript: str | None) -> str:
        """The value of a variable or of an element of an array, empty if it is not set. Raises ArithmeticFault."""

    def put(self, name: str, subscript: str | None, text: str) -> None:
        """Set a variable, or an element of an array. Raises ArithmeticFault."""

    def nested(self, text: str) -> int:
        """The value of a text that is an expression of its own. Raises ArithmeticFault."""


def _divided(left: int, right: int) -> int:
    """The quotient towards zero."""
    if right == 0:
        raise ArithmeticFault("divide by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _left(left: int, right: int) -> int:
    return left << (right % _BITS)


def _right(left: int, right: int) -> int:
    return left >> (right % _BITS)


def _power(left: int, right: int) -> int:
    if right < 0:
        raise ArithmeticFault("exponent less than 0")
    return pow(left, right, 1 << _BITS)


_BINARY: Final[Mapping[str, tuple[int, Callable[[int, int], int]]]] = {
    "||": (1, lambda left, right: int(bool(left or right))),
    "&&": (2, lambda left, right: int(bool(left and right))),
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, lambda left, right: int(left == right)),
    "!=": (6, lambda left, right: int(left != right)),
    "<": (7, lambda left, right: int(left < right)),
    ">": (7, lambda left, right: int(left > right)),
    "<=": (7, lambda left, right: int(left <= right)),
    ">=": (7, lambda left, right: int(left >= right)),
    "<<": (8, _left),
    ">>": (8, _right),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _divided),
    "**": (11, _power),
    "%": (10, lambda left, right: left - right * _divided(left, right)),
}
"""The operators with two sides: how tightly each binds, and its value."""


def value_of(text: str, variables: Variables) -> int:
    """The value of an expression of signed numbers with 64 bits. Raises ArithmeticFault.

    Examples
    --------
    >>> class Threes:
    ...     bash = False
    ...     def look(self, name, subscript):
    ...         return "3"
    >>> value_of("(i + 1) * 2", Threes())
    8
    """
    reader = _Reader(_tokens(text, bash=variables.bash), variables)
    found = reader.sequence()
    if reader.next:
        raise ArithmeticFault("arithmetic syntax error")
    return found


def _tokens(text: str, *, bash: bool) -> list[str]:
    found, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or (not bash and (match[1] == "**" or "#" in match[1])):
            raise ArithmeticFault("arithmetic syntax error")
        token, position = match[1], match.end()
        if bash and _is_name(token) and text.startswith("[", position):
            end = _closing(text, position)
            token, position = token + text[position:end], end
        found.append(token)
    return found or ["0"]


def _closing(text: str, opening: int) -> int:
    """The position behind the bracket that closes a subscript."""
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] == "[") - (text[position] == "]")
        if not depth:
            return position + 1
    raise ArithmeticFault("bad array subscript")


def _wrapped(value: int) -> int:
    """A number as one of 64 bits with a sign."""
    half = 1 << (_BITS - 1)
    return (value + half) % (1 << _BITS) - half


def _number(text: str) -> int:
    if "#" in text:
        return _of_base(*text.split("#", 1))
    base = 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" and len(text) > 1 else 10
    try:
        return int(text, base)
    except ValueError:
        raise ArithmeticFault("arithmetic syntax error") from None


def _of_base(base: str, digits: str) -> int:
    """The number that ``16#ff`` means. Raises ArithmeticFault."""
    number = int(base) if len(base) < 3 else 0
    if not 2 <= number <= len(_DIGITS):
        raise ArithmeticFault("invalid arithmetic base")
    value = 0
    for digit in digits.lower() if number <= 36 else digits:
        worth = _DIGITS.find(digit)
        if not 0 <= worth < number:
            raise ArithmeticFault("value too great for base")
        value = (value * number + worth) % (1 << _BITS)
    return value


class _Reader:
    def __init__(self, tokens: list[str], variables: Variables) -> None:
        self._tokens, self._variables = tokens, variables
        self._position, self._depth = 0, 0
        self._skipped = 0
        """The sides of ``&&``, ``||`` and ``?:`` around the present part that do not count."""

    @property
    def next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self) -> str:
        found = self.next
        self._position += 1
        return found

    def _expect(self, wanted: str) -> None:
        if self._take() != wanted:
            raise ArithmeticFault("arithmetic syntax error")

    def sequence(self) -> int:
        """The value of the last of some expressions with commas between them."""
        value = self.assignment()
        while self.next == ",":
            self._take()
            value = self.assignment()
        return value

    def assignment(self) -> int:
        """The value of an expression with assignments, which bind least."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ArithmeticFault("expression is nested too deep")
        following = self._tokens[self._position + 1] if self._position + 1 < len(self._tokens) else ""
        known = following not in _BINARY and following.endswith("=") and len(following) > 0
        if known and _is_name(self.next):
            name, how = self._take(), self._take().removesuffix("=")
            value = self.assignment()
            value = self._applied(how, self._of(name), value) if how else value
            self._set(name, value)
        else:
            value = self._choice()
        self._depth -= 1
        return value

    def _choice(self) -> int:
        condition = self._binary(1)
        if self.next != "?":
            return condition
        self._take()
        yes = self._counting(bool(condition), self.assignment)
        self._expect(":")
        no = self._counting(not condition, self._choice)
        return yes if condition else no

    def _counting(self, counts: bool, read: Callable[[], int]) -> int:
        """The value of a part whose assignments and faults count only where it is chosen."""
        self._skipped += not counts
        value = read()
        self._skipped -= not counts
        return value

    def _applied(self, sign: str, left: int, right: int) -> int:
        if self._skipped and sign in ("/", "%"):
            return 0
        return _wrapped(_BINARY[sign][1](left, right))

    def _set(self, name: str, value: int) -> None:
        if not self._skipped:
            self._variables.put(*_parted(name), str(value))

    def _binary(self, least: int) -> int:
        value = self._unary()
        while self.next in _BINARY and _BINARY[self.next][0] >= least:
            sign = self._take()
            counts = not (sign == "&&" and not value) and not (sign == "||" and value)
            right = self._counting(counts, partial(self._binary, _BINARY[sign][0] + (sign != "**")))
            value = self._applied(sign, value, right)
        return value

    def _unary(self) -> int:
        token = self._take()
        if token in ("++", "--") and _is_name(self.next):
            return self._changed(self._take(), 1 if token == "++" else -1)
        if token in ("-", "+", "!", "~"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise ArithmeticFault("expression is nested too deep")
            value = self._unary()
            self._depth -= 1
            return {"-": _wrapped(-value), "+": value, "!": int(not value), "~": ~value}[token]
        if token == "(":
            value = self.sequence()
            self._expect(")")
            return value
        if _is_name(token):
            if self.next in ("++", "--"):
                step = 1 if self._take() == "++" else -1
                return self._changed(token, step) - step
            return self._of(token)
        if token[:1].isdigit():
            return _wrapped(_number(token))
        raise ArithmeticFault("arithmetic syntax error")

    def _changed(self, name: str, step: int) -> int:
        value = _wrapped(self._of(name) + step)
        self._set(name, value)
        return value

    def _of(self, name: str) -> int:
        """The value of a variable that holds a number; 0 for one that is not set, and for one that does not count."""
        if self._skipped and self._variables.bash:
            return 0
        text = self._variables.look(*_parted(name)).strip() or "0"
        sign = -1 if text.startswith("-") else 1
        digits = text.lstrip("+-")
        if self._variables.bash and not digits.isdecimal():
            return self._variables.nested(text)
        if not digits[:1].isdigit():
            raise ArithmeticFault("arithmetic syntax error")
        return sign * _number(digits)


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def _parted(name: str) -> tuple[str, str | None]:
    """A name and its subscript."""
    head, bracket, rest = name.partition("[")
    return head, rest[:-1] if bracket else None
