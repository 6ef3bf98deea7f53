"""The grammar of shell scripts.

Constructs that only some shells know (``[[``, ``((``, ``<<<``, ``&>``, ``function``) are refused.

References
----------
POSIX.1-2017, Shell Command Language, 2.3, 2.7, 2.9 and 2.10.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from simkit.simulation.shell.script import (
    SPECIAL,
    AndOr,
    Assignment,
    Background,
    Case,
    Commands,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    ScriptError,
    Simple,
    Subshell,
    Text,
    Unsupported,
    While,
    Word,
    plain,
)
from simkit.simulation.shell.words import WordReader, assignment_of

_MOST_LETTERS: Final = 64 * 1024
_DEEPEST: Final = 30
_FOREIGN: Final = re.compile(r"<<<|&>|\|&|;;&|;&|<\(|>\(|<>|\{\w+\}[<>]")
_OPERATOR: Final = re.compile(r"<<-|&&|\|\||;;|<<|>>|>\||>&|<&|[<>|;\n()&]")
_REDIRECTIONS: Final = frozenset({"<<-", "<<", ">>", ">|", ">&", "<&", ">", "<"})
_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_NUMBERED: Final = re.compile(r"([0-9])(?=[<>])")
_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\n$")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "{", "}", "!", "in"}
)
"""Words that are no commands."""
_CLOSING: Final = RESERVED - {"if", "case", "while", "until", "for", "{", "!", "in"}
_OF_OTHERS: Final = frozenset({"[[", "function", "select", "time", "coproc"})


class _Document(NamedTuple):
    """A here-document that begins after the present line."""

    redirection: Redirection
    delimiter: str
    quoted: bool
    without_tabs: bool


def parse(text: str) -> Node:
    """The tree of a script. Raises ScriptError, or Unsupported."""
    return _parsed(text)[0]


def command_names(text: str) -> set[str]:
    """The commands that a script names literally, without its own functions. Raises ScriptError, or Unsupported."""
    reader = _parsed(text)[1]
    return reader.names - reader.functions


def _parsed(text: str) -> tuple[Node, _Reader]:
    if len(text) > _MOST_LETTERS:
        raise ScriptError("script is too long")
    if "\0" in text:
        raise Unsupported("a zero byte in a script")
    reader = _Reader(text, 0, 0)
    node = reader.list()
    if reader.token:
        raise reader.unexpected()
    return node, reader


class _Reader:
    """Reads commands; the next token, an operator or ``word``, is always known."""

    def __init__(self, text: str, position: int, depth: int) -> None:
        self._text, self._depth = text, depth
        self.names, self.functions = set[str](), set[str]()
        self._words = WordReader(text, self._inside)
        self._documents: list[_Document] = []
        self.start, self._end = position, position
        """The positions of the next token, and behind it."""
        self.token = ""
        self._word: Word = ()
        self._number: int | None = None
        """The number in front of a redirection."""
        self._next()

    def _inside(self, text: str, position: int) -> tuple[Node, int]:
        """The commands of a substitution, and the position of the bracket behind them."""
        reader = _Reader(text, position, self._depth + 1)
        node = reader.list()
        if reader.token != ")":
            raise ScriptError("unterminated command substitution", unfinished=not reader.token)
        self.names |= reader.names
        return node, reader.start

    # Tokens

    def _next(self) -> None:
        text = self._text
        skipped = _BLANKS.match(text, self._end)
        self._end = skipped.end() if skipped is not None else self._end
        self.token, self._word, self._number = "", (), None
        if self._end >= len(text):
            self._read_documents()
            return
        numbered = _NUMBERED.match(text, self._end)
        if numbered is not None:
            self._number, self._end = int(numbered[0]), numbered.end()
        self.start = self._end
        if (foreign := _FOREIGN.match(text, self.start)) is not None:
            raise Unsupported(foreign[0])
        operator = _OPERATOR.match(text, self.start)
        if operator is None:
            self.token = "word"
            self._word, self._end = self._words.word(self.start)
        else:
            self.token, self._end = operator[0], operator.end()
            if self.token == "\n":
                self._read_documents()

    def _read_documents(self) -> None:
        """Read the here-documents that begin after this line."""
        pending, self._documents = self._documents, []
        for document in pending:
            start, lines, stop = self._end, list[str](), self._end
            while True:
                if self._end >= len(self._text):
                    raise ScriptError("unterminated here-document", unfinished=True)
                end = self._text.find("\n", self._end)
                end = len(self._text) if end < 0 else end
                line = self._text[self._end : end].lstrip("\t" if document.without_tabs else "")
                stop, self._end = self._end, min(end + 1, len(self._text))
                if line == document.delimiter:
                    if lines and not document.quoted and _CONTINUED.search(lines[-1]):
                        raise Unsupported("a here-document with a backslash before its end")
                    break
                lines.append(f"{line}\n")
            body = "".join(lines)
            if document.quoted:
                document.redirection.target = (Text(body, True),)
            elif document.without_tabs:
                document.redirection.target = WordReader(body, self._inside).document(0, len(body))
            else:
                document.redirection.target = self._words.document(start, stop)

    def unexpected(self, behind: str = "") -> ScriptError:
        """The error of a token that must not stand here."""
        shown = "newline" if self.token == "\n" else self._reserved() or self.token
        shown = f'"{shown}"' if self.token else "end of file"
        return ScriptError(f"unexpected {shown}{behind}", unfinished=not self.token)

    def _reserved(self) -> str:
        """The next word, where it has no quotes and variables, or the next operator."""
        if self.token != "word":
            return self.token
        word = self._word
        return word[0].text if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted else ""

    def _take(self, *wanted: str) -> bool:
        found = self._reserved()
        if found and found in wanted:
            self._next()
            return True
        return False

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise self.unexpected(f' (expecting "{wanted}")')

    def _take_word(self) -> Word:
        if self.token != "word":
            raise self.unexpected()
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
                raise self.unexpected()
            else:
                self._take(";")
            parts.append(part)
            self._skip_lines()
        self._depth -= 1
        return Commands(tuple(parts))

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
        reserved = self._reserved()
        if reserved in _OF_OTHERS:
            raise Unsupported(reserved)
        if reserved == "(" and self._text.startswith("(", self._end):
            raise Unsupported("((")
        compound = {
            "if": self._if, "for": self._for, "while": self._while, "until": self._while, "case": self._case,
            "(": self._subshell, "{": self._group,
        }.get(reserved)  # fmt: skip
        if compound is None:
            return self._simple()
        node, found = compound(), list[Redirection]()
        while self.token in _REDIRECTIONS:
            found.append(self._redirection())
        return Redirected(node, tuple(found)) if found else node

    def _subshell(self) -> Node:
        self._next()
        node = self._filled()
        self._expect(")")
        return Subshell(node)

    def _group(self) -> Node:
        self._next()
        node = self._filled()
        self._expect("}")
        return node

    def _for(self) -> Node:
        self._next()
        if self.token == "(":
            raise Unsupported("for ((")
        name, words = self._reserved(), list[Word]()
        self._take_word()
        if _NAME.fullmatch(name) is None:
            raise ScriptError("bad variable name")
        self._skip_lines()
        listed = self._take("in")
        while listed and self.token == "word":
            words.append(self._take_word())
        self._take(";")
        self._skip_lines()
        return For(name, tuple(words) if listed else None, self._body())

    def _while(self) -> Node:
        until = self._reserved() == "until"
        self._next()
        condition = self._filled()
        return While(condition, self._body(), until)

    def _body(self) -> Node:
        self._expect("do")
        body = self._filled()
        self._expect("done")
        return body

    def _filled(self) -> Node:
        """A list that has a command."""
        found = self.list()
        if found == Commands(()):
            raise self.unexpected()
        return found

    def _if(self) -> Node:
        branches, otherwise = list[tuple[Node, Node]](), None
        while self._take("if", "elif"):
            condition = self._filled()
            self._expect("then")
            branches.append((condition, self._filled()))
            if self._reserved() != "elif":
                break
        if self._take("else"):
            otherwise = self._filled()
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _case(self) -> Node:
        self._next()
        subject, branches = self._take_word(), list[tuple[tuple[Word, ...], Node]]()
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
            if not self._take(";;") and self._reserved() != "esac":
                raise self.unexpected(' (expecting ";;")')
            self._skip_lines()
        return Case(subject, tuple(branches))

    def _simple(self) -> Node:
        words, assignments, redirections = list[Word](), list[Assignment](), list[Redirection]()
        if self._reserved() in _CLOSING | {"in"}:
            raise self.unexpected()
        while self.token == "word" or self.token in _REDIRECTIONS:
            if self.token != "word":
                redirections.append(self._redirection())
                continue
            name, word = self._reserved(), self._take_word()
            assigned = assignment_of(word) if not words else None
            if assigned is not None:
                assignments.append(Assignment(*assigned))
            else:
                words.append(word)
            if self.token == "(":
                if assigned is None and len(words) == 1 and not assignments and not redirections:
                    return self._function(name)
                raise Unsupported(f"{plain(word) or ''}(")
        if not words and not assignments and not redirections:
            raise self.unexpected()
        if words:
            self.names |= {plain(words[0]) or ""} - {""}
        return Simple(tuple(words), tuple(assignments), tuple(redirections))

    def _function(self, name: str) -> Node:
        self._next()
        self._expect(")")
        if name in SPECIAL:
            raise Unsupported(f"{name}()")
        if _NAME.fullmatch(name) is None or name in RESERVED:
            raise ScriptError("bad function name")
        self._skip_lines()
        if self._reserved() not in ("(", "{", "if", "for", "while", "until", "case"):
            raise self.unexpected()
        self.functions.add(name)
        return Function(name, self._command())

    def _redirection(self) -> Redirection:
        operator, number = self.token, self._number
        usual = 0 if operator[0] == "<" else 1
        self._next()
        if self.token != "word":
            raise self.unexpected()
        made = Redirection(usual if number is None else number, operator.replace("<<-", "<<").replace(">|", ">"))
        target = plain(self._word)
        if made.operator == "<<":
            if target is None:
                raise Unsupported("<< with a variable")
            quoted = any(isinstance(piece, Text) and piece.quoted for piece in self._word)
            self._documents.append(_Document(made, target, quoted, operator == "<<-"))
        elif operator == ">&" and number is None and target not in (*"0123456789-", None):
            raise Unsupported(">&FILE")
        made.target = self._word
        self._next()
        return made


def is_name(text: str) -> bool:
    """True if a text is the name of a variable."""
    return _NAME.fullmatch(text) is not None
