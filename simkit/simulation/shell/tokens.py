"""The tokens of shell scripts: operators, words and here-documents.

References
----------
POSIX.1-2017, Shell Command Language, 2.3; ``<<<``, ``&>`` and ``|&`` as in bash.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from simkit.simulation.shell.tree import Node, Redirection, ScriptError, Text, Word, plain
from simkit.simulation.shell.words import WordReader

_OPERATORS: Final = (
    "<<-", "&>>", "&&", "||", ";;", "<<", ">>", ">|", ">&", "<&", "<>", "&>", ">", "<", "|", ";", "\n", "(", ")", "&",
)  # fmt: skip
_BASH_OPERATORS: Final = ("<<<", ";;&", ";&", "|&", *_OPERATORS)
REDIRECTIONS: Final = frozenset({"<<<", "<<-", "<<", ">>", ">|", ">&", "<&", "<>", "&>", "&>>", ">", "<"})
"""The operators that lead an output or an input elsewhere."""
_BLANKS: Final = re.compile(r"(?:[ \t\r]|\\\n)*(?:#[^\n]*)?")
_NUMBERED: Final = re.compile(r"(\d{1,3})(?=[<>])")


class PendingDocument(NamedTuple):
    """A here-document that begins after the present line."""

    redirection: Redirection
    delimiter: str
    quoted: bool
    without_tabs: bool


class TokenReader(ABC):
    """Reads commands; the next token is always known: an operator, or a word."""

    def __init__(self, text: str, position: int, depth: int, *, bash: bool, groups: int) -> None:
        self._text, self._depth, self._bash = text, depth, bash
        self._words = WordReader(text, self._inside, bash=bash, groups=groups)
        self._pending: list[PendingDocument] = []
        self.open_document = False
        """True if the text ends within a here-document."""
        self._start, self._end = position, position
        """The positions of the next token, and behind it."""
        self._counted, self._line = 0, 1
        """The position up to which lines are counted, and the line there."""
        self.token = ""
        self._word: Word = ()
        """The next operator or ``word``; empty at the end."""
        self._number: int | None = None
        """The number in front of a redirection."""
        self._next()

    @abstractmethod
    def _inside(self, text: str, position: int) -> tuple[Node, int]:
        """The commands in brackets, and the position behind these."""

    def _present_line(self) -> int:
        """The line of the next token."""
        self._line += self._text.count("\n", self._counted, self._start)
        self._counted = self._start
        return self._line

    def _next(self) -> None:
        text = self._text
        skipped = _BLANKS.match(text, self._end)
        position = skipped.end() if skipped is not None else self._end
        self.token, self._word, self._number = "", (), None
        if position >= len(text):
            self._end = position
            self._read_documents()
            return
        numbered = _NUMBERED.match(text, position)
        if numbered is not None:
            self._number, position = int(numbered.group()), numbered.end()
        self._start = position
        known = _BASH_OPERATORS if self._bash else _OPERATORS
        operator = next((each for each in known if text.startswith(each, position)), "")
        if operator and not self._words.begins_file(position):
            self.token, self._end = operator, position + len(operator)
            if operator == "\n":
                self._read_documents()
        else:
            self.token = "word"
            self._word, self._end = self._words.word(position)

    def _read_documents(self) -> None:
        """Read the here-documents that begin after this line."""
        for pending in self._pending:
            start, lines = self._end, list[str]()
            while self._end < len(self._text):
                end = self._text.find("\n", self._end)
                end = len(self._text) if end < 0 else end
                line = self._text[self._end : end].lstrip("\t" if pending.without_tabs else "")
                stop, self._end = self._end, min(end + 1, len(self._text))
                if line == pending.delimiter:
                    break
                lines.append(f"{line}\n")
            else:
                stop, self.open_document = self._end, True
            body = "".join(lines)
            if pending.quoted:
                pending.redirection.target = (Text(body, True),)
            elif pending.without_tabs:
                pending.redirection.target = WordReader(body, self._inside, bash=self._bash).here_document(0, len(body))
            else:
                pending.redirection.target = self._words.here_document(start, stop)
        self._pending = []

    @property
    def shown(self) -> str:
        """The next token for messages."""
        if not self.token:
            return "end of file"
        return f'"{self._reserved() or plain(self._word) if self.token == "word" else self.token}"'.replace(
            "\n", "newline"
        )

    def _reserved(self) -> str:
        """The next word, where it has no quotes and variables."""
        word = self._word
        return word[0].text if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted else ""

    def _take(self, *wanted: str) -> bool:
        found = self._reserved() if self.token == "word" else self.token
        if found and found in wanted:
            self._next()
            return True
        return False

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise ScriptError(f'syntax error: unexpected {self.shown} (expecting "{wanted}")')

    def _take_word(self) -> Word:
        if self.token != "word":
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        word = self._word
        self._next()
        return word

    def _skip_lines(self) -> None:
        while self._take("\n"):
            pass
