"""Words of scripts: quotes, variables, substitutions and arithmetic, read letter by letter.

References
----------
POSIX.1-2017, Shell Command Language, 2.2 and 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from simkit.simulation.shell.tree import Arithmetic, Node, Parameter, Piece, ScriptError, Substitution, Text, Word

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL: Final = "?$#@*!-0123456789"
_ENDS: Final = " \t\r\n;|&<>()"
_OPERATOR: Final = re.compile(r":[-+=?]|[-+=?]|##?|%%?|//?|:")
_BRACED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[?$#@*!-]")
_DEEPEST: Final = 30
Parse = Callable[[str, int], tuple[Node, int]]
"""Parses the commands from a position up to the bracket that closes them; gives back the position behind it."""


class WordReader:
    """Reads words of a text.

    Parameters
    ----------
    commands
        Parses the inside of ``$(...)``.
    """

    def __init__(self, text: str, commands: Parse) -> None:
        self._text, self._commands, self._depth = text, commands, 0

    def word(self, position: int) -> tuple[Word, int]:
        """The word that begins at a position, and the position behind it."""
        return self._until(position, _ENDS, quoted=False)

    def here_document(self, position: int, end: int) -> Word:
        """The text between two positions, in which variables and substitutions count, and quotes do not."""
        reader = WordReader(self._text[:end], self._commands)
        return reader._until(position, "", quoted=True, document=True)[0]

    def _until(self, position: int, ends: str, *, quoted: bool, document: bool = False) -> tuple[Word, int]:
        """Pieces up to one of some letters, or the end. In quotes only ``$``, backquotes and ``\\`` count."""
        text, pieces = self._text, list[Piece]()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("nested too deep")
        while position < len(text) and text[position] not in ends:
            letter = text[position]
            if letter == "\\":
                piece, position = self._escaped(position, quoted=quoted, document=document)
                pieces += piece
            elif letter == "$":
                piece, position = self._dollar(position, quoted=quoted)
                pieces += piece
            elif letter == "`":
                found, position = self._backquoted(position, quoted=quoted)
                pieces.append(found)
            elif letter == "'" and not quoted:
                end = self._closing_quote(position + 1)
                pieces.append(Text(text[position + 1 : end], True))
                position = end + 1
            elif letter == '"' and not document:
                inner, position = self._until(position + 1, '"', quoted=True)
                self._require(position)
                pieces += inner if _is_arguments(inner) else (Text("", True), *inner)
                position += 1
            else:
                pieces.append(Text(letter, quoted))
                position += 1
        self._depth -= 1
        return _joined(pieces), position

    def _closing_quote(self, position: int) -> int:
        end = self._text.find("'", position)
        if end < 0:
            raise ScriptError("syntax error: unterminated quoted string")
        return end

    def _require(self, position: int) -> None:
        if position >= len(self._text):
            raise ScriptError("syntax error: unterminated quoted string")

    def _escaped(self, position: int, *, quoted: bool, document: bool) -> tuple[list[Piece], int]:
        following = self._text[position + 1 : position + 2]
        if following == "\n":
            return [], position + 2
        special = "\\$`" if document else '"\\$`'
        if not following or (quoted and following not in special):
            return [Text("\\", True)], position + 1
        return [Text(following, True)], position + 2

    def _dollar(self, position: int, *, quoted: bool) -> tuple[list[Piece], int]:
        text, after = self._text, position + 1
        if text.startswith("((", after):
            found = self._arithmetic(after + 2, quoted=quoted)
            if found is not None:
                return [found[0]], found[1]
        following = text[after : after + 1]
        if following == "(":
            body, end = self._commands(text, after + 1)
            return [Substitution(body, quoted)], end
        if following == "{":
            piece, end = self._braced(after + 1, quoted=quoted)
            return [piece], end
        if following == "'" and not quoted:
            end = self._closing_quote(after + 1)
            return [Text(with_escapes(text[after + 1 : end]), True)], end + 1
        if following and following in _SPECIAL:
            return [Parameter(following, "", (), quoted)], after + 1
        name = _NAME.match(text, after)
        if name is None:
            return [Text("$", quoted)], after
        return [Parameter(name.group(), "", (), quoted)], name.end()

    def _arithmetic(self, position: int, *, quoted: bool) -> tuple[Piece, int] | None:
        """The expression behind two brackets; None if these hold a command in brackets of its own."""
        depth, end = 0, position
        while end < len(self._text):
            depth += (self._text[end] == "(") - (self._text[end] == ")")
            if depth < 0:
                break
            end += 1
        if not self._text.startswith("))", end):
            return None
        inner = WordReader(self._text[:end], self._commands)._until(position, "", quoted=True, document=True)[0]
        return Arithmetic(inner, quoted), end + 2

    def expression(self, position: int) -> tuple[Word, int] | None:
        """The expression behind ``((`` as a word that is its value, and the position behind it; None if it is none."""
        found = self._arithmetic(position, quoted=True)
        return None if found is None else ((found[0],), found[1])

    def parts(self, position: int, end: int) -> list[Word]:
        """The expressions between two positions with semicolons between them, as words that are their values."""
        found: list[Word] = []
        for part in self._text[position:end].split(";"):
            reader = WordReader(part, self._commands)
            inner = reader._until(0, "", quoted=True, document=True)[0]
            found.append((Arithmetic(inner, True),) if part.strip() else ())
        return found

    def _braced(self, position: int, *, quoted: bool) -> tuple[Piece, int]:
        text = self._text
        length = text.startswith("#", position) and text[position + 1 : position + 2] not in ("}", "")
        if length and (name := _BRACED.match(text, position + 1)) and text.startswith("}", name.end()):
            return Parameter(name.group(), "length", (), quoted), name.end() + 1
        name = _BRACED.match(text, position)
        if name is None:
            raise ScriptError("syntax error: bad substitution")
        if text.startswith("}", name.end()):
            return Parameter(name.group(), "", (), quoted), name.end() + 1
        operator = _OPERATOR.match(text, name.end())
        if operator is None:
            raise ScriptError("syntax error: bad substitution")
        cuts = operator.group()[0] in "#%/"
        word, end = self._until(operator.end(), "}", quoted=quoted and not cuts)
        self._require(end)
        return Parameter(name.group(), operator.group(), word, quoted), end + 1

    def _backquoted(self, position: int, *, quoted: bool) -> tuple[Piece, int]:
        inner, end = list[str](), position + 1
        while end < len(self._text) and self._text[end] != "`":
            special = '\\$`"' if quoted else "\\$`"
            if self._text[end] == "\\" and self._text[end + 1 : end + 2] in special:
                end += 1
            inner += self._text[end : end + 1]
            end += 1
        self._require(end)
        script = "".join(inner) + ")"
        body, behind = self._commands(script, 0)
        if behind != len(script):
            raise ScriptError('syntax error: unexpected ")"')
        return Substitution(body, quoted), end + 1


def _is_arguments(word: Word) -> bool:
    """True for ``"$@"`` alone, which becomes no word where there are no arguments."""
    return len(word) == 1 and isinstance(word[0], Parameter) and word[0].name == "@" and not word[0].operator


def _joined(pieces: Sequence[Piece]) -> Word:
    """The pieces with neighbouring texts as one."""
    found, run = list[Piece](), list[str]()
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


_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


def with_escapes(text: str) -> str:
    """A text in which ``\\n``, ``\\t``, ``\\x41``, ``\\101`` and the like are the letters that they mean.

    Examples
    --------
    >>> with_escapes("a" + chr(92) + "tb" + chr(92) + "x41")
    'a\\tbA'
    """

    def meant(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return chr(int(found[2], 8) & 0xFF) if found[2] else _LETTERS.get(found[3], found[0])

    return _ESCAPE.sub(meant, text)
