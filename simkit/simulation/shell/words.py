"""Words of shell scripts: quotes, variables, substitutions and arithmetic.

What only some shells know (``$'...'``, ``{a,b}``, ``${NAME/a/b}``, arrays) is refused, since scripts for another shell
would be given another meaning.

References
----------
POSIX.1-2017, Shell Command Language, 2.2, 2.3 and 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from simkit.simulation.shell.script import (
    Arithmetic,
    Node,
    Parameter,
    Piece,
    ScriptError,
    Substitution,
    Text,
    Unsupported,
    Word,
)

_END: Final = frozenset(" \t\n;&|<>()")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[@*#?$!-]")
_SHORT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[\d@*#?$!-]")
_OPERATOR: Final = re.compile(r":?[-=?+]|##?|%%?")
_PLAIN: Final = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
Commands = Callable[[str, int], tuple[Node, int]]
"""Reads commands up to a closing bracket: from a text and a position to their tree and the position of the bracket."""


class WordReader:
    """Reads words of a text.

    Parameters
    ----------
    commands
        Reads the commands of a substitution.
    """

    def __init__(self, text: str, commands: Commands) -> None:
        self._text, self._commands = text, commands

    def word(self, position: int) -> tuple[Word, int]:
        """The word at a position, and the position behind it. Raises ScriptError, or Unsupported."""
        pieces, end = self._until(position, _END, quoted=False)
        _refuse_braces(pieces)
        return _with_home(pieces), end

    def document(self, start: int, stop: int) -> Word:
        """The text of a here-document, or of an expression, in which variables and substitutions count."""
        pieces: list[Piece] = []
        while start < stop:
            start = self._quoted_piece(start, pieces, escapes="$`\\\n", mark="")
        return _joined(pieces)

    def _until(self, position: int, ends: frozenset[str], *, quoted: bool) -> tuple[list[Piece], int]:
        text, pieces = self._text, list[Piece]()
        while position < len(text) and text[position] not in ends:
            if quoted:
                position = self._quoted_piece(position, pieces, escapes='$`"\\\n}')
            else:
                position = self._piece(position, pieces)
        return pieces, position

    def _piece(self, position: int, pieces: list[Piece]) -> int:
        text, letter = self._text, self._text[position]
        if letter == "\\":
            if text[position + 1 : position + 2] != "\n":
                pieces.append(Text(text[position + 1 : position + 2] or "\\", True))
            return position + 2
        if letter == "'":
            end = text.find("'", position + 1)
            if end < 0:
                raise ScriptError("unterminated quoted string", unfinished=True)
            pieces.append(Text(text[position + 1 : end], True))
            return end + 1
        if letter == '"':
            return self._double_quoted(position + 1, pieces)
        if letter in "$`":
            if text[position + 1 : position + 2] in ("'", '"') and letter == "$":
                raise Unsupported(f"${text[position + 1]}...{text[position + 1]}")
            return self._expansion(position, pieces, quoted=False)
        run = _PLAIN.match(text, position)
        end = position + 1 if run is None else run.end()
        if run is not None and "}" in run[0]:
            end = position + max(1, run[0].index("}"))
        pieces.append(Text(text[position:end], False))
        return end

    def _double_quoted(self, position: int, pieces: list[Piece]) -> int:
        found: list[Piece] = []
        while self._text[position : position + 1] != '"':
            if position >= len(self._text):
                raise ScriptError("unterminated quoted string", unfinished=True)
            position = self._quoted_piece(position, found, escapes='$`"\\\n')
        pieces.extend(found or [Text("", True)])
        return position + 1

    def _quoted_piece(self, position: int, pieces: list[Piece], *, escapes: str, mark: str = '"') -> int:
        """Read one piece between double quotes, or in a here-document, where quotes are letters."""
        text, letter = self._text, self._text[position]
        if letter == "\\" and text[position + 1 : position + 2] in tuple(escapes):
            if text[position + 1] != "\n":
                pieces.append(Text(text[position + 1], True))
            return position + 2
        if letter == '"' and mark and "}" in escapes:
            return self._double_quoted(position + 1, pieces)
        if letter in "$`":
            return self._expansion(position, pieces, quoted=True)
        pieces.append(Text(letter, True))
        return position + 1

    def _expansion(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        text = self._text
        if text[position] == "`":
            return self._backquoted(position, pieces, quoted=quoted)
        if text.startswith("$((", position):
            return self._arithmetic(position + 3, pieces, quoted=quoted)
        if text.startswith("$(", position):
            body, end = self._commands(text, position + 2)
            pieces.append(Substitution(body, quoted))
            return end + 1
        if text.startswith("${", position):
            return self._braced(position + 2, pieces, quoted=quoted)
        name = _SHORT.match(text, position + 1)
        if name is None:
            if text.startswith("$[", position):
                raise Unsupported("$[...]")
            pieces.append(Text("$", quoted))
            return position + 1
        pieces.append(Parameter(name[0], "", (), quoted))
        return name.end()

    def _arithmetic(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        depth, end = 0, position
        while depth or not self._text.startswith("))", end):
            if end >= len(self._text):
                raise ScriptError("unterminated arithmetic", unfinished=True)
            depth += {"(": 1, ")": -1}.get(self._text[end], 0)
            if depth < 0:
                raise Unsupported("$((...) ...) with commands")
            end += 1
        pieces.append(Arithmetic(self.document(position, end), quoted))
        return end + 2

    def _braced(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        text = self._text
        name = _PARAMETER.match(text, position + 1) if text.startswith("#", position) else None
        if name is not None and text.startswith("}", name.end()):
            pieces.append(Parameter(name[0], "length", (), quoted))
            return name.end() + 1
        name = _PARAMETER.match(text, position)
        if name is None or (name[0] == "!" and not text.startswith("}", name.end())):
            raise Unsupported(f"${{{text[position : position + 12]}")
        if text.startswith("}", name.end()):
            pieces.append(Parameter(name[0], "", (), quoted))
            return name.end() + 1
        operator = _OPERATOR.match(text, name.end())
        if operator is None or (operator[0] in ("-", "=") and text.startswith(":", name.end())):
            raise Unsupported(f"${{{text[position : name.end() + 6]}")
        cuts = operator[0][0] in "#%"
        word, end = self._until(operator.end(), frozenset("}"), quoted=quoted and not cuts)
        if end >= len(text):
            raise ScriptError("unterminated ${", unfinished=True)
        pieces.append(Parameter(name[0], operator[0], _with_home(word) if not quoted else _joined(word), quoted))
        return end + 1

    def _backquoted(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        script, end = list[str](), position + 1
        while self._text[end : end + 1] != "`":
            if end >= len(self._text):
                raise ScriptError("unterminated backquote", unfinished=True)
            if self._text[end] == "\\" and self._text[end + 1 : end + 2] in tuple('\\$`"' if quoted else "\\$`"):
                end += 1
            script.append(self._text[end : end + 1])
            end += 1
        inner = "".join(script) + "\n)"
        body, behind = self._commands(inner, 0)
        if behind != len(inner) - 1:
            raise ScriptError('unexpected ")"')
        pieces.append(Substitution(body, quoted))
        return end + 1


def _joined(pieces: list[Piece]) -> Word:
    """The pieces with neighbouring texts as one."""
    found: list[Piece] = []
    run: list[str] = []
    for number, piece in enumerate(pieces):
        if not isinstance(piece, Text):
            found.append(piece)
            continue
        run.append(piece.text)
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        if not isinstance(following, Text) or following.quoted != piece.quoted:
            found.append(Text("".join(run), piece.quoted))
            run = []
    return tuple(found)


def _with_home(pieces: list[Piece]) -> Word:
    """A word whose ``~`` at the beginning is the home of the user."""
    word = _joined(pieces)
    first = word[0] if word else None
    if not isinstance(first, Text) or first.quoted or not first.text.startswith("~"):
        return word
    if (first.text != "~" and not first.text.startswith("~/")) or (first.text == "~" and len(word) > 1):
        raise Unsupported(first.text)
    rest = first.text[1:]
    return (Parameter("HOME", "", (), True), *((Text(rest, False),) if rest else ()), *word[1:])


def _refuse_braces(pieces: list[Piece]) -> None:
    """Raise Unsupported for ``{a,b}`` and ``{1..3}``, which bash spreads and other shells leave as they are."""
    shown = "".join(each.text if isinstance(each, Text) and not each.quoted else "\0" for each in pieces)
    for part in shown.split("{")[1:]:
        inner, closing, _ = part.partition("}")
        if closing and ("," in inner or ".." in inner):
            raise Unsupported(f"{{{inner}}}".replace("\0", "."))


def assignment_of(word: Word) -> tuple[str, Word] | None:
    """The name and the value of a word that is ``NAME=VALUE``. Raises Unsupported for ``NAME+=`` and ``NAME[...]=``."""
    first = word[0] if word else None
    if not isinstance(first, Text) or first.quoted:
        return None
    name = _NAME.match(first.text)
    if name is None:
        return None
    rest = first.text[name.end() :]
    if rest.startswith("+=") or (rest.startswith("[") and "]=" in rest):
        raise Unsupported(f"{name[0]}{rest[:2]}")
    if not rest.startswith("="):
        return None
    value = rest[1:]
    if ":~" in value or (value.startswith("~") and value != "~" and not value.startswith("~/")):
        raise Unsupported(first.text)
    return name[0], _with_home([*([Text(value, False)] if value else []), *word[1:]])
