"""``$((...))``: sums, products and comparisons of whole numbers and variables. Everything else is refused.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from simkit.simulation.shell.script import Unsupported

_TOKEN: Final = re.compile(r"\s*([0-9]+|[A-Za-z_]\w*|<=|>=|==|!=|[-+*/%<>!()])", re.ASCII)
_NUMBER: Final = re.compile(r"\s*(?:([-+]?(?:0|[1-9][0-9]{0,18}))\s*)?")
_DEEPEST: Final = 60
_LIMIT: Final = 1 << 63


class DividedByZero(Exception):
    """A division by zero, which ends a shell."""


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise DividedByZero
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_LEVELS: Final[tuple[Mapping[str, Callable[[int, int], int]], ...]] = (
    {"==": int.__eq__, "!=": int.__ne__},
    {"<": int.__lt__, ">": int.__gt__, "<=": int.__le__, ">=": int.__ge__},
    {"+": int.__add__, "-": int.__sub__},
    {"*": int.__mul__, "/": _divided, "%": lambda left, right: left - _divided(left, right) * right},
)
"""The operators of two numbers, from those that bind least."""


def value_of(text: str, read: Callable[[str], str]) -> int:
    """The value of an expression. Raises Unsupported, or DividedByZero.

    Parameters
    ----------
    read
        Gives the value of a variable.

    Examples
    --------
    >>> value_of("1 + 2 * (x - 1)", {"x": "4"}.__getitem__)
    7
    """
    expression = _Expression(text, read)
    return expression.value() if text.strip() else 0


class _Expression:
    def __init__(self, text: str, read: Callable[[str], str]) -> None:
        self._text, self._read, self._at, self._depth = text.rstrip(), read, 0, 0
        self._token = ""
        if "++" in text or "--" in text:
            raise self._refused()
        self._take()

    def value(self) -> int:
        found = self._binary(0)
        if self._token:
            raise self._refused()
        return found

    def _refused(self) -> Unsupported:
        return Unsupported(f"$(({self._text[:40]}))")

    def _take(self) -> str:
        """The present token; the next one is read."""
        taken, found = self._token, _TOKEN.match(self._text, self._at)
        if found is None and self._at < len(self._text):
            raise self._refused()
        self._token = found[1] if found is not None else ""
        self._at = found.end() if found is not None else self._at
        return taken

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._token in _LEVELS[level]:
            operation = _LEVELS[level][self._take()]
            left = self._checked(int(operation(left, self._binary(level + 1))))
        return left

    def _unary(self) -> int:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError
        token = self._take()
        if token in ("-", "+", "!"):
            inner = self._unary()
            found = {"-": -inner, "+": inner, "!": int(inner == 0)}[token]
        elif token == "(":
            found = self._binary(0)
            if self._take() != ")":
                raise self._refused()
        else:
            given = self._read(token) if token[:1].isalpha() or token[:1] == "_" else token
            number = _NUMBER.fullmatch(given) if token else None
            if number is None:  # no number, or one in another base
                raise self._refused()
            found = int(number[1] or 0)
        self._depth -= 1
        return self._checked(found)

    def _checked(self, number: int) -> int:
        if not -_LIMIT <= number < _LIMIT:
            raise self._refused()
        return number
