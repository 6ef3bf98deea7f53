"""The tree of a shell script: words with their pieces, and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

HINT: Final = "not in a simulated container; run real programs with --host-program"

SPECIAL: Final = frozenset(
    {":", ".", "break", "continue", "eval", "exit", "export", "return", "set", "shift", "trap", "unset"}
)
"""Commands of the shell that functions cannot replace, and in front of which assignments last in some shells."""


class ScriptError(Exception):
    """A script with a syntax error. ``unfinished`` is True where further lines may complete it."""

    def __init__(self, text: str, *, unfinished: bool = False) -> None:
        super().__init__(f"syntax error: {text}")
        self.unfinished = unfinished


class Unsupported(Exception):
    """A command or a construct that the small shell does not have.

    It ends the whole program with this exit code, whatever surrounds it (``||``, ``if``, a substitution): a script that
    went on without it would give a wrong answer.
    """

    def __init__(self, what: str, code: int = 2) -> None:
        super().__init__(f"{what}: {HINT}")
        self.code = code


class Text(NamedTuple):
    """Letters of a word."""

    text: str
    quoted: bool


class Parameter(NamedTuple):
    """``$NAME``, or ``${NAME...}`` with an operator and the word behind it."""

    name: str
    operator: str
    word: Word
    quoted: bool


class Substitution(NamedTuple):
    """``$(...)``: the output of commands."""

    body: Node
    quoted: bool


Piece = Text | Parameter | Substitution
Word = tuple[Piece, ...]


@dataclass(slots=True)
class Redirection:
    """``NUMBER OPERATOR TARGET``. The target of ``<<`` is the document, known once its line has ended."""

    number: int
    operator: str
    """One of ``<``, ``>``, ``>>``, ``<&``, ``>&`` and ``<<``."""
    target: Word = ()


class Assignment(NamedTuple):
    """``NAME=VALUE``."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its words, the assignments in front, and redirections."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before it writes."""

    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines with what joins each to the one before: ``&&`` or ``||``, and nothing for the first."""

    parts: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Background:
    """A command followed by ``&``."""

    body: Node


@dataclass(frozen=True, slots=True)
class Subshell:
    """Commands in round brackets, which a shell of their own runs."""

    body: Node


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections."""

    body: Node
    redirections: tuple[Redirection, ...]


@dataclass(frozen=True, slots=True)
class For:
    """``for NAME in WORDS``; ``words`` is None for the arguments of the script."""

    name: str
    words: tuple[Word, ...] | None
    body: Node


@dataclass(frozen=True, slots=True)
class While:
    """``while``, or ``until``."""

    condition: Node
    body: Node
    until: bool


@dataclass(frozen=True, slots=True)
class If:
    """``if`` with its branches in order, and ``else``."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


@dataclass(frozen=True, slots=True)
class Case:
    """``case`` with the patterns and the commands of its branches."""

    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Node], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """The definition of a function."""

    name: str
    body: Node


Node = Simple | Pipeline | AndOr | Commands | Background | Subshell | Redirected | For | While | If | Case | Function


def plain(word: Word) -> str | None:
    """The text of a word without variables and substitutions; None for any other."""
    texts = [piece.text for piece in word if isinstance(piece, Text)]
    return "".join(texts) if len(texts) == len(word) else None
