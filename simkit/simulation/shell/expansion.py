"""Words become texts: variables, substitutions, arithmetic, splitting and file names.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

from simkit.simulation.shell.arithmetic import BadExpression, value_of
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import Effect
from simkit.simulation.shell.machine import Failed, Fatal, Machine
from simkit.simulation.shell.patterns import escaped, is_magic, paths, unescaped, without
from simkit.simulation.shell.script import Arithmetic, Node, Parameter, Piece, Substitution, Text, Unsupported, Word
from simkit.simulation.shell.words import assignment_of

_LONGEST: Final = 4 << 20
"""Letters of the words of a command."""
_USUAL_SEPARATORS: Final = " \t\n"
OutputOf = Callable[[Machine, Node], Generator[Effect, bytes, str]]
"""Runs commands and gives back what they write."""


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
            if len(word) == 1 and isinstance(word[0], Text) and word[0].quoted:
                found.append(word[0].text)
                continue
            fields = _Fields(self._machine.variables.get("IFS", _USUAL_SEPARATORS))
            for piece in word:
                yield from self._add(piece, fields)
            declared = assignment_of(word) if declares and found else None
            if declared is not None and (len(fields.all()) != 1 or is_magic(fields.all()[0])):
                raise Unsupported(f"{found[0]} {declared[0]}= with a value that some shells split")
            for field in fields.all():
                found += self._file_names(field, has_backslash=fields.has_backslash)
        return found

    def text(self, word: Word) -> Generator[Effect, bytes, str]:
        """The one text that a word becomes, without splitting and file names."""
        return unescaped((yield from self.pattern(word, literal=True)))

    def pattern(self, word: Word, *, literal: bool = False) -> Generator[Effect, bytes, str]:
        """The pattern that a word becomes; with ``literal``, ``*`` and the like of variables mean themselves."""
        made = list[str]()
        for piece in word:
            if isinstance(piece, Text):
                made.append(escaped(piece.text) if piece.quoted or literal else _kept_escapes(piece.text))
                continue
            value = yield from self._value(piece)
            text = value if isinstance(value, str) else self._joined(value, piece)
            made.append(escaped(text) if literal or piece.quoted else text)
        return "".join(made)

    def _joined(self, values: Sequence[str], piece: Piece) -> str:
        separator = self._machine.variables.get("IFS", " ")[:1] if _is_star(piece) else " "
        return separator.join(values)

    def _file_names(self, pattern: str, *, has_backslash: bool) -> Sequence[str]:
        self._letters += len(pattern)
        is_pattern = "f" not in self._machine.options and is_magic(pattern)
        if is_pattern and has_backslash:
            raise Unsupported("a backslash of a variable in a pattern of file names")
        if self._letters > _LONGEST:
            raise Failed("Argument list too long", 126)
        if not is_pattern:
            return (unescaped(pattern),)
        try:
            return paths(self._machine.files, self._machine.folder, pattern) or (unescaped(pattern),)
        except FileError as problem:
            raise Failed(str(problem), 126) from problem

    def _add(self, piece: Piece, fields: _Fields) -> Generator[Effect, bytes, None]:
        if isinstance(piece, Text):
            fields.add(escaped(piece.text) if piece.quoted else piece.text)
        elif isinstance(piece, Parameter) and piece.operator and piece.operator[-1] in "-+=" and not piece.quoted:
            yield from self._add_alternative(piece, fields)
        else:
            value = yield from self._value(piece)
            if isinstance(value, str):
                self._add_value(value, fields, quoted=piece.quoted)
            elif _is_star(piece) and piece.quoted:
                fields.add(escaped(self._joined(value, piece)))
            else:
                for number, each in enumerate(value):
                    if number:
                        fields.end()
                    self._add_value(each, fields, quoted=piece.quoted)

    def _add_value(self, value: str, fields: _Fields, *, quoted: bool) -> None:
        if quoted:
            fields.add(escaped(value))
        else:
            fields.split(value)

    def _add_alternative(self, piece: Parameter, fields: _Fields) -> Generator[Effect, bytes, None]:
        """``${NAME:-WORD}`` and the like outside of quotes: what is quoted in the word stays whole."""
        value, is_set = self._looked_up(piece.name), self._is_set(piece)
        if is_set == (piece.operator[-1] == "+"):
            if piece.operator[-1] == "=":
                text = yield from self.text(piece.word)
                self._assign(piece.name, text)
                fields.split(text)
                return
            for inner in piece.word:
                if isinstance(inner, Text) and not inner.quoted:
                    fields.split(inner.text)
                else:
                    yield from self._add(inner, fields)
        elif piece.operator[-1] != "+":
            for number, each in enumerate([value] if isinstance(value, str) else value or ()):
                if number:
                    fields.end()
                fields.split(each)

    def _value(self, piece: Piece) -> Generator[Effect, bytes, str | Sequence[str]]:
        if isinstance(piece, Text):
            return piece.text
        if isinstance(piece, Substitution):
            return (yield from self._output_of(self._machine, piece.body))
        if isinstance(piece, Arithmetic):
            return (yield from self._number(piece.expression))
        return (yield from self._parameter(piece))

    def _number(self, word: Word) -> Generator[Effect, bytes, str]:
        expression = yield from self.text(word)
        try:
            return str(value_of(expression, self._read_number, self._assign))
        except BadExpression as problem:
            raise Fatal(f"arithmetic expression: {problem}") from problem

    def _read_number(self, name: str) -> str:
        found = self._looked_up(name)
        if found is None and "u" in self._machine.options:
            raise Fatal(f"{name}: parameter not set")
        return found if isinstance(found, str) else ""

    def _assign(self, name: str, value: str) -> None:
        if not name[:1].isalpha() and name[:1] != "_":
            raise Fatal(f"{name}: bad variable name")
        self._machine.assign(name, value)

    def _is_set(self, piece: Parameter) -> bool:
        value = self._looked_up(piece.name)
        if piece.name in ("@", "*") and piece.operator.startswith(":"):
            raise Unsupported(f"${{{piece.name}{piece.operator}...}}")
        if piece.operator.startswith(":"):
            return bool(value)
        return bool(value) if piece.name in ("@", "*") else value is not None

    def _parameter(self, piece: Parameter) -> Generator[Effect, bytes, str | Sequence[str]]:
        operator, value = piece.operator, self._looked_up(piece.name)
        kind = operator[-1:]
        if kind and kind in "-+=?":
            is_set = self._is_set(piece)
            if is_set == (kind == "+"):
                text = yield from self.text(piece.word)
                if kind == "?":
                    raise Fatal(f"{piece.name}: {text or 'parameter not set'}")
                if kind == "=":
                    self._assign(piece.name, text)
                return text
            return "" if kind == "+" or value is None else value
        if value is None and "u" in self._machine.options and piece.name not in ("@", "*"):
            raise Fatal(f"{piece.name}: parameter not set")
        if operator == "length":
            if piece.name in ("@", "*"):
                return str(len(self._machine.arguments))
            if not str(value or "").isascii():
                raise Unsupported(f"${{#{piece.name}}} of letters outside of ASCII")
            return str(len(value or ""))
        if operator:
            if not isinstance(value, str | None):
                raise Unsupported(f"${{{piece.name}{operator}...}}")
            pattern = yield from self.pattern(piece.word)
            return without(value or "", pattern, operator)
        return "" if value is None else value

    def _looked_up(self, name: str) -> str | Sequence[str] | None:
        machine = self._machine
        if name in ("@", "*"):
            return tuple(machine.arguments)
        if name.isdigit():
            number = int(name)
            known = number <= len(machine.arguments)
            return machine.name if number == 0 else machine.arguments[number - 1] if known else None
        if name == "?":
            return str(machine.code)
        if name == "#":
            return str(len(machine.arguments))
        if name == "$":
            return str(machine.pid)
        if name == "!":
            return str(machine.last_job) if machine.last_job else None
        if name == "-":
            return "".join(sorted(each for each in machine.options if len(each) == 1))
        if (name in _OF_OTHERS or name.startswith("BASH")) and name not in machine.variables:
            raise Unsupported(f"${name}")
        return machine.variables.get(name)


_OF_OTHERS: Final = frozenset(
    {"RANDOM", "SECONDS", "LINENO", "FUNCNAME", "PIPESTATUS", "UID", "EUID", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM",
     "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "SHELLOPTS", "DIRSTACK", "GROUPS", "SHLVL", "PPID", "REPLY",
     "COLUMNS", "LINES", "OPTIND", "PS4", "_"}
)  # fmt: skip
"""Variables that only some shells set."""


def _is_star(piece: Piece) -> bool:
    return isinstance(piece, Parameter) and piece.name == "*"


def _kept_escapes(text: str) -> str:
    return text.replace("\\", "\\\\")


class _Fields:
    """The fields of a word that is expanded, as patterns."""

    def __init__(self, separators: str) -> None:
        self._blanks = {letter for letter in separators if letter in _USUAL_SEPARATORS}
        self._others = set(separators) - self._blanks
        self._done: list[str] = []
        self._open: list[str] | None = None
        """The parts of the field that has begun."""
        self.has_backslash = False
        """True if a value that was split has a backslash, which shells read differently in patterns."""
        self._after_blank = False
        """True if a blank has ended the last field, so that another separator belongs to the same end."""

    def add(self, pattern: str) -> None:
        """Add to the present field."""
        self._after_blank = False
        if self._open is None:
            self._open = []
        self._open.append(pattern)

    def end(self) -> None:
        """End the present field, where one has begun."""
        if self._open is not None:
            self._done.append("".join(self._open))
            self._open = None

    def split(self, text: str) -> None:
        """Add a text that separators split."""
        run = list[str]()
        self.has_backslash = self.has_backslash or "\\" in text
        for letter in text:
            if letter not in self._blanks and letter not in self._others:
                run.append("\\\\" if letter == "\\" else letter)
                continue
            if run:
                self.add("".join(run))
                run = []
            if letter in self._blanks:
                self._after_blank = self._after_blank or self._open is not None
                self.end()
            elif self._after_blank:
                self._after_blank = False
            else:
                self.add("")
                self.end()
        if run:
            self.add("".join(run))

    def all(self) -> list[str]:
        """All fields."""
        self.end()
        return self._done
