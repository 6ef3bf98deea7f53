"""The tree of a shell script: words with their pieces, commands, and the commands that a script names.

References
----------
POSIX.1-2017, Shell Command Language, 2.9 and 2.10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_ADDITION: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+=")


class ScriptError(Exception):
    """A script that cannot be read."""


class Text(NamedTuple):
    """Letters of a word."""

    text: str
    quoted: bool


class Parameter(NamedTuple):
    """A variable: ``$NAME``, or ``${NAME...}`` with an operator and the word behind it; ``${#NAME}`` has ``length``."""

    name: str
    operator: str
    word: Word
    quoted: bool
    subscript: Word | None = None
    """The part between the brackets of ``${NAME[...]}``."""
    indirect: bool = False
    """True for ``${!NAME}``: the variable whose name is meant, or the subscripts of an array."""


class Substitution(NamedTuple):
    """A command whose output is meant."""

    body: Node
    quoted: bool


class Arithmetic(NamedTuple):
    """A number to be computed."""

    expression: Word
    quoted: bool


class Process(NamedTuple):
    """``<(...)`` or ``>(...)``: a file that holds what commands write, or that they read."""

    body: Node
    direction: str
    """``<`` or ``>``."""
    quoted: bool = False


class Element(NamedTuple):
    """One word between the brackets of ``NAME=(...)``, with its subscript if it is ``[SUBSCRIPT]=VALUE``."""

    value: Word
    subscript: Word | None = None
    appends: bool = False


class Listing(NamedTuple):
    """The elements of ``NAME=(...)``."""

    elements: tuple[Element, ...]
    quoted: bool = False


Piece = Text | Parameter | Substitution | Arithmetic | Process | Listing
Word = tuple[Piece, ...]


@dataclass(slots=True)
class Redirection:
    """The destination of the output with a number, or the source of input.

    The target of ``<<`` is the text itself. It is known only once the line has ended on which the redirection stands.
    """

    number: int
    operator: str
    """One of ``<``, ``>``, ``>>``, ``<&``, ``>&`` and ``<<``."""
    target: Word = ()


Redirections = tuple[Redirection, ...]


class Assignment(NamedTuple):
    """``NAME=VALUE``, ``NAME[SUBSCRIPT]=VALUE``, and with ``+=`` what is added to the value there is."""

    name: str
    value: Word
    subscript: Word | None = None
    appends: bool = False

    @property
    def elements(self) -> tuple[Element, ...] | None:
        """The elements of ``NAME=(...)``; None for one value."""
        return self.value[0].elements if self.value and isinstance(self.value[0], Listing) else None


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its words, assignments in front and redirections."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirections: Redirections = ()
    line: int = 0
    """The line on which it begins."""


@dataclass(frozen=True, slots=True)
class Computed:
    """``((EXPRESSION))``: it succeeds where the value is not 0, or the expression is left out."""

    expression: Word


class Test(NamedTuple):
    """A condition with one side or two; without an operator it holds for a text that is not empty."""

    operator: str
    left: Word
    right: Word = ()


class Joined(NamedTuple):
    """Conditions with ``&&`` or ``||`` between them, or one with ``!`` in front."""

    operator: str
    parts: tuple[Test | Joined, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """``[[ ... ]]``."""

    condition: Test | Joined


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before it writes."""

    commands: tuple[Node, ...]
    negated: bool = False
    timed: bool = False
    """True for ``time``."""


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines with what joins each to the one before: ``&&`` or ``||``, and nothing for the first."""

    parts: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Background:
    """A command that nobody waits for."""

    body: Node


@dataclass(frozen=True, slots=True)
class Subshell:
    """Commands in brackets: a shell of their own."""

    body: Node


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections."""

    body: Node
    redirections: Redirections


@dataclass(frozen=True, slots=True)
class For:
    """``for NAME in WORDS``; ``words`` is None for the arguments of the script."""

    name: str
    words: tuple[Word, ...] | None
    body: Node
    asks: bool = False
    """True for ``select``: the value of each turn is chosen by a line of the input."""


@dataclass(frozen=True, slots=True)
class While:
    """``while`` a condition holds, or ``until`` it does."""

    condition: Node
    body: Node
    until: bool = False
    step: Node | None = None
    """The command after each turn: that of ``for ((...; ...; step))``."""


@dataclass(frozen=True, slots=True)
class If:
    """``if`` with its branches in order, and what is done otherwise."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """``case`` with its branches in order: patterns, what is done for them, and the sign behind it.

    After ``;;`` the command is over; after ``;&`` the next branch is done, and after ``;;&`` the next one that matches.
    """

    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Node, str], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """The definition of a function."""

    name: str
    body: Node


Node = (
    Simple | Pipeline | AndOr | Sequence | Background | Subshell | Redirected | For | While | If | Case | Function
    | Computed | Condition
)  # fmt: skip


def plain(word: Word) -> str | None:
    """The text of a word that is written out; None for one with variables and the like."""
    return "".join(piece.text for piece in word if isinstance(piece, Text)) if _is_plain(word) else None


def _is_plain(word: Word) -> bool:
    return all(isinstance(piece, Text) for piece in word)


def command_names(node: Node) -> set[str]:
    """The commands that a script may run, as far as they are written out, without its own functions."""
    nodes = list(_nodes(node))
    own = {each.name for each in nodes if isinstance(each, Function)}
    first = [each.words[0] for each in nodes if isinstance(each, Simple) and each.words]
    return {name for word in first if (name := plain(word)) is not None} - own


def _nodes(node: Node) -> Iterator[Node]:
    """A command and all commands in it, but for those of substitutions."""
    yield node
    for inner in _parts(node):
        yield from _nodes(inner)


def _parts(node: Node) -> Iterator[Node]:
    match node:
        case Pipeline(parts) | Sequence(parts):
            yield from parts
        case AndOr(joined):
            yield from (part for _, part in joined)
        case Background(body) | Subshell(body) | Redirected(body, _) | For(_, _, body, _) | Function(_, body):
            yield body
        case While(condition, body, _, step):
            yield from (condition, body) if step is None else (condition, body, step)
        case If(branches, otherwise):
            yield from (each for branch in branches for each in branch)
            if otherwise is not None:
                yield otherwise
        case Case(_, cases):
            yield from (body for _, body, _ in cases)


def assigned(word: Word, *, adds: bool) -> Assignment | None:
    """The assignment that a word is; ``adds`` says that ``+=`` is known."""
    first = word[0] if word else None
    if not isinstance(first, Text) or first.quoted:
        return None
    appends = False
    found = _ASSIGNMENT.match(first.text)
    if found is None and adds:
        found = _ADDITION.match(first.text)
        appends = True
    if found is None:
        return None
    rest = first.text[found.end() :]
    return Assignment(found[1], (*((Text(rest, False),) if rest else ()), *word[1:]), None, appends)
