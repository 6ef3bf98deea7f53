"""``$((...))``: integers of 64 bits, with variables.

``++``, ``--``, ``**``, commas and numbers such as ``2#101`` are refused, since only some shells know them.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.script import Unsupported

_TOKEN: Final = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(<<=|>>=|\+\+|--|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|"
    r"[-+*/%<>=!~&|^?:(),#]))"
)
_LEVELS: Final[Mapping[str, int]] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_DEEPEST: Final = 60
_BITS: Final = 64


class BadExpression(Exception):
    """An expression that has no value."""


def _wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << _BITS) - (1 << 63)


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise BadExpression("division by zero")
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_OPERATIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "|": int.__or__, "^": int.__xor__, "&": int.__and__, "+": int.__add__, "-": int.__sub__, "*": int.__mul__,
    "/": _divided, "%": lambda left, right: left - _divided(left, right) * right,
    "<<": lambda left, right: left << (right & 63), ">>": lambda left, right: left >> (right & 63),
    "==": lambda left, right: left == right, "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right, ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right, ">=": lambda left, right: left >= right,
}  # fmt: skip


def value_of(text: str, read: Callable[[str], str], write: Callable[[str, str], None]) -> int:
    """The value of an expression. Raises BadExpression, or Unsupported.

    Parameters
    ----------
    read, write
        Read and set a variable.

    Examples
    --------
    >>> value_of("1 + 2 * (x - 1)", {"x": "4"}.__getitem__, print), value_of("x = 3", str, print)
    x 3
    (7, 3)
    """
    return _Expression(text, read, write).value()


class _Expression:
    def __init__(self, text: str, read: Callable[[str], str], write: Callable[[str, str], None]) -> None:
        self._read, self._write, self._tokens, self._at = read, write, _tokens(text), 0
        self._depth = 0

    def value(self) -> int:
        if not self._tokens:
            return 0
        found = self._assignment(True)
        if self._peek():
            raise BadExpression(f'expecting EOF: "{self._peek()}"')
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _assignment(self, counts: bool) -> int:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadExpression("nested too deep")
        name, operator = self._peek(), self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""
        if _is_name(name) and operator.endswith("=") and operator not in ("==", "<=", ">=", "!="):
            self._at += 2
            found = self._assignment(counts)
            if len(operator) > 1 and counts:
                found = _wrapped(_OPERATIONS[operator[:-1]](self._variable(name), found))
            if counts:
                self._write(name, str(found))
        else:
            found = self._choice(counts)
        self._depth -= 1
        return found

    def _choice(self, counts: bool) -> int:
        condition = self._binary(1, counts)
        if self._peek() != "?":
            return condition
        self._take()
        first = self._assignment(counts and condition != 0)
        if self._take() != ":":
            raise BadExpression('expecting ":"')
        second = self._assignment(counts and condition == 0)
        return first if condition else second

    def _binary(self, level: int, counts: bool) -> int:
        left = self._unary(counts)
        while (found := _LEVELS.get(self._peek(), 0)) >= level:
            operator = self._take()
            if operator == "&&":
                left = int(bool(self._binary(found + 1, counts and left != 0)) and left != 0)
            elif operator == "||":
                left = int(bool(self._binary(found + 1, counts and left == 0)) or left != 0)
            else:
                right = self._binary(found + 1, counts)
                left = _wrapped(_OPERATIONS[operator](left, right)) if counts else 0
        return left

    def _unary(self, counts: bool) -> int:
        token = self._take()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadExpression("nested too deep")
        if token in ("-", "+", "!", "~"):
            inner = self._unary(counts)
            found = {"-": -inner, "+": inner, "!": int(inner == 0), "~": ~inner}[token]
        elif token == "(":
            found = self._assignment(counts)
            if self._take() != ")":
                raise BadExpression('expecting ")"')
        elif _is_name(token):
            found = self._variable(token)
        elif token[:1].isdigit():
            found = _constant(token)
        else:
            raise BadExpression(f'expecting primary: "{token}"')
        self._depth -= 1
        return _wrapped(found)

    def _variable(self, name: str) -> int:
        text = self._read(name).strip()
        sign = -1 if text[:1] == "-" else 1
        digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
        if digits and re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", digits) is None:
            raise Unsupported(f"$(( )) with the variable {name}, which is no number")
        return _wrapped(sign * _constant(digits)) if digits else 0


def _is_name(token: str) -> bool:
    return bool(token) and (token[0].isalpha() or token[0] == "_")


def _constant(digits: str) -> int:
    if len(digits) > 20:
        raise BadExpression(f"number is too long: {digits[:20]}")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    if octal and not set(digits) <= set("01234567"):
        raise BadExpression(f"bad number: {digits}")
    return int(digits, 8 if octal else 0)


def _tokens(text: str) -> list[str]:
    found, position = list[str](), 0
    text = text.rstrip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise BadExpression(f'unexpected "{text[position : position + 12]}"')
        if token[3] in ("++", "--", "**", ",", "#"):
            raise Unsupported(f"$((... {token[3]} ...))")
        found.append(token[1] or token[2] or token[3])
        position = token.end()
    return found
