"""Words of scripts: quotes, variables, substitutions and arithmetic, read letter by letter.

References
----------
POSIX.1-2017, Shell Command Language, 2.2 and 2.6; arrays, ``<(...)`` and further operators as in bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.tree import (
    Arithmetic,
    Node,
    Parameter,
    Piece,
    Process,
    ScriptError,
    Substitution,
    Text,
    Word,
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL: Final = "?$#@*!-0123456789"
_ENDS: Final = " \t\r\n;|&<>()"
_OPERATOR: Final = re.compile(r":[-+=?]|[-+=?]|##?|%%?|//?|:")
_BASH_OPERATOR: Final = re.compile(r":[-+=?]|[-+=?]|##?|%%?|/[/#%]?|:|\^\^?|,,?|@[QEPAaUuLKk](?=\})")
_ALL_NAMES: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)([@*])\}")
_SUBSCRIPTED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)?\[([^\n]{1,1000}?)\](\+?)=")
_BRACED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[?$#@*!-]")
_DEEPEST: Final = 30
Parse = Callable[[str, int], tuple[Node, int]]
"""Parses the commands from a position up to the bracket that closes them; gives back the position behind it."""


class Subscripted(NamedTuple):
    """The beginning ``NAME[SUBSCRIPT]=`` of an assignment, or of an element without a name."""

    name: str
    subscript: Word
    appends: bool
    end: int
    """The position of the value."""


class WordReader:
    """Reads words of a text.

    Parameters
    ----------
    commands
        Parses the inside of ``$(...)``.
    bash
        Whether the text is one for bash.
    groups
        The position from which on ``@(a|b)`` and the like are patterns.
    """

    def __init__(self, text: str, commands: Parse, *, bash: bool = False, groups: int = 1 << 62) -> None:
        self._text, self._commands, self._depth, self._bash = text, commands, 0, bash
        self.groups = groups

    def word(self, position: int) -> tuple[Word, int]:
        """The word that begins at a position, and the position behind it."""
        return self._until(position, _ENDS, quoted=False)

    def here_document(self, position: int, end: int) -> Word:
        """The text between two positions, in which variables and substitutions count, and quotes do not."""
        return self._limited(end)._until(position, "", quoted=True, document=True)[0]

    def _limited(self, end: int) -> WordReader:
        """A reader of the text up to a position."""
        return WordReader(self._text[:end], self._commands, bash=self._bash, groups=self.groups)

    def begins_file(self, position: int) -> bool:
        """True where ``<(`` or ``>(`` begins the name of a file."""
        return self._bash and self._text.startswith(("<(", ">("), position)

    def subscripted(self, position: int) -> Subscripted | None:
        """The beginning of an assignment to an element of an array; None where none begins."""
        found = _SUBSCRIPTED.match(self._text, position) if self._bash else None
        if found is None:
            return None
        reader = WordReader(found[2], self._commands, bash=True)
        return Subscripted(found[1] or "", reader._until(0, "", quoted=False)[0], bool(found[3]), found.end())

    def regular_expression(self, position: int) -> tuple[Word, int]:
        """The word behind ``=~``, in which round brackets count, with blanks between them."""
        reader = WordReader(self._text, self._commands)
        word, end = reader._until(position, " \t\n", quoted=False)
        while _open_brackets(word) > 0 and end < len(self._text) and self._text[end] != "\n":
            more, following = reader._until(end + 1, " \t\n", quoted=False)
            word, end = _joined([*word, Text(self._text[end], False), *more]), following
        return word, end

    def _until(self, position: int, ends: str, *, quoted: bool, document: bool = False) -> tuple[Word, int]:
        """Pieces up to one of some letters, or the end. In quotes only ``$``, backquotes and ``\\`` count."""
        text, pieces = self._text, list[Piece]()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("nested too deep")
        while position < len(text):
            letter = text[position]
            if letter in ends:
                if ends != _ENDS or not self.begins_file(position):
                    break
                body, position = self._commands(text, position + 2)
                pieces.append(Process(body, letter))
            elif letter == "\\":
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
            elif not quoted and position >= self.groups and letter in "?*+@!" and text.startswith("(", position + 1):
                inner, position = self._until(position + 2, ")", quoted=False)
                pieces += (Text(f"{letter}(", False), *inner, Text(")", False))
                self._require(position)
                position += 1
            elif letter == "[" and ends == "]":
                inner, position = self._until(position + 1, "]", quoted=False)
                pieces += (Text("[", False), *inner, Text("]", False))
                position += 1
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
            inside = _ESCAPED_QUOTE.match(text, after + 1)
            if inside is None:
                raise ScriptError("syntax error: unterminated quoted string")
            return [Text(with_escapes(_named_letters(inside[1])), True)], inside.end()
        if following == '"' and not quoted and self._bash:
            return [], after
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
        return Arithmetic(self.here_document(position, end), quoted), end + 2

    def expression(self, position: int) -> tuple[Word, int] | None:
        """The expression behind ``((`` as a word that is its value, and the position behind it; None if it is none."""
        found = self._arithmetic(position, quoted=True)
        return None if found is None else ((found[0],), found[1])

    def parts(self, position: int, end: int) -> list[Word]:
        """The expressions between two positions with semicolons between them, as words that are their values."""
        found: list[Word] = []
        for part in self._text[position:end].split(";"):
            inner = WordReader(part, self._commands, bash=self._bash).here_document(0, len(part))
            found.append((Arithmetic(inner, True),) if part.strip() else ())
        return found

    def _braced(self, position: int, *, quoted: bool) -> tuple[Piece, int]:
        text = self._text
        length = text.startswith("#", position) and text[position + 1 : position + 2] not in ("}", "")
        if length and (found := self._name(position + 1)) and text.startswith("}", found[2]):
            return Parameter(found[0], "length", (), quoted, found[1]), found[2] + 1
        indirect = self._bash and text.startswith("!", position) and _NAME.match(text, position + 1) is not None
        if indirect and (names := _ALL_NAMES.match(text, position + 1)):
            return Parameter(names[1], f"names{names[2]}", (), quoted, None, True), names.end()
        found = self._name(position + indirect)
        if found is None:
            raise ScriptError("syntax error: bad substitution")
        name, subscript, after = found
        if text.startswith("}", after):
            return Parameter(name, "", (), quoted, subscript, indirect), after + 1
        operator = (_BASH_OPERATOR if self._bash else _OPERATOR).match(text, after)
        if operator is None:
            raise ScriptError("syntax error: bad substitution")
        cuts = operator.group()[0] in "#%/^,"
        word, end = self._until(operator.end(), "}", quoted=quoted and not cuts)
        self._require(end)
        return Parameter(name, operator.group(), word, quoted, subscript, indirect), end + 1

    def _name(self, position: int) -> tuple[str, Word | None, int] | None:
        """A name with its subscript, and the position behind it."""
        name = _BRACED.match(self._text, position)
        if name is None:
            return None
        if not self._bash or not self._text.startswith("[", name.end()):
            return name.group(), None, name.end()
        subscript, end = self._until(name.end() + 1, "]", quoted=False)
        self._require(end)
        return name.group(), subscript, end + 1

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
    piece = word[0] if len(word) == 1 else None
    return isinstance(piece, Parameter) and (
        (piece.name == "@" and piece.operator not in ("length", "-", ":-", "+", ":+", "=", ":="))
        or (piece.subscript == (Text("@", False),) and piece.operator not in ("length", "-", ":-", "+", ":+"))
        or piece.operator == "names@"
    )


def _open_brackets(word: Word) -> int:
    """The round brackets that open without quotes and do not close."""
    plain = [piece.text for piece in word if isinstance(piece, Text) and not piece.quoted]
    return sum(each.count("(") - each.count(")") for each in plain)


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


_ESCAPED_QUOTE: Final = re.compile(r"((?:[^'\\]|\\.)*)'", re.DOTALL)
_NAMED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(['\"?])|c(.)|(\\))")


def _named_letters(text: str) -> str:
    """The text between ``$'`` and ``'`` with the escapes that only it has."""

    def meant(found: re.Match[str]) -> str:
        if found[5] or found[3]:
            return found[3] or found[0]
        number = int(found[1] or found[2] or "0", 16) if found[4] is None else ord(found[4]) & 0x1F
        letter = chr(number) if number <= _MOST_LETTER and not 0xD800 <= number < 0xE000 else "\ufffd"
        return letter * 2 if letter == "\\" else letter

    return _NAMED.sub(meant, text)


_MOST_LETTER: Final = 0x10FFFF
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


def with_escapes(text: str, *, raw: bool = False) -> str:
    """A text in which ``\\n``, ``\\t``, ``\\x41``, ``\\101`` and the like are the letters that they mean.

    Parameters
    ----------
    raw
        Whether bytes that are no letters stay, as ``surrogateescape`` writes them; else a mark stands for them.

    Examples
    --------
    >>> with_escapes("a" + chr(92) + "tb" + chr(92) + "x41")
    'a\\tbA'
    """

    def meant(found: re.Match[str]) -> str:
        if not (found[1] or found[2]):
            return _LETTERS.get(found[3], found[0])
        byte = int(found[1], 16) if found[1] else int(found[2], 8) & 0xFF
        return chr(byte if byte < 0x80 else 0xDC00 + byte)

    made = _ESCAPE.sub(meant, text)
    return made if raw or made.isascii() else made.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
