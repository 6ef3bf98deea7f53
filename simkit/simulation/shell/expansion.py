"""Words become texts: variables, substitutions, arithmetic, splitting and file names.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from simkit.simulation.shell.arithmetic import DividedByZero, value_of
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import Effect
from simkit.simulation.shell.machine import BLANKS, Failed, Fatal, Machine
from simkit.simulation.shell.patterns import escaped, is_magic, paths, unescaped, without
from simkit.simulation.shell.script import Arithmetic, Node, Parameter, Piece, Substitution, Text, Unsupported, Word
from simkit.simulation.shell.words import assignment_of

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
    """A value outside of quotes, which separators split."""
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
        """The fields that words become: split, and with file names for patterns. Raises Fatal, or Failed.

        ``declares`` says that words may be assignments, as those of ``export``: some shells do not split these.
        """
        found: list[str] = []
        for word in words:
            patterns = _split((yield from self._parts(word)), self._machine.variables.get("IFS", BLANKS))
            declared = assignment_of(word) if declares and found else None
            if declared is not None and (len(patterns) != 1 or is_magic(patterns[0])):
                raise Unsupported(f"{found[0]} {declared[0]}= with a value that some shells split")
            for pattern in patterns:
                found += self._file_names(pattern)
        return found

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

    def _file_names(self, pattern: str) -> Sequence[str]:
        self._letters += len(pattern)
        if self._letters > _LONGEST:
            raise Failed("Argument list too long", 126)
        if not is_magic(pattern):
            return (unescaped(pattern),)
        if "\\\\" in pattern:
            raise Unsupported("a backslash in a pattern of file names")
        try:
            return paths(self._machine.files, self._machine.folder, pattern) or (unescaped(pattern),)
        except FileError as problem:
            raise Failed(str(problem), 126) from problem

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
        if isinstance(piece, Arithmetic):
            return [_Part((yield from self._number(piece.expression)), kind)]
        if piece.name in ("@", "*") and piece.operator != "length":
            return self._arguments(piece, kind)
        return (yield from self._parameter(piece, kind))

    def _number(self, word: Word) -> Generator[Effect, bytes, str]:
        expression = yield from self.text(word)
        try:
            return str(value_of(expression, lambda name: self._value(name) or ""))
        except DividedByZero:
            raise Fatal("arithmetic expression: division by zero") from None

    def _arguments(self, piece: Parameter, kind: _Kind) -> list[_Part]:
        if piece.operator:
            raise Unsupported(f"${{{piece.name}{piece.operator}...}}")
        values = self._machine.arguments
        between = self._machine.variables.get("IFS", " ")[:1] if piece.name == "*" else " "
        if piece.name == "*" and piece.quoted:
            return [_Part(between.join(values), kind)]
        parts = [each for value in values for each in (_Part(between, _Kind.BREAK), _Part(value, kind))]
        return parts[1:]

    def _parameter(self, piece: Parameter, kind: _Kind) -> _Parts:
        name, operator = piece.name, piece.operator
        if operator == "length":
            return [_Part(self._length(name), kind)]
        if operator[-1:] in ("-", "+", "=", "?"):
            value = self._looked_up(name)
            is_set = bool(value) if operator[0] == ":" else value is not None
            if is_set == (operator[-1] == "+"):
                return (yield from self._alternative(piece, kind))
            return [_Part("" if operator[-1] == "+" else value or "", kind)]
        found = self._value(name)
        return [_Part(without(found, (yield from self.pattern(piece.word)), operator) if operator else found, kind)]

    def _length(self, name: str) -> str:
        if name in ("@", "*"):
            return str(len(self._machine.arguments))
        value = self._value(name)
        if not value.isascii():
            raise Unsupported(f"${{#{name}}} of letters outside of ASCII")
        return str(len(value))

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


def _split(parts: Sequence[_Part], separators: str) -> list[str]:
    """The fields of a word, as patterns. Raises Unsupported for separators of both kinds, blanks and others."""
    blank = set(separators) <= set(BLANKS)
    separator = re.compile(f"[{re.escape(separators)}]") if separators else None
    done, present = list[str](), list[str]()
    for part in parts:
        if part.kind is not _Kind.SPLIT:
            if part.kind is not _Kind.BREAK:
                present.append(escaped(part.text) if part.kind is _Kind.QUOTED else part.text)
            elif present:
                done.append("".join(present))
                present = []
            continue
        if not blank and set(separators) & set(BLANKS) and separator is not None and separator.search(part.text):
            raise Unsupported("IFS with blanks and other letters")
        for number, run in enumerate(separator.split(part.text) if separator is not None else [part.text]):
            if number and (present or not blank):
                done.append("".join(present))
                present = []
            if run:
                present.append(run.replace("\\", "\\\\"))
    return [*done, *(["".join(present)] if present else [])]
