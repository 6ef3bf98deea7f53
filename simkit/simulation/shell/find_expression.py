"""The expression of ``find``: conditions, what joins them, and actions.

References
----------
POSIX.1-2017, ``find``; conditions and actions of busybox 1.36 and of GNU findutils 4.9.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

VALUED: Final = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-type", "-perm", "-mtime", "-mmin", "-newer", "-newermt"}
    | {"-user", "-group", "-uid", "-gid", "-size", "-regex", "-iregex", "-lname", "-amin", "-atime", "-cmin", "-ctime"}
)
SIMPLE: Final = frozenset({"-empty", "-readable", "-writable", "-executable", "-true", "-false"})
_IGNORED: Final = frozenset({"-follow", "-xdev", "-mount", "-noleaf", "-daystart"})
_IGNORED_WITH_VALUE: Final = frozenset({"-regextype"})
_DEPTHS: Final = ("-maxdepth", "-mindepth")
_PLAIN_ACTIONS: Final = frozenset({"-print", "-print0", "-delete", "-prune", "-quit", "-ls"})
_RUNNING: Final = frozenset({"-exec", "-execdir", "-ok"})
_DEEPEST: Final = 50


class UnknownCondition(Exception):
    """A condition that is not known."""


@dataclass(slots=True)
class Test:
    """A condition or an action, with its value."""

    __test__ = False
    kind: str
    value: str = ""
    command: list[str] = field(default_factory=list)
    together: bool = False
    """True if a command gets all paths at once."""
    paths: list[str] = field(default_factory=list)
    """The paths that such a command gets."""


@dataclass(slots=True)
class Not:
    """The opposite of an expression."""

    part: Expression


@dataclass(slots=True)
class Joined:
    """Expressions of which all have to hold, or any."""

    parts: list[Expression]
    every: bool


Expression = Test | Not | Joined


class Query:
    """The words behind the paths of ``find``. Raises UnknownCondition.

    Attributes
    ----------
    expression
        What is to hold, with its actions.
    least, most
        The depths between which paths are looked at.
    depth_first
        True if a folder comes behind what is in it.
    """

    def __init__(self, words: list[str]) -> None:
        self.least, self.most = 0, 1 << 30
        self.depth_first, self.acts = False, False
        self._left, self._depth = deque(words), 0
        self.expression: Expression = self._any() if words else Joined([], every=True)
        if self._left:
            raise UnknownCondition(f"unrecognized: {self._left[0]}")
        if not self.acts:
            self.expression = Joined([self.expression, Test("-print")], every=True)

    def _any(self) -> Expression:
        parts = [self._all()]
        while self._left and self._left[0] in ("-o", "-or"):
            self._left.popleft()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Joined(parts, every=False)

    def _all(self) -> Expression:
        parts: list[Expression] = []
        while self._left and self._left[0] not in ("-o", "-or", ")"):
            if self._left[0] in ("-a", "-and"):
                self._left.popleft()
            parts += self._one()
        return Joined(parts, every=True)

    def _one(self) -> list[Expression]:
        word = self._left.popleft() if self._left else ""
        if word in ("!", "-not"):
            return [Not(Joined(self._one(), every=True))]
        if word == "(":
            self._depth += 1
            if self._depth > _DEEPEST:
                raise UnknownCondition("nested too deep")
            inner = self._any()
            if not self._left or self._left.popleft() != ")":
                raise UnknownCondition("missing )")
            self._depth -= 1
            return [inner]
        if word in VALUED or word in _DEPTHS or word in _IGNORED_WITH_VALUE or word == "-printf":
            if not self._left:
                raise UnknownCondition(f"{word} requires an argument")
            return self._valued(word, self._left.popleft())
        return self._without_value(word)

    def _valued(self, word: str, value: str) -> list[Expression]:
        if word in _DEPTHS:
            number = int(value) if value.isdecimal() and len(value) < 10 else -1
            if number < 0:
                raise UnknownCondition(f"invalid number '{value}'")
            self.most, self.least = (number, self.least) if word == "-maxdepth" else (self.most, number)
            return []
        if word in _IGNORED_WITH_VALUE:
            return []
        self.acts = self.acts or word == "-printf"
        return [Test(word, value)]

    def _without_value(self, word: str) -> list[Expression]:
        if word in _IGNORED:
            return []
        if word == "-depth":
            self.depth_first = True
            return []
        if word in SIMPLE:
            return [Test(word)]
        if word in _PLAIN_ACTIONS:
            self.acts = self.acts or word != "-prune"
            self.depth_first = self.depth_first or word == "-delete"
            return [Test(word)]
        if word in _RUNNING and any(each in (";", "+") for each in self._left):
            self.acts, made = True, Test(word)
            while self._left[0] not in (";", "+") or (self._left[0] == "+" and made.command[-1:] != ["{}"]):
                made.command.append(self._left.popleft())
                if not self._left:
                    raise UnknownCondition(f"{word} requires an argument")
            made.together = self._left.popleft() == "+"
            return [made]
        raise UnknownCondition(f"unrecognized: {word}")
