"""``test``, ``[`` and ``expr``: conditions, and expressions of numbers and texts.

References
----------
POSIX.1-2017, ``test`` and ``expr``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.effects import ENDLESS, error, line, whole
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.marks import SETGID, SETUID, STICKY
from simkit.simulation.shell.patterns import regular_expression
from simkit.simulation.shell.variables import Numbers, all_texts, reference

_NUMBER: Final = re.compile(r"\s*[-+]?\d{1,18}\s*")
SET_OPTIONS: Final[Mapping[str, str]] = {
    "errexit": "e", "nounset": "u", "xtrace": "x", "noglob": "f", "allexport": "a", "pipefail": "pipefail",
    "verbose": "v", "monitor": "m", "noclobber": "C", "errtrace": "E", "functrace": "T", "nolog": "nolog",
    "noexec": "n", "posix": "posix", "braceexpand": "B", "hashall": "h", "ignoreeof": "ignoreeof",
}  # fmt: skip
"""The names of the options of ``set`` with their letters."""
COMPARED: Final[Mapping[str, tuple[int, ...]]] = {
    "-eq": (0,), "-ne": (-1, 1), "-lt": (-1,), "-le": (-1, 0), "-gt": (1,), "-ge": (0, 1),
}  # fmt: skip
"""The comparisons of numbers, with the signs of the differences for which they hold."""
_BINARY: Final = frozenset({"=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", *COMPARED})


class Wrong(Exception):
    """A condition that has no value."""


def _test(machine: Machine, words: list[str]) -> Run:
    given = words[1:]
    try:
        if words[0] == "[":
            if given[-1:] != ["]"]:
                raise Wrong("missing ]")
            given = given[:-1]
        return int(not _Condition(machine, given).value())
    except Wrong as problem:
        told = problem
    yield error(f"{machine.shell}: {words[0]}", str(told))
    return 2


class _Condition:
    """Words of a condition, read from the left; for up to four words their number decides what they mean."""

    def __init__(self, machine: Machine, given: list[str]) -> None:
        self._machine, self._given, self._position = machine, given, 0

    def value(self) -> bool:
        """True if it holds. Raises Wrong."""
        known = self._short(self._given)
        if known is not None:
            return known
        found = self._either()
        if self._position < len(self._given):
            raise Wrong(f"{self._given[self._position]}: unexpected operator")
        return found

    def _short(self, given: list[str]) -> bool | None:
        match given:
            case []:
                return False
            case [text]:
                return bool(text)
            case ["!", text]:
                return not text
            case [operator, text] if operator[:1] == "-":
                return of_one_side(self._machine, operator, text)
            case [left, operator, right] if operator in _BINARY:
                return of_two_sides(self._machine, left, operator, right)
            case ["!", *rest] if len(rest) in (2, 3):
                found = self._short(rest)
                return None if found is None else not found
            case ["(", text, ")"]:
                return bool(text)
        return None

    def _next(self) -> str:
        return self._given[self._position] if self._position < len(self._given) else ""

    def _either(self) -> bool:
        found = self._both()
        while self._next() == "-o":
            self._position += 1
            found = self._both() or found
        return found

    def _both(self) -> bool:
        found = self._single()
        while self._next() == "-a":
            self._position += 1
            found = self._single() and found
        return found

    def _single(self) -> bool:
        if self._position >= len(self._given):
            raise Wrong("argument expected")
        word = self._next()
        left = self._given[self._position : self._position + 3]
        self._position += 1
        if len(left) > 2 and left[1] in _BINARY:
            self._position += 2
            return of_two_sides(self._machine, *left)
        if word == "!":
            return not self._single()
        if word == "(":
            found = self._either()
            if self._next() != ")":
                raise Wrong("closing paren expected")
            self._position += 1
            return found
        if re.fullmatch("-[a-zA-Z]", word) and len(left) > 1 and word not in ("-a", "-o"):
            self._position += 1
            return of_one_side(self._machine, word, left[1])
        return bool(word)


def of_one_side(machine: Machine, operator: str, text: str) -> bool:
    """True if a condition with one side, such as ``-f FILE``, holds. Raises Wrong."""
    files, path = machine.files, machine.path(text)
    match operator:
        case "-z":
            return not text
        case "-n":
            return bool(text)
        case "-f":
            return files.is_file(path)
        case "-d":
            return files.is_folder(path)
        case "-e" | "-a":
            return files.exists(path)
        case "-r" | "-w" | "-x":
            return files.may(path, operator[1])
        case "-u" | "-g" | "-k":
            bit = {"-u": SETUID, "-g": SETGID, "-k": STICKY}[operator]
            return files.exists(path) and bool(files.mark(path).mode & bit)
        case "-O":
            return files.exists(path) and files.mark(path).uid == files.user.uid
        case "-G":
            return files.exists(path) and files.mark(path).gid == files.user.gid
        case "-L" | "-h":
            return files.target(path) is not None
        case "-s":
            return files.is_folder(path) or (files.is_file(path) and bool(files.base.read(path)))
        case "-c":
            return path in ("/dev/null", *ENDLESS)
        case "-t" | "-p" | "-S" | "-b":
            return False
        case "-v":
            return _is_set(machine, text)
        case "-o":
            return SET_OPTIONS.get(text, text) in machine.options
        case "-R":
            return "n" in machine.kinds.get(text, "")
    raise Wrong(f"{operator}: unexpected operator")


def _is_set(machine: Machine, text: str) -> bool:
    named = reference(text)
    if named is None:
        return False
    if named.subscript in ("@", "*"):
        return bool(all_texts(machine, named.name))
    try:
        return Numbers(machine).value(*named) is not None
    except ArithmeticFault as fault:
        raise Wrong(str(fault)) from fault


def of_two_sides(machine: Machine, left: str, operator: str, right: str) -> bool:
    """True if a condition with two sides holds. Raises Wrong."""
    match operator:
        case "=" | "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case ">":
            return left > right
        case "-ef":
            return machine.files.real(machine.path(left)) == machine.files.real(machine.path(right))
        case "-nt":
            return _time_of(machine, left) > _time_of(machine, right)
        case "-ot":
            return _time_of(machine, left) < _time_of(machine, right)
    if operator not in COMPARED:
        raise Wrong(f"{operator}: unexpected operator")
    for each in (left, right):
        if _NUMBER.fullmatch(each) is None:
            raise Wrong(f"Illegal number: {each}")
    return compared(int(left), operator, int(right))


def _time_of(machine: Machine, name: str) -> float:
    """The time of a file; that of none comes before all others."""
    path = machine.path(name)
    return machine.files.mark(path).time if machine.files.exists(path) else float("-inf")


def compared(left: int, operator: str, right: int) -> bool:
    """True if two numbers are to each other as ``-lt`` and the like say."""
    return (left > right) - (left < right) in COMPARED[operator]


def _expr(machine: Machine, words: list[str]) -> Run:
    try:
        reader = _Expression(words[1:])
        found = reader.value()
        if reader.left:
            raise Wrong("syntax error")
    except Wrong as problem:
        yield error("expr", str(problem))
        return 2
    yield line(found)
    return int(found in ("", "0"))


_LEVELS: Final = (("|",), ("&",), ("=", "==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"), (":",))


class _Expression:
    def __init__(self, given: list[str]) -> None:
        self.left, self._depth = deque(given), 0

    def value(self, level: int = 0) -> str:
        """The value of the operators of a level and those that bind more. Raises Wrong."""
        if level == len(_LEVELS):
            return self._single()
        found = self.value(level + 1)
        while self.left and self.left[0] in _LEVELS[level]:
            operator = self.left.popleft()
            found = _applied(found, operator, self.value(level + 1))
        return found

    def _single(self) -> str:
        if not self.left:
            raise Wrong("syntax error")
        word = self.left.popleft()
        if word == "length" and self.left:
            return str(len(self._single()))
        if word == "index" and len(self.left) >= 2:
            text, letters = self.left.popleft(), self.left.popleft()
            return str(min((text.find(each) + 1 for each in letters if each in text), default=0))
        if word == "match" and len(self.left) >= 2:
            return _matched(self.left.popleft(), self.left.popleft())
        if word == "substr" and len(self.left) >= 3:
            text, start, size = self.left.popleft(), whole(self.left.popleft()), whole(self.left.popleft())
            return text[start - 1 : start - 1 + size] if start > 0 and size > 0 else ""
        if word != "(":
            return word
        self._depth += 1
        if self._depth > 30:
            raise Wrong("nested too deep")
        found = self.value()
        if not self.left or self.left.popleft() != ")":
            raise Wrong("syntax error")
        self._depth -= 1
        return found


def _applied(left: str, operator: str, right: str) -> str:
    if operator == "|":
        return left if left not in ("", "0") else right
    if operator == "&":
        return left if left not in ("", "0") and right not in ("", "0") else "0"
    if operator == ":":
        return _matched(left, right)
    numbers = [int(each) for each in (left, right) if _NUMBER.fullmatch(each)]
    if operator in ("=", "==", "!=", "<", "<=", ">", ">="):
        first, second = numbers if len(numbers) == 2 else (left, right)
        sign = (first > second) - (first < second)  # type: ignore[operator]
        wanted = {"=": (0,), "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[operator]
        return str(int(sign in wanted))
    if len(numbers) != 2:
        raise Wrong("non-numeric argument")
    if operator in ("/", "%") and numbers[1] == 0:
        raise Wrong("division by zero")
    quotient = abs(numbers[0]) // abs(numbers[1] or 1) * (1 if (numbers[0] < 0) == (numbers[1] < 0) else -1)
    results = {
        "+": numbers[0] + numbers[1], "-": numbers[0] - numbers[1], "*": numbers[0] * numbers[1],
        "/": quotient, "%": numbers[0] - quotient * numbers[1],
    }  # fmt: skip
    return str(results[operator])


def _matched(text: str, wanted: str) -> str:
    """The group of a pattern at the beginning of a text, or without one the number of letters."""
    try:
        matcher = pattern(f"^(?:{regular_expression(wanted.removeprefix('^'), extended=False)})")
    except PatternError:
        raise Wrong("invalid regular expression") from None
    found = matcher.search(text)
    if matcher.groups:
        return (found[1] or "") if found else ""
    return str(found.end() if found else 0)


CONDITION_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "test": _test,
    "[": _test,
    "expr": _expr,
}
"""The commands of this module, by name."""
