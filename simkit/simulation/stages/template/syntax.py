"""Parsing of templates to trees.

Upstream: Go, src/text/template/parse, release 1.22.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.meta.errors import SimkitError

_ACTION: Final = re.compile(
    r"""\{\{(?P<left>-\s)?(?P<body>(?:/\*.*?\*/|"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])*'|(?!\s-\}\}|\}\}).)*+)"""
    r"""(?P<right>\s-)?\}\}""",
    re.DOTALL | re.VERBOSE,
)
_TOKEN: Final = re.compile(
    r"""\s+|(?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)|(?P<char>'(?:\\.|[^'\\\n])*')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?))
    |(?P<declare>:=)|(?P<assign>=)|(?P<pipe>\|)|(?P<open>\()|(?P<close>\))|(?P<comma>,)
    |(?P<field>\.\w+)|(?P<dot>\.)|(?P<variable>\$\w*)|(?P<word>\w+)""",
    re.VERBOSE,
)
_MOST_LETTERS: Final = 1_000_000
_DEEPEST: Final = 100
_CONSTANTS: Final[Mapping[str, Any]] = {"true": True, "false": False, "nil": None}


class TemplateError(SimkitError):
    """A template that cannot be parsed or executed."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value of a command: a literal, a field, a variable, a function, or a pipeline in brackets, and its fields.

    ``kind`` is literal, dot, variable, function or pipeline.
    """

    kind: str
    value: Any = None
    fields: tuple[str, ...] = ()


Command = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, of which each gets the result of the one before it as its last argument."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    declares: bool = True


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is written as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """A pipeline whose value is written."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """An ``if``, ``with`` or ``range`` with its two lists of nodes."""

    kind: str
    pipeline: Pipeline
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A template that is executed in this place."""

    name: str
    pipeline: Pipeline | None


@dataclass(frozen=True, slots=True)
class Jump:
    """A ``break`` or ``continue``."""

    word: str


Node = Text | Write | Branch | Call | Jump


@dataclass(slots=True)
class Template:
    """A parsed template, with those that it defines by name."""

    nodes: tuple[Node, ...] = ()
    defined: dict[str, tuple[Node, ...]] = field(default_factory=dict)


def parse(text: str) -> Template:
    """The tree of a template. Raises TemplateError.

    Examples
    --------
    >>> parse("{{ .metadata.name }}").nodes[0].pipeline.commands[0][0].fields
    ('metadata', 'name')
    """
    if len(text) > _MOST_LETTERS:
        raise TemplateError(f"a template of more than {_MOST_LETTERS:,} letters")
    return _Parser(list(_pieces(text))).template()


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Texts and actions in turn, with white space taken away where an action asks for it."""
    position, trims = 0, False
    while (start := text.find("{{", position)) >= 0:
        found = _ACTION.match(text, start)
        if found is None:
            raise TemplateError(f"unclosed action at {text[start : start + 40]!r}")
        before = text[position : found.start()]
        before = before.lstrip(" \t\r\n") if trims else before
        yield "text", before.rstrip(" \t\r\n") if found["left"] else before
        body = found["body"].strip()
        if not (body.startswith("/*") and body.endswith("*/")):
            yield "action", body
        position, trims = found.end(), bool(found["right"])
    rest = text[position:]
    yield "text", rest.lstrip(" \t\r\n") if trims else rest


class _Parser:
    def __init__(self, pieces: Sequence[tuple[str, str]]) -> None:
        self._pieces, self._at, self._depth = pieces, 0, 0
        self._made = Template()

    def template(self) -> Template:
        nodes, end = self._nodes(())
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        self._made.nodes = nodes
        return self._made

    def _nodes(self, ends: Sequence[str]) -> tuple[tuple[Node, ...], str]:
        """Nodes until one of the words, and the action that ended them."""
        found: list[Node] = []
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(f"actions nest more than {_DEEPEST} levels deep")
        while self._at < len(self._pieces):
            kind, body = self._pieces[self._at]
            self._at += 1
            word = body.split(None, 1)[0] if kind == "action" and body else ""
            if kind == "text":
                if body:
                    found.append(Text(body))
            elif word in ("end", "else"):
                if word not in ends:
                    raise TemplateError(f"unexpected {{{{{word}}}}}")
                self._depth -= 1
                return tuple(found), body
            else:
                node = self._action(word, body)
                if node is not None:
                    found.append(node)
        if ends:
            raise TemplateError("unexpected end of the template; an {{end}} is missing")
        return tuple(found), ""

    def _action(self, word: str, body: str) -> Node | None:
        rest = body[len(word) :].strip()
        if word in ("if", "with", "range"):
            return self._branch(word, rest)
        if word in ("break", "continue"):
            return Jump(word)
        if word in ("template", "define", "block"):
            return self._named(word, rest)
        if not body:
            raise TemplateError("missing value for command")
        return Write(_pipeline(body))

    def _branch(self, word: str, rest: str) -> Branch:
        pipeline = _pipeline(rest, pairs=word == "range")
        then, end = self._nodes(("end", "else"))
        if end == "end":
            return Branch(word, pipeline, then)
        more = end[len("else") :].strip()
        if not more:
            return Branch(word, pipeline, then, self._nodes(("end",))[0])
        inner, _, condition = more.partition(" ")
        if inner not in ("if", "with"):
            raise TemplateError(f"unexpected {inner!r} after else")
        return Branch(word, pipeline, then, (self._branch(inner, condition),))

    def _named(self, word: str, rest: str) -> Node | None:
        tokens = _tokens(rest)
        if not tokens or tokens[0][0] != "string":
            raise TemplateError(f"{word} needs a name in quotation marks")
        name = _string(tokens[0][1])
        argument = _Tokens(tokens[1:]).pipeline() if len(tokens) > 1 else None
        if word == "template":
            return Call(name, argument)
        self._made.defined[name] = self._nodes(("end",))[0]
        return Call(name, argument) if word == "block" else None


def _pipeline(text: str, *, pairs: bool = False) -> Pipeline:
    return _Tokens(_tokens(text), pairs=pairs).pipeline()


def _tokens(text: str) -> list[tuple[str, str, bool]]:
    """Kind, text, and whether white space stands before it."""
    found, position, spaced = [], 0, True
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise TemplateError(f"unexpected {text[position : position + 20]!r}")
        if match.lastgroup is None:
            spaced = True
        else:
            found.append((match.lastgroup, match.group(), spaced))
            spaced = False
        position = match.end()
    return found


class _Tokens:
    """The tokens of one action."""

    def __init__(self, tokens: Sequence[tuple[str, str, bool]], *, pairs: bool = False) -> None:
        self._tokens, self._at, self._pairs, self._depth = tokens, 0, pairs, 0

    def _peek(self, offset: int = 0) -> str:
        where = self._at + offset
        return self._tokens[where][0] if where < len(self._tokens) else ""

    def pipeline(self) -> Pipeline:
        variables, declares = self._variables()
        found = self._commands()
        if self._at < len(self._tokens):
            raise TemplateError(f"unexpected {self._tokens[self._at][1]!r}")
        return Pipeline(found, variables, declares)

    def _variables(self) -> tuple[tuple[str, ...], bool]:
        if self._peek() != "variable":
            return (), True
        if self._peek(1) in ("declare", "assign"):
            self._at += 2
            return (self._tokens[self._at - 2][1],), self._tokens[self._at - 1][0] == "declare"
        if self._pairs and [self._peek(n) for n in range(1, 4)] in (
            ["comma", "variable", "declare"],
            ["comma", "variable", "assign"],
        ):
            self._at += 4
            names = (self._tokens[self._at - 4][1], self._tokens[self._at - 2][1])
            return names, self._tokens[self._at - 1][0] == "declare"
        return (), True

    def _commands(self) -> tuple[Command, ...]:
        found = [self._command()]
        while self._peek() == "pipe":
            self._at += 1
            found.append(self._command())
        return tuple(found)

    def _command(self) -> Command:
        found = []
        while self._peek() not in ("", "pipe", "close"):
            found.append(self._operand())
        if not found:
            raise TemplateError("missing value for command")
        return tuple(found)

    def _operand(self) -> Operand:
        kind, text, _ = self._tokens[self._at]
        self._at += 1
        if kind == "open":
            operand = self._bracketed()
        elif kind in ("string", "char", "number"):
            value = _string(text) if kind == "string" else ord(_string(text)) if kind == "char" else _number(text)
            return Operand("literal", value)
        elif kind == "field":
            return Operand("dot", None, (text[1:], *self._fields()))
        elif kind == "dot":
            return Operand("dot")
        elif kind == "variable":
            operand = Operand("variable", text)
        elif kind == "word":
            operand = Operand("literal", _CONSTANTS[text]) if text in _CONSTANTS else Operand("function", text)
        else:
            raise TemplateError(f"unexpected {text!r}")
        fields = self._fields()
        return Operand(operand.kind, operand.value, fields) if fields else operand

    def _bracketed(self) -> Operand:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(f"brackets nest more than {_DEEPEST} levels deep")
        inner = Pipeline(self._commands())
        if self._peek() != "close":
            raise TemplateError("unclosed left bracket")
        self._at += 1
        self._depth -= 1
        return Operand("pipeline", inner)

    def _fields(self) -> tuple[str, ...]:
        """The fields that follow without white space."""
        found = []
        while self._peek() == "field" and not self._tokens[self._at][2]:
            found.append(self._tokens[self._at][1][1:])
            self._at += 1
        return tuple(found)


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)


def _string(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]

    def decoded(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code or found[4]:
            return chr(int(code, 16) if code else int(found[4], 8))
        return _ESCAPES.get(found[5], found[5])

    return _ESCAPE.sub(decoded, text[1:-1])


def _number(text: str) -> int | float:
    try:
        return int(text, 0) if text.lstrip("+-").isdigit() or "x" in text.lower() else float(text)
    except ValueError as error:
        raise TemplateError(f"bad number syntax: {text!r}") from error
