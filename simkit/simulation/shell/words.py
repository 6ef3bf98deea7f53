"""Words of shell scripts: quotes, variables and substitutions.

What only some shells know (``$'...'``, ``{a,b}``, arrays) is refused, since scripts for another shell would be given
another meaning. So are arithmetic, parts of variables (``${NAME#a}``) and backquotes.

References
----------
POSIX.1-2017, Shell Command Language, 2.2, 2.3 and 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from simkit.simulation.shell.script import (
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
_PLAIN: Final = re.compile(r"[^ \t\n;&|<>()'\"\\$`}]+")
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)(\+?=|\[.*)", re.ASCII | re.DOTALL)
_SHORT: Final = re.compile(r"[A-Za-z_]\w*|[\d@*#?$!]", re.ASCII)
_BRACED: Final = re.compile(r"([A-Za-z_]\w*|\d+|[@*#?$!])(:?[-=+?]|)", re.ASCII)
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
        pieces, end = self._until(position, _END)
        word = joined(pieces)
        _refuse_braces(word)
        _refuse_home(word)
        return word, end

    def document(self, start: int, stop: int) -> Word:
        """The text of a here-document, in which variables and substitutions count."""
        pieces: list[Piece] = []
        while start < stop:
            start = self._quoted_piece(start, pieces, "$`\\\n")
        return joined(pieces)

    def _until(self, position: int, ends: frozenset[str]) -> tuple[list[Piece], int]:
        text, pieces = self._text, list[Piece]()
        while position < len(text) and text[position] not in ends:
            position = self._piece(position, pieces)
        return pieces, position

    def _piece(self, position: int, pieces: list[Piece]) -> int:
        """Read one piece outside of quotes; gives the position behind it."""
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
            return self._expansion(position, pieces, quoted=False)
        if letter in "<>" and text.startswith("(", position + 1):
            raise Unsupported(f"{letter}(")
        run = _PLAIN.match(text, position)
        end = position + 1 if run is None else run.end()
        pieces.append(Text(text[position:end], False))
        return end

    def _double_quoted(self, position: int, pieces: list[Piece]) -> int:
        found: list[Piece] = []
        while self._text[position : position + 1] != '"':
            if position >= len(self._text):
                raise ScriptError("unterminated quoted string", unfinished=True)
            position = self._quoted_piece(position, found, '$`"\\\n')
        pieces.extend(found or [Text("", True)])
        return position + 1

    def _quoted_piece(self, position: int, pieces: list[Piece], escapes: str) -> int:
        """Read one piece between double quotes, or in a here-document; a backslash counts before some letters."""
        text, letter = self._text, self._text[position]
        if letter == "\\" and text[position + 1 : position + 2] in tuple(escapes):
            if text[position + 1] != "\n":
                pieces.append(Text(text[position + 1], True))
            return position + 2
        if letter in "$`":
            return self._expansion(position, pieces, quoted=True)
        pieces.append(Text(letter, True))
        return position + 1

    def _expansion(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        text, following = self._text, self._text[position + 1 : position + 2]
        if text[position] == "`" or text.startswith("$((", position):
            raise Unsupported("`...`" if text[position] == "`" else "$((...))")
        if following == "(":
            body, end = self._commands(text, position + 2)
            pieces.append(Substitution(body, quoted))
            return end + 1
        if following == "{":
            return self._braced(position + 2, pieces, quoted=quoted)
        if following in ("[", "-", "\\") or (following in ("'", '"') and not quoted):
            raise Unsupported(f"${following}")
        name = _SHORT.match(text, position + 1)
        pieces.append(Text("$", quoted) if name is None else Parameter(name[0], "", (), quoted))
        return position + 1 if name is None else name.end()

    def _braced(self, position: int, pieces: list[Piece], *, quoted: bool) -> int:
        text = self._text
        found = _BRACED.match(text, position)
        if found is None or (found[1] in "#!$" and found[2]):
            raise Unsupported(f"${{{text[position : position + 12]}")
        if not found[2] and not text.startswith("}", found.end()):
            raise Unsupported(f"${{{text[position : found.end() + 6]}")
        word, end = self._in_quotes(found.end()) if quoted else self._until(found.end(), frozenset("}"))
        if end >= len(text):
            raise ScriptError("unterminated ${", unfinished=True)
        _refuse_home(joined(word))
        pieces.append(Parameter(found[1], found[2], joined(word), quoted))
        return end + 1

    def _in_quotes(self, position: int) -> tuple[list[Piece], int]:
        """The word of ``"${NAME:-WORD}"``. Raises Unsupported for quotes in it, which shells read differently."""
        pieces = list[Piece]()
        while position < len(self._text) and self._text[position] != "}":
            if self._text[position] in "\"'\\":
                raise Unsupported(f"{self._text[position]} in quotes in ${{...}}")
            position = self._quoted_piece(position, pieces, "")
        return pieces, position


def joined(pieces: list[Piece]) -> Word:
    """The pieces with neighbouring texts as one."""
    found, run = list[Piece](), list[str]()
    for piece, following in zip(pieces, [*pieces[1:], None], strict=False):
        if not isinstance(piece, Text):
            found.append(piece)
            continue
        run.append(piece.text)
        if not isinstance(following, Text) or following.quoted != piece.quoted:
            found.append(Text("".join(run), piece.quoted))
            run = []
    return tuple(found)


def _refuse_braces(word: Word) -> None:
    """Raise Unsupported for ``{a,b}`` and ``{1..3}``, which bash spreads and other shells leave as they are."""
    shown = "".join(each.text if isinstance(each, Text) and not each.quoted else "\0" for each in word)
    for part in shown.split("{")[1:]:
        inner, closing, _ = part.partition("}")
        if closing and ("," in inner or ".." in inner):
            raise Unsupported(f"{{{inner}}}".replace("\0", "."))


def _refuse_home(word: Word) -> None:
    """Raise Unsupported for ``~``, the home of a user: nobody knows the users of an image."""
    first = word[0] if word else None
    if isinstance(first, Text) and not first.quoted and first.text.startswith("~"):
        raise Unsupported(first.text)


def assignment_of(word: Word) -> tuple[str, Word] | None:
    """The name and the value of a word that is ``NAME=VALUE``. Raises Unsupported for ``NAME+=`` and ``NAME[...]=``."""
    first = word[0] if word else None
    found = _ASSIGNED.match(first.text) if isinstance(first, Text) and not first.quoted else None
    if found is None or (found[2][0] == "[" and "]=" not in found[2]):
        return None
    if found[2] != "=":
        raise Unsupported(f"{found[1]}{found[2]}")
    value = joined([Text(found.string[found.end() :], False), *word[1:]])
    _refuse_home(value)
    if ":~" in found.string:
        raise Unsupported(found.string)
    return found[1], tuple(piece for piece in value if piece != Text("", False))
