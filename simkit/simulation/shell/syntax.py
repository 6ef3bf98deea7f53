"""The syntax of shell scripts, as far as it is known here: lists, pipelines, redirections, if, for and while."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

MOST_LETTERS: Final = 64 * 1024
_DEEPEST: Final = 30
_OPERATORS: Final = (
    "&&",
    "||",
    ";;",
    "2>&1",
    ">&2",
    "1>&2",
    "2>>",
    "2>",
    ">>",
    ">",
    "<",
    "|",
    ";",
    "\n",
    "(",
    ")",
    "&",
)
_REDIRECTIONS: Final = frozenset({"2>&1", ">&2", "1>&2", "2>>", "2>", ">>", ">", "<"})
_NEEDS_TARGET: Final = frozenset({"2>>", "2>", ">>", ">", "<"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class ScriptError(Exception):
    """A script that cannot be read."""


class Piece(NamedTuple):
    """A part of a word: letters, a variable, a command whose output is meant, or a number to be computed."""

    kind: str
    """``text``, ``variable``, ``command`` or ``number``."""
    text: str
    quoted: bool


Word = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its words, assignments in front and redirections."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[tuple[str, Word], ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before it writes."""

    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines with what joins each to the one before: ``;``, ``&&`` or ``||``."""

    parts: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """``for NAME in WORDS``, or ``while`` and ``until`` a condition holds."""

    kind: str
    body: Node
    name: str = ""
    words: tuple[Word, ...] = ()
    condition: Node | None = None


@dataclass(frozen=True, slots=True)
class If:
    """``if`` with its branches in order, and what is done otherwise."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """``case`` with its branches in order: patterns, and what is done for them."""

    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Node], ...]


Node = Simple | Pipeline | Chain | Loop | If | Case


class _Token(NamedTuple):
    operator: str
    word: Word


def tokens(text: str) -> list[_Token]:
    """The operators and words of a script. Raises ScriptError."""
    if len(text) > MOST_LETTERS:
        raise ScriptError("script is too long")
    found: list[_Token] = []
    position = 0
    while position < len(text):
        if text[position] in " \t\r" or text.startswith("\\\n", position):
            position += 1 + text.startswith("\\\n", position)
        elif text[position] == "#":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif operator := next((each for each in _OPERATORS if text.startswith(each, position)), ""):
            found.append(_Token(operator, ()))
            position += len(operator)
        else:
            word, position = _word(text, position)
            found.append(_Token("", word))
    return found


def _word(text: str, position: int) -> tuple[Word, int]:
    pieces: list[Piece] = []
    while position < len(text) and text[position] not in " \t\r\n;|&<>()":
        letter = text[position]
        if letter == "'":
            end = text.find("'", position + 1)
            if end < 0:
                raise ScriptError("syntax error: unterminated quoted string")
            pieces.append(Piece("text", text[position + 1 : end], True))
            position = end + 1
        elif letter == '"':
            inner, position = _quoted(text, position + 1)
            pieces += inner
        elif letter == "\\" and position + 1 < len(text):
            pieces.append(Piece("text", text[position + 1], True))
            position += 2
        elif letter == "$":
            piece, position = _dollar(text, position, quoted=False)
            pieces.append(piece)
        else:
            pieces.append(Piece("text", letter, False))
            position += 1
    return _joined(pieces), position


def _joined(pieces: Sequence[Piece]) -> Word:
    found: list[Piece] = []
    for piece in pieces:
        if found and piece.kind == "text" and found[-1].kind == "text" and found[-1].quoted == piece.quoted:
            found[-1] = Piece("text", found[-1].text + piece.text, piece.quoted)
        else:
            found.append(piece)
    return tuple(found)


def _quoted(text: str, position: int) -> tuple[list[Piece], int]:
    pieces: list[Piece] = [Piece("text", "", True)]
    while position < len(text) and text[position] != '"':
        if text[position] == "\\" and text[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            pieces.append(Piece("text", text[position + 1], True))
            position += 2
        elif text[position] == "$":
            piece, position = _dollar(text, position, quoted=True)
            pieces.append(piece)
        else:
            pieces.append(Piece("text", text[position], True))
            position += 1
    if position >= len(text):
        raise ScriptError("syntax error: unterminated quoted string")
    return pieces, position + 1


def _dollar(text: str, position: int, *, quoted: bool) -> tuple[Piece, int]:
    rest = text[position + 1 :]
    if rest.startswith("((") and (inside := _arithmetic(text, position + 1)) is not None:
        return Piece("number", inside, quoted), position + len(inside) + len("$(())")
    if rest.startswith("("):
        end = _closing(text, position + 1)
        return Piece("command", text[position + 2 : end], quoted), end + 1
    if rest.startswith("{"):
        end = text.find("}", position)
        if end < 0:
            raise ScriptError("syntax error: bad substitution")
        return Piece("variable", text[position + 2 : end], quoted), end + 1
    if rest[:1] in "?$#@*0123456789" and rest:
        return Piece("variable", rest[0], quoted), position + 2
    name = _NAME.match(rest)
    if name is None:
        return Piece("text", "$", quoted), position + 1
    return Piece("variable", name.group(), quoted), position + 1 + name.end()


def _arithmetic(text: str, opening: int) -> str | None:
    """The expression in double brackets; None if these hold a command in brackets of its own."""
    end = _closing(text, opening)
    inner = _closing(text, opening + 1)
    return text[opening + 2 : inner] if inner == end - 1 else None


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    raise ScriptError("syntax error: unterminated command substitution")


def parse(text: str) -> Node:
    """The tree of a script. Raises ScriptError."""
    reader = _Reader(tokens(text))
    node = reader.chain(())
    if not reader.done:
        raise ScriptError(f"syntax error: unexpected {reader.shown}")
    return node


class _Reader:
    def __init__(self, found: Sequence[_Token]) -> None:
        self._tokens, self._position, self._depth = found, 0, 0

    @property
    def done(self) -> bool:
        return self._position >= len(self._tokens)

    @property
    def shown(self) -> str:
        return f'"{self._operator() or self._plain()}"' if not self.done else "end of file"

    def _operator(self) -> str:
        return "" if self.done else self._tokens[self._position].operator

    def _plain(self) -> str:
        """The next word, where it is one without quotes and variables."""
        word = () if self.done else self._tokens[self._position].word
        return word[0].text if len(word) == 1 and word[0].kind == "text" and not word[0].quoted else ""

    def _take(self, *wanted: str) -> bool:
        if not self.done and (self._operator() in wanted or (self._plain() in wanted and self._plain())):
            self._position += 1
            return True
        return False

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise ScriptError(f'syntax error: unexpected {self.shown} (expecting "{wanted}")')

    def chain(self, ends: Sequence[str]) -> Node:
        """Pipelines up to a word that ends the list."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("syntax error: nested too deep")
        parts: list[tuple[str, Node]] = []
        joint = ";"
        while True:
            while self._take(";", "\n"):
                joint = ";"
            if self.done or self._plain() in ends or self._operator() in (")", ";;"):
                break
            parts.append((joint, self._pipeline()))
            if self._operator() in ("&&", "||"):
                joint = self._operator()
                self._position += 1
                while self._take("\n"):
                    pass
            elif not self.done and self._operator() not in (";", "\n", ")", ";;") and self._plain() not in ends:
                raise ScriptError(f"syntax error: unexpected {self.shown}")
        self._depth -= 1
        return Chain(tuple(parts))

    def _pipeline(self) -> Node:
        negated = self._take("!")
        commands = [self._command()]
        while self._take("|"):
            commands.append(self._command())
        return commands[0] if len(commands) == 1 and not negated else Pipeline(tuple(commands), negated)

    def _command(self) -> Node:
        if self._take("for"):
            return self._for()
        for kind in ("while", "until"):
            if self._take(kind):
                condition = self.chain(("do",))
                return Loop(kind, self._body(), condition=condition)
        if self._take("if"):
            return self._if()
        if self._take("case"):
            return self._case()
        if self._take("("):
            node = self.chain(())
            self._expect(")")
            return node
        if self._take("{"):
            node = self.chain(("}",))
            self._expect("}")
            return node
        return self._simple()

    def _for(self) -> Node:
        name = self._plain()
        self._position += 1
        words: list[Word] = []
        if self._take("in"):
            while not self.done and not self._operator():
                words.append(self._tokens[self._position].word)
                self._position += 1
        while self._take(";", "\n"):
            pass
        return Loop("for", self._body(), name, tuple(words))

    def _next_word(self) -> Word:
        if self.done or self._operator():
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        self._position += 1
        return self._tokens[self._position - 1].word

    def _skip_lines(self) -> None:
        while self._take("\n"):
            pass

    def _case(self) -> Case:
        subject, branches = self._next_word(), list[tuple[tuple[Word, ...], Node]]()
        self._skip_lines()
        self._expect("in")
        self._skip_lines()
        while not self._take("esac"):
            self._take("(")
            patterns = [self._next_word()]
            while self._take("|"):
                patterns.append(self._next_word())
            self._expect(")")
            branches.append((tuple(patterns), self.chain(("esac",))))
            self._take(";;")
            self._skip_lines()
        return Case(subject, tuple(branches))

    def _body(self) -> Node:
        self._expect("do")
        body = self.chain(("done",))
        self._expect("done")
        return body

    def _if(self) -> Node:
        branches = [self._branch()]
        while self._take("elif"):
            branches.append(self._branch())
        otherwise = self.chain(("fi",)) if self._take("else") else None
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _branch(self) -> tuple[Node, Node]:
        condition = self.chain(("then",))
        self._expect("then")
        return condition, self.chain(("elif", "else", "fi"))

    def _simple(self) -> Simple:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirections: list[tuple[str, Word]] = []
        while not self.done:
            operator = self._operator()
            if operator in _REDIRECTIONS:
                self._position += 1
                target = self._tokens[self._position].word if operator in _NEEDS_TARGET and not self.done else ()
                self._position += operator in _NEEDS_TARGET
                redirections.append((operator, target))
                continue
            if operator:
                break
            word = self._tokens[self._position].word
            self._position += 1
            if not words and _ASSIGNMENT.match(word[0].text if word and not word[0].quoted else ""):
                name, _, rest = word[0].text.partition("=")
                assignments.append((name, (Piece("text", rest, True), *word[1:])))
            else:
                words.append(word)
        if not words and not assignments and not redirections:
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return Simple(tuple(words), tuple(assignments), tuple(redirections))


def command_names(node: Node) -> set[str]:
    """The commands that a script may run, as far as they are written out."""
    match node:
        case Simple(words):
            first = words[0] if words else ()
            return {"".join(piece.text for piece in first)} if all(each.kind == "text" for each in first) else set()
        case Pipeline(commands):
            return set().union(*map(command_names, commands))
        case Chain(parts):
            return set().union(*(command_names(part) for _, part in parts))
        case Loop():
            inner = command_names(node.condition) if node.condition is not None else set()
            return inner | command_names(node.body)
        case If(branches, otherwise):
            found = set().union(*(command_names(each) for branch in branches for each in branch))
            return found | (command_names(otherwise) if otherwise is not None else set())
        case Case(_, cases):
            return set().union(*(command_names(body) for _, body in cases))
