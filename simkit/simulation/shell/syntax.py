"""The grammar of shell scripts: lists, pipelines, redirections, here-documents, compound commands and functions.

References
----------
POSIX.1-2017, Shell Command Language, 2.10; ``<<<``, ``function`` and ``&>`` as in bash.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from simkit.simulation.shell.tree import (
    AndOr,
    Background,
    Case,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    Redirections,
    ScriptError,
    Sequence,
    Simple,
    Subshell,
    Text,
    While,
    Word,
    arithmetic_command,
    assigned,
    plain,
)
from simkit.simulation.shell.words import WordReader

MOST_LETTERS: Final = 64 * 1024
_DEEPEST: Final = 30
_OPERATORS: Final = (
    "<<<", "<<-", "&>>", "&&", "||", ";;", "<<", ">>", ">|", ">&", "<&", "<>", "&>", ">", "<", "|", ";", "\n", "(", ")",
    "&",
)  # fmt: skip
_REDIRECTIONS: Final = frozenset({"<<<", "<<-", "<<", ">>", ">|", ">&", "<&", "<>", "&>", "&>>", ">", "<"})
_BLANKS: Final = re.compile(r"(?:[ \t\r]|\\\n)*(?:#[^\n]*)?")
_NUMBERED: Final = re.compile(r"(\d{1,3})(?=[<>])")
_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.:-]*")
_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "{", "}", "!", "in"}
)
_CLOSING: Final = _RESERVED - {"if", "case", "while", "until", "for", "{", "!", "in"}


class _Pending(NamedTuple):
    """A here-document that begins after the present line."""

    redirection: Redirection
    delimiter: str
    quoted: bool
    without_tabs: bool


def parse(text: str) -> Node:
    """The tree of a script. Raises ScriptError."""
    if len(text) > MOST_LETTERS:
        raise ScriptError("script is too long")
    reader = _Reader(text, 0, 0)
    node = reader.list()
    if reader.token:
        raise ScriptError(f"syntax error: unexpected {reader.shown}")
    return node


class _Reader:
    """Reads commands; the next token is always known: an operator, or a word."""

    def __init__(self, text: str, position: int, depth: int) -> None:
        self._text, self._depth = text, depth
        self._words = WordReader(text, self._inside)
        self._pending: list[_Pending] = []
        self._end = position
        """The position behind the next token."""
        self.token = ""
        self._word: Word = ()
        """The next operator or ``word``; empty at the end."""
        self._number: int | None = None
        """The number in front of a redirection."""
        self._next()

    def _inside(self, text: str, position: int) -> tuple[Node, int]:
        """The commands in brackets."""
        reader = _Reader(text, position, self._depth + 1)
        node = reader.list()
        if reader.token != ")":
            raise ScriptError("syntax error: unterminated command substitution")
        return node, reader._end

    # Tokens

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
        operator = next((each for each in _OPERATORS if text.startswith(each, position)), "")
        if operator:
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
                stop = self._end
            body = "".join(lines)
            if pending.quoted:
                pending.redirection.target = (Text(body, True),)
            elif pending.without_tabs:
                pending.redirection.target = WordReader(body, self._inside).here_document(0, len(body))
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

    # Lists

    def list(self) -> Node:
        """Commands up to a word or an operator that ends them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("nested too deep")
        parts: list[Node] = []
        self._skip_lines()
        while self.token not in ("", ")", ";;") and self._reserved() not in _CLOSING:
            part = self._and_or()
            if self._take("&"):
                part = Background(part)
            elif self.token not in ("", ";", "\n", ")", ";;"):
                raise ScriptError(f"syntax error: unexpected {self.shown}")
            else:
                self._take(";")
            parts.append(part)
            self._skip_lines()
        self._depth -= 1
        return Sequence(tuple(parts))

    def _and_or(self) -> Node:
        parts = [("", self._pipeline())]
        while self.token in ("&&", "||"):
            joint = self.token
            self._next()
            self._skip_lines()
            parts.append((joint, self._pipeline()))
        return parts[0][1] if len(parts) == 1 else AndOr(tuple(parts))

    def _pipeline(self) -> Node:
        negated = self._take("!")
        commands = [self._command()]
        while self._take("|"):
            self._skip_lines()
            commands.append(self._command())
        return commands[0] if len(commands) == 1 and not negated else Pipeline(tuple(commands), negated)

    # Commands

    def _command(self) -> Node:
        reserved = self._reserved() if self.token == "word" else self.token
        compound = {
            "if": self._if, "for": self._for, "while": self._while, "until": self._while, "case": self._case,
            "(": self._subshell, "{": self._group,
        }.get(reserved)  # fmt: skip
        if reserved == "(" and self._text.startswith("(", self._end):
            found = self._words.expression(self._end + 1)
            if found is not None:
                self._end = found[1]
                self._next()
                return self._with_redirections(arithmetic_command(found[0]))
        if compound is not None:
            return self._with_redirections(compound())
        if reserved == "function":
            self._next()
            name = plain(self._take_word()) or ""
            if self._take("("):
                self._expect(")")
            return self._function(name)
        if self.token == "word" and reserved in _CLOSING:
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return self._simple()

    def _with_redirections(self, node: Node) -> Node:
        found: list[Redirection] = []
        while self.token in _REDIRECTIONS:
            found += self._redirection()
        return Redirected(node, tuple(found)) if found else node

    def _subshell(self) -> Node:
        self._next()
        node = self.list()
        self._expect(")")
        return Subshell(node)

    def _group(self) -> Node:
        self._next()
        node = self.list()
        self._expect("}")
        return node

    def _function(self, name: str) -> Node:
        if _FUNCTION.fullmatch(name) is None:
            raise ScriptError("syntax error: bad function name")
        self._skip_lines()
        if self.token != "(" and self._reserved() not in ("{", "if", "for", "while", "until", "case"):
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return Function(name, self._command())

    def _for(self) -> Node:
        self._next()
        if self.token == "(" and self._text.startswith("(", self._end):
            return self._counting()
        name, words = plain(self._take_word()) or "", None
        self._skip_lines()
        if self._take("in"):
            words = []
            while self.token == "word":
                words.append(self._take_word())
        self._take(";")
        self._skip_lines()
        return For(name, None if words is None else tuple(words), self._body())

    def _counting(self) -> Node:
        """``for ((FIRST; CONDITION; STEP))`` as in bash."""
        found = self._words.expression(self._end + 1)
        parts = [] if found is None else self._words.parts(self._end + 1, found[1] - 2)
        if found is None or len(parts) != 3:
            raise ScriptError("syntax error: bad for loop variable")
        self._end = found[1]
        self._next()
        self._take(";")
        self._skip_lines()
        first, condition, step = (arithmetic_command(part) for part in parts)
        return Sequence((first, While(condition, self._body(), step=step)))

    def _while(self) -> Node:
        until = self._reserved() == "until"
        self._next()
        condition = self.list()
        return While(condition, self._body(), until)

    def _body(self) -> Node:
        self._expect("do")
        body = self.list()
        self._expect("done")
        return body

    def _if(self) -> Node:
        branches, otherwise = [], None
        while self._take("if", "elif"):
            condition = self.list()
            self._expect("then")
            branches.append((condition, self.list()))
            if self._reserved() != "elif":
                break
        if self._take("else"):
            otherwise = self.list()
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _case(self) -> Node:
        self._next()
        subject, branches = self._take_word(), []
        self._skip_lines()
        self._expect("in")
        self._skip_lines()
        while not self._take("esac"):
            self._take("(")
            patterns = [self._take_word()]
            while self._take("|"):
                patterns.append(self._take_word())
            self._expect(")")
            branches.append((tuple(patterns), self.list()))
            if not self._take(";;"):
                self._expect("esac")
                break
            self._skip_lines()
        return Case(subject, tuple(branches))

    def _simple(self) -> Node:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirections: list[Redirection] = []
        while True:
            if words and plain(words[0]) == "[[" and plain(words[-1]) != "]]" and self.token not in ("", "\n", ";"):
                words.append(self._take_word() if self.token == "word" else self._operator_word())
            elif self.token in _REDIRECTIONS:
                redirections += self._redirection()
            elif self.token == "word":
                given = assigned(self._word) if not words else None
                word = self._take_word()
                if given is not None:
                    assignments.append(given)
                else:
                    words.append(word)
            elif self.token == "(" and len(words) == 1 and not assignments and (name := plain(words[0])):
                self._next()
                self._expect(")")
                return self._function(name)
            else:
                break
        if not words and not assignments and not redirections:
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return Simple(tuple(words), tuple(assignments), tuple(redirections))

    def _operator_word(self) -> Word:
        """An operator that is a word, as between double brackets."""
        word = (Text(self.token, False),)
        self._next()
        return word

    def _redirection(self) -> Redirections:
        operator, number = self.token, self._number
        self._next()
        if self.token != "word":
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        word = self._word
        if operator in ("<<", "<<-"):
            made = Redirection(number or 0, "<<")
            quoted = any(not isinstance(piece, Text) or piece.quoted for piece in word)
            self._pending.append(_Pending(made, plain(word) or "", quoted, operator == "<<-"))
            self._next()
            return (made,)
        self._next()
        if operator == "<<<":
            return (Redirection(number or 0, "<<", (*word, Text("\n", True))),)
        if operator in ("&>", "&>>"):
            return (Redirection(1, operator[1:], word), Redirection(2, ">&", (Text("1", False),)))
        first = {"<": 0, "<&": 0, "<>": 0}.get(operator, 1)
        known = {">|": ">", "<>": "<"}.get(operator, operator)
        return (Redirection(first if number is None else number, known, word),)
