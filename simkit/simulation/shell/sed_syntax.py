"""The grammar of sed: addresses and commands.

References
----------
POSIX.1-2017, sed; ``-E``, ``-i``, ``0,/a/``, ``~`` and one-line ``a``, ``i`` and ``c`` as in busybox and GNU sed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.patterns import regular_expression

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_PLAIN: Final = frozenset("dDgGhHlnNpPqQx=zF")
_TEXTS: Final = frozenset("aic")
_NAMED: Final = frozenset("btTrRwW")


class SedError(Exception):
    """A script that cannot be read, or a step of it that cannot be made."""


class Address(NamedTuple):
    """A line: by number, ``$`` for the last, by a pattern (None: the last one used), or each so many lines."""

    kind: str
    number: int = 0
    step: int = 0
    pattern: Any = None


@dataclass(slots=True)
class Command:
    """A command with its addresses."""

    name: str
    first: Address | None = None
    last: Address | None = None
    negated: bool = False
    text: str = ""
    """The text to write, a label, or the name of a file."""
    pattern: Any = None
    into: str = ""
    flags: str = ""
    count: int = 1
    """The first match that ``s`` replaces."""
    target: int = 0
    """The number of the command behind the block, or of that to which ``b`` and ``t`` lead."""


class Reader:
    """Reads a script.

    Parameters
    ----------
    extended
        Whether patterns are extended regular expressions.
    """

    def __init__(self, text: str, *, extended: bool) -> None:
        self._text, self._at, self._extended = text, 0, extended

    def commands(self) -> list[Command]:
        """The commands in order; blocks are flat, and tell where they end. Raises SedError."""
        found: list[Command] = []
        opened: list[int] = []
        labels: dict[str, int] = {}
        while self._skip(" \t\r\n;"):
            command = self._command()
            if command.name == "}":
                if not opened:
                    raise SedError("unexpected }")
                found[opened.pop()].target = len(found)
            elif command.name == ":":
                labels[command.text] = len(found)
            else:
                if command.name == "{":
                    opened.append(len(found))
                found.append(command)
        if opened:
            raise SedError("unmatched {")
        for command in found:
            if command.name in ("b", "t", "T"):
                if command.text and command.text not in labels:
                    raise SedError(f"can't find label for jump to '{command.text}'")
                command.target = labels.get(command.text, len(found))
        return found

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, letters: str) -> bool:
        while self._next and (self._next in letters or self._next == "#"):
            if self._next == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                self._at += 1
        return bool(self._next)

    def _spaces(self) -> None:
        while self._next and self._next in " \t":
            self._at += 1

    def _command(self) -> Command:
        first = self._address()
        last = None
        self._spaces()
        if first is not None and self._next == ",":
            self._at += 1
            self._spaces()
            last = self._address(relative=True)
            if last is None:
                raise SedError("unexpected ,")
        self._spaces()
        negated = False
        while self._next == "!":
            negated = True
            self._at += 1
            self._spaces()
        name = self._next
        self._at += 1
        command = Command(name, first, last, negated)
        self._arguments(command)
        return command

    def _arguments(self, command: Command) -> None:
        if command.name == "s":
            self._substitution(command)
        elif command.name == "y":
            wanted, into = (self._literal(each) for each in self._parts(2))
            if len(wanted) != len(into):
                raise SedError("strings for y are of different lengths")
            command.text, command.into = wanted, into
        elif command.name in _TEXTS:
            command.text = self._own_text()
        elif command.name in _NAMED or command.name == ":":
            self._spaces()
            ends = "\n" if command.name in "rRwW" else "\n;}" if command.name != ":" else "\n;"
            start = self._at
            while self._next and self._next not in ends:
                self._at += 1
            command.text = self._text[start : self._at].strip()
        elif command.name in ("q", "Q"):
            if command.last is not None:
                raise SedError("command only uses one address")
            self._spaces()
            command.count = self._number() or 0
            self._ended()
        elif command.name in _PLAIN:
            self._ended()
        elif command.name not in ("{", "}") or not command.name:
            raise SedError(f"unsupported command {command.name}" if command.name else "missing command")

    def _ended(self) -> None:
        self._spaces()
        if self._next not in ("", "\n", ";", "}", "#"):
            raise SedError("extra characters after command")

    def _number(self) -> int | None:
        found = re.compile(r"\d{1,9}").match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return int(found.group())

    def _address(self, *, relative: bool = False) -> Address | None:
        sign = self._next if relative and self._next and self._next in "+~" else ""
        self._at += len(sign)
        number = self._number()
        if number is not None:
            if sign:
                return Address("after" if sign == "+" else "multiple", number)
            if self._next == "~":
                self._at += 1
                return Address("each", number, self._number() or 0)
            return Address("line", number)
        if self._next == "$":
            self._at += 1
            return Address("last")
        if self._next == "/" or self._next == "\\":
            self._at += self._next == "\\"
            (text,) = self._parts(1)
            small = self._next == "I"
            self._at += small
            return Address("pattern", pattern=self._compiled(text, small=small))
        return None

    def _parts(self, count: int) -> list[str]:
        """Texts between delimiters, which mean themselves behind a backslash."""
        delimiter = self._next
        if not delimiter or delimiter in "\n\\":
            raise SedError("missing delimiter")
        self._at += 1
        found: list[str] = []
        for _ in range(count):
            made, inside = list[str](), False
            while self._next and (self._next != delimiter or inside):
                letter = self._next
                if letter == "\\":
                    following = self._text[self._at + 1 : self._at + 2]
                    literal = following == delimiter and delimiter not in "|+?(){}&"
                    made.append(following if literal else letter + following)
                    self._at += 2
                    continue
                if not found and count < 3 and letter in "[]":
                    inside = letter == "[" or (inside and made[-1] in ("[", "^") and made[-2:-1] in ([], ["["]))
                made.append(letter)
                self._at += 1
            if not self._next:
                raise SedError("unterminated command")
            self._at += 1
            found.append("".join(made))
        return found

    def _compiled(self, text: str, *, small: bool) -> Any:
        if not text:
            return None
        try:
            made = "(?s)" + regular_expression(text.replace("\\n", "\n"), extended=self._extended)
            return pattern(f"(?i){made}" if small else made)
        except PatternError:
            raise SedError(f"bad regex '{text}'") from None

    def _literal(self, text: str) -> str:
        return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text, flags=re.DOTALL)

    def _substitution(self, command: Command) -> None:
        wanted, command.into = self._parts(2)
        while self._next and self._next in "gpiIeM0123456789":
            number = self._number()
            if number is not None:
                command.count = max(1, number)
            else:
                command.flags += self._next
                self._at += 1
        if self._next == "w":
            self._at += 1
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            command.text, self._at = self._text[self._at : end].strip(), end
        self._ended()
        command.pattern = self._compiled(wanted, small=bool(set("iI") & set(command.flags)))

    def _own_text(self) -> str:
        """The text of ``a``, ``i`` or ``c``: the rest of the line, with those that a backslash adds."""
        self._spaces()
        if self._text.startswith("\\\n", self._at):
            self._at += 2
        elif self._next == "\\":
            self._at += 1
        made = list[str]()
        while self._next and self._next != "\n":
            if self._next == "\\":
                self._at += 1
                made.append(_ESCAPES.get(self._next, self._next) if self._next != "\n" else "\n")
            else:
                made.append(self._next)
            self._at += 1
        return "".join(made)
