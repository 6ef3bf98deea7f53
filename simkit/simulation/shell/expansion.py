"""Words become texts: variables, substitutions, arithmetic, splitting into fields, and paths for patterns.

References
----------
POSIX.1-2017, Shell Command Language, 2.6; brace expansion as in bash.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.braces import spread
from simkit.simulation.shell.fields import BLANKS, Fields
from simkit.simulation.shell.machine import STDERR, Effect, Exit, Machine, Write, tick
from simkit.simulation.shell.parameters import (
    Values,
    are_there,
    case_changed,
    indirectly,
    names_beginning,
    part_of_list,
    part_of_text,
    spelled,
    values_of,
)
from simkit.simulation.shell.patterns import cut, escaped, is_magic, matching, replaced
from simkit.simulation.shell.process_substitution import Output, lend
from simkit.simulation.shell.tree import Arithmetic, Parameter, Piece, Process, Substitution, Text, Word
from simkit.simulation.shell.variables import Numbers, Reference, set_text

Steps = Generator[Effect, bytes, None]
_EACH = frozenset({"#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,"})
"""Operators that change each element of an array."""


class NothingMatches(Exception):
    """A pattern of paths that means none, where that is a fault."""


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
        """The words that a word becomes. Raises TooLong, or NothingMatches."""
        if not self._machine.bash:
            return (yield from self._fields(word))
        found: list[str] = []
        for each in spread(word):
            found += yield from self._fields(each)
        return found

    def _fields(self, word: Word) -> Generator[Effect, bytes, list[str]]:
        machine, fields = self._machine, Fields(self._machine.environment.get("IFS", BLANKS))
        yield from self._add(word, fields, splits=True)
        fields.end()
        found: list[str] = []
        groups = "extglob" in machine.options
        for parts in fields.done:
            pattern = _as_pattern(parts)
            paths: list[str] = []
            if is_magic(pattern, groups=groups) and "f" not in machine.options:
                yield from tick(machine)
                paths = matching(machine.files, machine.folder, pattern, machine.options)
                if not paths and "failglob" in machine.options:
                    raise NothingMatches(pattern)
                if not paths and "nullglob" in machine.options:
                    continue
            found += paths or ["".join(text for text, _ in parts)]
        return found

    def text(self, word: Word) -> Generator[Effect, bytes, str]:
        """A word as one text, such as the value of a variable. Raises TooLong."""
        return "".join(text for text, _ in (yield from self._parts(word)))

    def pattern(self, word: Word) -> Generator[Effect, bytes, str]:
        """A word as a pattern. Raises TooLong."""
        return _as_pattern((yield from self._parts(word)))

    def parts(self, word: Word) -> Generator[Effect, bytes, list[tuple[str, bool]]]:
        """A word as texts, each with whether it was quoted. Raises TooLong."""
        return (yield from self._parts(word))

    def number(self, expression: Word) -> Generator[Effect, bytes, int]:
        """The value of an expression. Raises ArithmeticFault, or TooLong."""
        return Numbers(self._machine).nested((yield from self.text(expression)))

    def _parts(self, word: Word) -> Generator[Effect, bytes, list[tuple[str, bool]]]:
        fields = Fields("")
        yield from self._add(word, fields, splits=False)
        fields.end()
        parts: list[tuple[str, bool]] = []
        for number, field in enumerate(fields.done):
            parts += [(" ", True), *field] if number else field
        return parts

    def _add(self, word: Word, fields: Fields, *, splits: bool) -> Steps:
        for number, piece in enumerate(word):
            match piece:
                case Text(text, quoted):
                    fields.add(self._with_home(text) if not quoted and number == 0 else text, quoted=quoted)
                case Parameter():
                    yield from self._parameter(piece, fields, splits=splits)
                case Substitution(body, quoted):
                    output = yield from self._output(self._machine, body)
                    text = output.replace(b"\0", b"").decode("utf-8", "replace").rstrip("\n")
                    _value(text, fields, quoted=quoted, splits=splits)
                case Arithmetic(expression, quoted):
                    _value(str((yield from self._number(expression))), fields, quoted=quoted, splits=splits)
                case Process():
                    fields.add((yield from lend(self._machine, piece, self._output)), quoted=True)

    def _with_home(self, text: str) -> str:
        if text[:1] != "~" or text[1:2] not in ("", "/"):
            return text
        return self._machine.environment.get("HOME", "/root") + text[1:]

    def _parameter(self, piece: Parameter, fields: Fields, *, splits: bool) -> Steps:
        operator = piece.operator
        if operator[:5] == "names":
            self._put(
                names_beginning(self._machine, piece.name, operator[5]), fields, quoted=piece.quoted, splits=splits
            )
            return
        piece, values = yield from self._values(piece)
        if operator == "length":
            count = len(values.texts) if values.all else len(values.texts[0]) if values.texts else 0
            if not values.all and not values.texts:
                yield from self._require(piece)
            _value(str(count), fields, quoted=piece.quoted, splits=splits)
            return
        match operator[-1:] if operator[:1] in "-+=?:" and operator != ":" else "":
            case "-" | "+" as sign:
                if self._are_there(values, operator) is (sign == "+"):
                    yield from self._inner(piece, fields, splits=splits)
                    return
                values = values if sign == "-" else Values([])
                if not values.texts:
                    return
            case "=" if not self._are_there(values, operator):
                text = yield from self.text(piece.word)
                self._assign(piece, text)
                values = Values([text])
            case "?" if not self._are_there(values, operator):
                yield from self._missing(piece.name, (yield from self.text(piece.word)))
        if not values.texts and not values.all:
            yield from self._require(piece)
        self._put((yield from self._changed(piece, values)), fields, quoted=piece.quoted, splits=splits)

    def _values(self, piece: Parameter) -> Generator[Effect, bytes, tuple[Parameter, Values]]:
        """The values that are meant, and the parameter that has them, where it is named by another one."""
        subscript = None
        if piece.subscript is not None:
            subscript = yield from self.text(piece.subscript)
        try:
            if piece.indirect:
                return indirectly(self._machine, piece, subscript)
            return piece, values_of(self._machine, piece.name, subscript)
        except ArithmeticFault as fault:
            yield from self._fail(str(fault))
            raise

    def _are_there(self, values: Values, operator: str) -> bool:
        return are_there(values, operator, bash=self._machine.bash)

    def _assign(self, piece: Parameter, text: str) -> None:
        subscript = piece.subscript
        told = subscript[0].text if subscript and isinstance(subscript[0], Text) else None
        set_text(self._machine, Reference(piece.name, told), text)

    def _put(self, values: Values, fields: Fields, *, quoted: bool, splits: bool) -> None:
        """Add values: as one text with separators between them, or each as a field of its own."""
        if values.all == "*" and (quoted or not splits):
            separator = self._machine.environment.get("IFS", " ")[:1]
            _value(separator.join(values.texts), fields, quoted=quoted, splits=splits)
            return
        if not values.all and not values.texts:
            _value("", fields, quoted=quoted, splits=splits)
        for number, text in enumerate(values.texts):
            if number:
                fields.end()
            _value(text, fields, quoted=quoted, splits=splits)

    def _inner(self, piece: Parameter, fields: Fields, *, splits: bool) -> Steps:
        """The word behind an operator; quotes around all of it count for each of its pieces."""
        if piece.quoted:
            fields.add("", quoted=True)
        for each in piece.word:
            if isinstance(each, Text) and not each.quoted and not piece.quoted:
                _value(each.text, fields, quoted=False, splits=splits)
            else:
                yield from self._add((_quoted(each) if piece.quoted else each,), fields, splits=splits)

    def _require(self, piece: Parameter) -> Steps:
        """End the script at a parameter that is not set, where it asks for that."""
        if "u" in self._machine.options and piece.name not in ("@", "*"):
            yield from self._missing(piece.name, "unbound variable" if self._machine.bash else "parameter not set")

    def _missing(self, name: str, told: str) -> Steps:
        yield Write(f"{self._machine.script}: {name}: {told or 'parameter not set'}\n".encode(), STDERR)
        ends_early = self._machine.level or self._machine.reads_file or "e" in self._machine.options
        raise Exit((1 if ends_early else 127) if self._machine.bash else 2)

    def _fail(self, told: str) -> Steps:
        """End the script, as the shells of containers do at an expression without a value."""
        yield Write(f"{self._machine.shell}: {told}\n".encode(), STDERR)
        raise Exit(1 if self._machine.bash else 2)

    def _changed(self, piece: Parameter, values: Values) -> Generator[Effect, bytes, Values]:
        """Values as the operator has them."""
        operator, machine = piece.operator, self._machine
        if operator == ":":
            return (yield from self._part(piece, values))
        if operator[:1] == "@":
            return spelled(machine, piece, values)
        if operator not in _EACH:
            return values
        wanted, into = _halves(piece.word) if operator[0] == "/" else (piece.word, ())
        pattern = yield from self.pattern(wanted)
        text = yield from self.text(into)
        groups = "extglob" in machine.options
        made = []
        for each in values.texts:
            yield from tick(machine)
            if operator[0] == "/":
                made.append(replaced(each, operator, pattern, text, groups=groups))
            elif operator[0] in "^,":
                made.append(case_changed(each, operator, pattern, groups=groups))
            else:
                made.append(cut(each, operator, pattern, groups=groups))
        return Values(made, values.all)

    def _part(self, piece: Parameter, values: Values) -> Generator[Effect, bytes, Values]:
        start, _, length = (yield from self.text(piece.word)).partition(":")
        first = yield from self._evaluated(start)
        count = (yield from self._evaluated(length)) if length else None
        if values.all:
            return Values(part_of_list(self._machine, piece.name, values.texts, first, count), values.all)
        return Values([part_of_text(each, first, count) for each in values.texts])

    def _number(self, expression: Word) -> Generator[Effect, bytes, int]:
        return (yield from self._evaluated((yield from self.text(expression))))

    def _evaluated(self, text: str) -> Generator[Effect, bytes, int]:
        """The value of an expression. An error in it ends the script, as in the shells of containers."""
        try:
            return Numbers(self._machine).nested(text)
        except ArithmeticFault as fault:
            yield from self._fail(str(fault))
            raise


def _value(text: str, fields: Fields, *, quoted: bool, splits: bool) -> None:
    if quoted or not splits:
        fields.add(text, quoted=quoted)
    else:
        fields.add_split(text)


def _as_pattern(parts: Sequence[tuple[str, bool]]) -> str:
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
