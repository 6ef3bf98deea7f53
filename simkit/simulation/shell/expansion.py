"""Words become texts: variables, substitutions and splitting.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from simkit.simulation.shell.kernel import Effect
from simkit.simulation.shell.machine import Failed, Fatal, Machine
from simkit.simulation.shell.patterns import escaped, is_magic, unescaped
from simkit.simulation.shell.script import Node, Parameter, Piece, Substitution, Text, Unsupported, Word
from simkit.simulation.shell.words import assignment_of

_BLANKS: Final = re.compile("[ \t\n]")
_LONGEST: Final = 4 << 20
"""Letters of the words of a command."""
_OF_OTHERS: Final = re.compile(
    "BASH.*|RANDOM|SECONDS|LINENO|FUNCNAME|PIPESTATUS|E?UID|EPOCH.*|SRANDOM|HOSTNAME|HOSTTYPE|OSTYPE|MACHTYPE|SHELLOPTS|"
    "DIRSTACK|GROUPS|SHLVL|PPID|REPLY|COLUMNS|LINES|OPTIND|PS[124]|_"
)
"""Variables that only some shells set."""
OutputOf = Callable[[Machine, Node], Generator[Effect, bytes, str]]
"""Runs commands and gives back what they write."""


class _Kind(Enum):
    """The origin of a part of a word."""

    QUOTED = auto()
    PLAIN = auto()
    SPLIT = auto()
    """A value outside of quotes, which blanks split."""
    BREAK = auto()
    """The end of one of several values. Where there are no fields, its text stands between them."""


class _Part(NamedTuple):
    text: str
    kind: _Kind


_Parts = Generator[Effect, bytes, list[_Part]]


class Expander:
    """Expands the words of one command.

    Parameters
    ----------
    output_of
        Runs the commands of a substitution.
    """

    def __init__(self, machine: Machine, output_of: OutputOf) -> None:
        self._machine, self._output_of, self._letters = machine, output_of, 0

    def fields(self, words: Sequence[Word], *, declares: bool = False) -> Generator[Effect, bytes, list[str]]:
        """The fields that words become. Raises Unsupported for patterns of file names, Fatal, or Failed.

        ``declares`` says that words may be assignments, as those of ``export``: some shells do not split these.
        """
        found: list[str] = []
        for word in words:
            patterns = _split((yield from self._parts(word)))
            declared = assignment_of(word) if declares and found else None
            if declared is not None and len(patterns) != 1:
                raise Unsupported(f"{found[0]} {declared[0]}= with a value that some shells split")
            found += map(self._field, patterns)
        return found

    def _field(self, pattern: str) -> str:
        self._letters += len(pattern)
        if self._letters > _LONGEST:
            raise Failed("Argument list too long", 126)
        if is_magic(pattern):
            raise Unsupported(f"the file name pattern {unescaped(pattern)}")
        return unescaped(pattern)

    def text(self, word: Word) -> Generator[Effect, bytes, str]:
        """The one text that a word becomes, without splitting and file names."""
        return "".join([part.text for part in (yield from self._parts(word))])

    def pattern(self, word: Word) -> Generator[Effect, bytes, str]:
        """The pattern that a word becomes."""
        made = list[str]()
        for part in (yield from self._parts(word)):
            if part.kind is _Kind.SPLIT and "\\" in part.text:
                raise Unsupported("a backslash of a variable in a pattern")
            made.append(escaped(part.text) if part.kind is _Kind.QUOTED else part.text)
        return "".join(made)

    def _parts(self, word: Word) -> _Parts:
        found = list[_Part]()
        for piece in word:
            found += yield from self._piece(piece)
        return found

    def _piece(self, piece: Piece) -> _Parts:
        kind = _Kind.QUOTED if piece.quoted else _Kind.SPLIT
        if isinstance(piece, Text):
            return [_Part(piece.text, kind if piece.quoted else _Kind.PLAIN)]
        if isinstance(piece, Substitution):
            return [_Part((yield from self._output_of(self._machine, piece.body)), kind)]
        if piece.name in ("@", "*"):
            return self._arguments(piece, kind)
        return (yield from self._parameter(piece, kind))

    def _arguments(self, piece: Parameter, kind: _Kind) -> list[_Part]:
        if piece.operator:
            raise Unsupported(f"${{{piece.name}{piece.operator}...}}")
        values = self._machine.arguments
        if piece.name == "*" and piece.quoted:
            return [_Part(" ".join(values), kind)]
        parts = [each for value in values for each in (_Part(" ", _Kind.BREAK), _Part(value, kind))]
        return parts[1:]

    def _parameter(self, piece: Parameter, kind: _Kind) -> _Parts:
        name, operator = piece.name, piece.operator
        if not operator:
            return [_Part(self._value(name), kind)]
        value = self._looked_up(name)
        is_set = bool(value) if operator[0] == ":" else value is not None
        if is_set == (operator[-1] == "+"):
            return (yield from self._alternative(piece, kind))
        return [_Part("" if operator[-1] == "+" else value or "", kind)]

    def _alternative(self, piece: Parameter, kind: _Kind) -> _Parts:
        """The word of ``${NAME:-WORD}`` and the like: what is quoted in it stays whole."""
        if piece.operator[-1] in "-+":
            parts = yield from self._parts(piece.word)
            parts = [part._replace(kind=_Kind.SPLIT) if part.kind is _Kind.PLAIN else part for part in parts]
            return parts or [_Part("", kind)]
        text = yield from self.text(piece.word)
        if piece.operator[-1] == "?":
            raise Fatal(f"{piece.name}: {text or 'parameter not set'}")
        if not piece.name[0].isalpha() and piece.name[0] != "_":
            raise Fatal(f"{piece.name}: bad variable name")
        self._machine.assign(piece.name, text)
        return [_Part(text, kind)]

    def _value(self, name: str) -> str:
        """The value of a parameter. Raises Fatal for one that is not set where that is an error."""
        found = self._looked_up(name)
        if found is None and "u" in self._machine.options:
            raise Fatal(f"{name}: parameter not set")
        return found or ""

    def _looked_up(self, name: str) -> str | None:
        machine = self._machine
        if name.isdigit():
            number = int(name)
            known = number <= len(machine.arguments)
            return machine.name if number == 0 else machine.arguments[number - 1] if known else None
        if name == "!":
            return str(machine.last_job) if machine.last_job else None
        if name in ("?", "#", "$"):
            return str({"?": machine.code, "#": len(machine.arguments), "$": machine.pid}[name])
        if name not in machine.variables and _OF_OTHERS.fullmatch(name):
            raise Unsupported(f"${name}")
        return machine.variables.get(name)


def _split(parts: Sequence[_Part]) -> list[str]:
    """The fields of a word, as patterns."""
    done, present = list[str](), list[str]()
    for part in parts:
        runs = (
            _BLANKS.split(part.text)
            if part.kind is _Kind.SPLIT
            else ["", ""]
            if part.kind is _Kind.BREAK
            else [part.text]
        )
        for number, run in enumerate(runs):
            if number and present:
                done.append("".join(present))
                present = []
            if run or part.kind is _Kind.QUOTED:
                present.append(_as_pattern(run, part.kind))
    return [*done, *(["".join(present)] if present else [])]


def _as_pattern(text: str, kind: _Kind) -> str:
    if kind is _Kind.SPLIT:
        return text.replace("\\", "\\\\")
    return escaped(text) if kind is _Kind.QUOTED else text
