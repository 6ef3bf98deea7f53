"""Words become texts: variables, substitutions, arithmetic, splitting into fields, and paths for patterns.

References
----------
POSIX.1-2017, Shell Command Language, 2.6; ``${NAME:2:3}`` and ``${NAME/a/b}`` as in busybox and bash.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault, value_of
from simkit.simulation.shell.machine import STDERR, Effect, Exit, Machine, Write, tick
from simkit.simulation.shell.patterns import LONGEST_WORD, TooLong, cut, escaped, is_magic, matching, replaced
from simkit.simulation.shell.tree import Arithmetic, Node, Parameter, Piece, Substitution, Text, Word
from simkit.simulation.shell.variables import value_of_variable

_BLANKS: Final = " \t\n"
Output = Callable[[Machine, Node], Generator[Effect, bytes, bytes]]
"""Runs commands; gives back what they write."""
Steps = Generator[Effect, bytes, None]


class _Fields:
    """The fields that a word becomes, each of parts that are quoted or not."""

    def __init__(self, separators: str) -> None:
        self.done: list[list[tuple[str, bool]]] = []
        self._current: list[tuple[str, bool]] | None = None
        self._separators = separators
        self._pending = False
        """True if blanks have ended a field, so that what follows begins another."""
        self._size = 0

    def add(self, text: str, *, quoted: bool) -> None:
        """Add text as it is."""
        self._size += len(text)
        if self._size > LONGEST_WORD:
            raise TooLong
        if not text and not quoted:
            return
        self._begin().append((text, quoted))

    def _begin(self) -> list[tuple[str, bool]]:
        if self._pending:
            self.end()
        if self._current is None:
            self._current = []
        return self._current

    def end(self) -> None:
        """End the present field, if there is one."""
        self._pending = False
        if self._current is not None:
            self.done.append(self._current)
            self._current = None

    def add_split(self, text: str) -> None:
        """Add the value of something without quotes, which separators split."""
        self._size += len(text)
        if self._size > LONGEST_WORD:
            raise TooLong
        start = 0
        for place, letter in enumerate(text):
            if letter not in self._separators:
                continue
            if place > start:
                self._begin().append((text[start:place], False))
            start = place + 1
            if letter in _BLANKS:
                self._pending = self._pending or self._current is not None
            else:
                self._begin_empty()
        if start < len(text):
            self._begin().append((text[start:], False))

    def _begin_empty(self) -> None:
        """End a field at a separator that is no blank; without one before it the field is empty."""
        self._pending = False
        if self._current is None:
            self._current = []
        self.end()


class Expander:
    """Expands words.

    Parameters
    ----------
    output
        Runs the commands whose output is meant.
    """

    def __init__(self, machine: Machine, output: Output) -> None:
        self._machine, self._output = machine, output

    def fields(self, word: Word) -> Generator[Effect, bytes, list[str]]:
        """The words that a word becomes. Raises TooLong."""
        machine, fields = self._machine, _Fields(self._machine.environment.get("IFS", _BLANKS))
        yield from self._add(word, fields, splits=True)
        fields.end()
        found: list[str] = []
        for parts in fields.done:
            pattern = _as_pattern(parts)
            paths: list[str] = []
            if is_magic(pattern) and "f" not in machine.options:
                yield from tick(machine)
                paths = matching(machine.files, machine.folder, pattern)
            found += paths or ["".join(text for text, _ in parts)]
        return found

    def text(self, word: Word) -> Generator[Effect, bytes, str]:
        """A word as one text, such as the value of a variable. Raises TooLong."""
        return "".join(text for text, _ in (yield from self._parts(word)))

    def pattern(self, word: Word) -> Generator[Effect, bytes, str]:
        """A word as a pattern. Raises TooLong."""
        return _as_pattern((yield from self._parts(word)))

    def _parts(self, word: Word) -> Generator[Effect, bytes, list[tuple[str, bool]]]:
        fields = _Fields("")
        yield from self._add(word, fields, splits=False)
        fields.end()
        parts: list[tuple[str, bool]] = []
        for number, field in enumerate(fields.done):
            parts += [(" ", True), *field] if number else field
        return parts

    def _add(self, word: Word, fields: _Fields, *, splits: bool) -> Steps:
        for number, piece in enumerate(word):
            match piece:
                case Text(text, quoted):
                    fields.add(self._with_home(text) if not quoted and number == 0 else text, quoted=quoted)
                case Parameter():
                    yield from self._parameter(piece, fields, splits=splits)
                case Substitution(body, quoted):
                    output = yield from self._output(self._machine, body)
                    text = output.replace(b"\0", b"").decode("utf-8", "replace").rstrip("\n")
                    self._value(text, fields, quoted=quoted, splits=splits)
                case Arithmetic(expression, quoted):
                    self._value(str((yield from self._number(expression))), fields, quoted=quoted, splits=splits)

    def _with_home(self, text: str) -> str:
        if text[:1] != "~" or text[1:2] not in ("", "/"):
            return text
        return self._machine.environment.get("HOME", "/root") + text[1:]

    def _value(self, text: str, fields: _Fields, *, quoted: bool, splits: bool) -> None:
        if quoted or not splits:
            fields.add(text, quoted=quoted)
        else:
            fields.add_split(text)

    def _parameter(self, piece: Parameter, fields: _Fields, *, splits: bool) -> Steps:
        name, operator = piece.name, piece.operator
        if name in ("@", "*") and operator in ("", "-", ":-", "+", ":+") and (splits or name == "@"):
            replacing = operator[-1:] == "+"
            if bool(self._machine.arguments) is not replacing or not operator:
                self._arguments(piece, fields, splits=splits)
                return
        value = value_of_variable(self._machine, name)
        there = value is not None and not (operator[:1] == ":" and len(operator) == 2 and not value)
        match operator[-1:]:
            case "-" | "+" if operator:
                if there is (operator[-1] == "+"):
                    yield from self._inner(piece, fields, splits=splits)
                    return
                value = value if operator[-1] == "-" else ""
            case "=" if not there:
                value = yield from self.text(piece.word)
                self._machine.assign(name, value)
            case "?" if not there:
                yield from self._missing(name, (yield from self.text(piece.word)))
        if value is None and "u" in self._machine.options and operator in ("", "length", "#", "##", "%", "%%"):
            yield from self._missing(name, "parameter not set")
        changed = yield from self._changed(piece, value or "")
        self._value(changed, fields, quoted=piece.quoted, splits=splits)

    def _inner(self, piece: Parameter, fields: _Fields, *, splits: bool) -> Steps:
        """The word behind an operator; quotes around all of it count for each of its pieces."""
        if piece.quoted:
            fields.add("", quoted=True)
        for each in piece.word:
            if isinstance(each, Text) and not each.quoted and not piece.quoted:
                self._value(each.text, fields, quoted=False, splits=splits)
            else:
                yield from self._add((_quoted(each) if piece.quoted else each,), fields, splits=splits)

    def _arguments(self, piece: Parameter, fields: _Fields, *, splits: bool) -> None:
        if piece.quoted and piece.name == "*":
            fields.add(value_of_variable(self._machine, "*") or "", quoted=True)
            return
        for number, each in enumerate(self._machine.arguments):
            if number:
                fields.end()
            self._value(each, fields, quoted=piece.quoted, splits=splits)

    def _missing(self, name: str, told: str) -> Steps:
        yield Write(f"{self._machine.script}: {name}: {told or 'parameter not set'}\n".encode(), STDERR)
        raise Exit(2)

    def _changed(self, piece: Parameter, value: str) -> Generator[Effect, bytes, str]:
        """A value as the operator has it."""
        match piece.operator:
            case "length":
                return str(len(self._machine.arguments) if piece.name in ("@", "*") else len(value))
            case "#" | "##" | "%" | "%%" as operator:
                return cut(value, operator, (yield from self.pattern(piece.word)))
            case "/" | "//" as operator:
                wanted, into = _halves(piece.word)
                pattern = yield from self.pattern(wanted)
                return replaced(value, operator, pattern, (yield from self.text(into)))
            case ":":
                start, _, length = (yield from self.text(piece.word)).partition(":")
                first = yield from self._evaluated(start)
                return _part(value, first, (yield from self._evaluated(length)) if length else None)
        return value

    def _number(self, expression: Word) -> Generator[Effect, bytes, int]:
        return (yield from self._evaluated((yield from self.text(expression))))

    def _evaluated(self, text: str) -> Generator[Effect, bytes, int]:
        """The value of an expression. An error in it ends the script, as in the shells of containers."""
        try:
            return value_of(text, self._machine.environment, self._machine.assign)
        except ArithmeticFault as fault:
            yield Write(f"sh: {fault}\n".encode(), STDERR)
            raise Exit(2) from None


def _as_pattern(parts: list[tuple[str, bool]]) -> str:
    return "".join(escaped(text) if quoted else text for text, quoted in parts)


def _quoted(piece: Piece) -> Piece:
    return piece._replace(quoted=True)


def _halves(word: Word) -> tuple[Word, Word]:
    """The pattern and the text of ``${NAME/PATTERN/TEXT}``."""
    for number, piece in enumerate(word):
        if isinstance(piece, Text) and not piece.quoted and "/" in piece.text:
            before, _, after = piece.text.partition("/")
            return (*word[:number], Text(before, False)), (Text(after, False), *word[number + 1 :])
    return word, ()


def _part(value: str, start: int, length: int | None) -> str:
    first = max(0, start + len(value)) if start < 0 else start
    return value[first:] if length is None else value[first : first + length] if length >= 0 else value[first:length]
