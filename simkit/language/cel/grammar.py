"""Parsing of sources to syntax trees, with the grammar of celpy (the distribution cel-python) and the corrections
below.

celpy's own ``CELParser`` does not serve here: it drops the tokens that errors point at, takes no transformer, and reads
neither optional syntax nor escapes as cel-go does. Its grammar file is part of the distribution and is read through
importlib.metadata, so that celpy itself is not imported. ``CORRECTIONS`` lists the differences, with reasons.

lark and the grammar are loaded when the first expression is parsed. cel-spec, doc/langdef.md, "Syntax"; optional
syntax: cel-go 0.17, parser/gen/CEL.g4.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.language.cel import syntax_errors
from simkit.language.cel.build import Builder
from simkit.language.cel.errors import NOWHERE, CompileError, Issue
from simkit.language.cel.macros import READING, Reading, macros_of
from simkit.language.cel.tree import Node

if TYPE_CHECKING:
    from lark import Lark

MAX_DEPTH: Final = 250
"""The depth to which cel-go lets expressions nest."""

LONGEST: Final = 100_000
"""The most letters of an expression in cel-go."""
_BRACKETS: Final = re.compile(
    r"""[\[\](){}]
    |[rR](?:'{3}(?:(?!'{3}).)*+(?:'{3})?|"{3}(?:(?!"{3}).)*+(?:"{3})?|'[^']*+'?|"[^"]*+"?)
    |'{3}(?:\\.|(?!'{3})[^\\])*+(?:'{3})?|"{3}(?:\\.|(?!"{3})[^\\])*+(?:"{3})?
    |'(?:\\.|[^'\\])*+'?|"(?:\\.|[^"\\])*+"?""",
    re.DOTALL | re.VERBOSE,
)
"""Brackets and texts. A text that is not closed reaches to the end, so that nothing is read twice."""
_COMMON_DEPTH: Final = 30
_DEEP_STACK: Final = 10_000
"""Python's recursion limit for deep expressions, set when the first one comes."""
_ESCAPES: Final = r"\\[abfnrtv\"'\\`?]|\\[xX][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[0-3][0-7]{2}"


class Correction(NamedTuple):
    """One rule or terminal that differs from celpy's grammar."""

    rule: str
    reason: str
    text: str


CORRECTIONS: Final = (
    Correction(
        "member",
        "optional selection and optional index are newer than celpy's grammar",
        """
%extend member: member_optional_dot | member_optional_index
member_optional_dot: member "." "?" IDENT
member_optional_index: member "[" "?" expr "]"
optional_expr: "?" expr
optional_field: "?" IDENT
""",
    ),
    Correction(
        "exprlist",
        "list elements may be optional; left recursion lets the parser build long lists without a stack",
        '%override exprlist: (expr | optional_expr) | exprlist "," (expr | optional_expr)\n',
    ),
    Correction("list_lit", "a comma may end a list", '%override list_lit: "[" [exprlist] [","] "]"\n'),
    Correction(
        "mapinits",
        "map entries may be optional",
        '%override mapinits: (expr | optional_expr) ":" expr | mapinits "," (expr | optional_expr) ":" expr\n',
    ),
    Correction("map_lit", "a comma may end a map", '%override map_lit: "{" [mapinits] [","] "}"\n'),
    Correction(
        "fieldinits",
        "fields of messages may be optional",
        '%override fieldinits: (IDENT | optional_field) ":" expr | fieldinits "," (IDENT | optional_field) ":" expr\n',
    ),
    Correction(
        "member_object", "a comma may end a message", '%override member_object: member "{" [fieldinits] [","] "}"\n'
    ),
    Correction(
        "FLOAT_LIT",
        "celpy lets a dot end a number, so that 1.size() does not parse",
        "FLOAT_LIT: /-?(?:[0-9]+\\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\\.[0-9]+(?:[eE][+-]?[0-9]+)?)/\n",
    ),
    Correction(
        "INT_LIT",
        "a number must not end inside another one, such as 1 in 1u or 0 in 0x",
        "INT_LIT: /-?(?:0x[0-9a-fA-F]+(?![0-9a-fA-FuU])|[0-9]+(?![0-9uU]|x[0-9a-fA-F]))/\n",
    ),
    Correction(
        "UINT_LIT", "celpy allows a sign before an unsigned number", "UINT_LIT: /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]/\n"
    ),
    Correction(
        "STRING_LIT",
        "celpy takes unknown escapes for letters",
        "STRING_LIT: "
        r"""/(?:[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'|"""
        rf""""(?:{_ESCAPES}|[^"\n\r\\])*"|'(?:{_ESCAPES}|[^'\n\r\\])*')/"""
        "\n",
    ),
    Correction(
        "MLSTRING_LIT",
        "celpy takes unknown escapes for letters",
        "MLSTRING_LIT: "
        r"""/(?:[rR]\"\"\"(?:.|[\r\n])*?\"\"\"|[rR]\'\'\'(?:.|[\r\n])*?\'\'\'|"""
        rf"""\"\"\"(?:{_ESCAPES}|[^\\])*?\"\"\"|\'\'\'(?:{_ESCAPES}|[^\\])*?\'\'\')/"""
        "\n",
    ),
)
"""The differences from celpy's grammar. A terminal in capitals replaces the one of celpy."""
_WORDS: Final = {"true": "BOOL_LIT", "false": "BOOL_LIT", "null": "NULL_LIT", "in": "IN"}


def _grammar_text() -> str:
    """The grammar of the installed celpy with the corrections."""
    try:
        path = Path(str(distribution("cel-python").locate_file("celpy/cel.lark")))
    except PackageNotFoundError:
        raise CompileError("", [Issue(0, "the distribution cel-python is not installed")]) from None
    terminals = "|".join(each.rule for each in CORRECTIONS if each.rule.isupper())
    kept = re.sub(rf"^(?:{terminals}) *:.*\n(?: +\|.*\n)*", "", path.read_text(encoding="utf-8"), flags=re.M)
    return kept + "".join(each.text for each in CORRECTIONS)


@cache
def parser() -> Lark:
    """The parser, built once in a process (about a tenth of a second)."""
    from lark import Lark

    return Lark(
        _grammar_text(),
        parser="lalr",
        start="expr",
        keep_all_tokens=True,
        maybe_placeholders=False,
        propagate_positions=False,
        lexer_callbacks={"IDENT": _word},
        transformer=Builder(),
    )


def _word(token: Any) -> Any:
    """The callback for words: celpy's grammar leaves it to one to separate keywords from names."""
    kind = _WORDS.get(token)
    if kind is not None:
        token.type = kind
    return token


def parse(source: str, version: tuple[int, int] = (1, 0), *, bindings: bool = False, quoted: bool = False) -> Node:
    """The syntax tree of an expression, with the macros of a compatibility version expanded.

    ``bindings`` tells whether ``cel.bind`` is one of them, ``quoted`` whether the grammar has names in backquotes.

    Raises
    ------
    CompileError
        With cel-go's texts where the source is no expression.
    """
    from lark.exceptions import UnexpectedInput, VisitError

    if len(source) > LONGEST:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {LONGEST}"
        raise CompileError(source, [Issue(NOWHERE, text)])
    if _brackets(source) >= MAX_DEPTH:
        raise _too_deep(source)
    reading = Reading(macros_of(version, bindings=bindings))
    known = READING.set(reading)
    try:
        found: Any = parser().parse(source)
    except UnexpectedInput:
        reading.issues.clear()
        wrong = syntax_errors.issues(source, parser(), quoted=quoted)
        raise CompileError(source, [*wrong, *reading.issues]) from None
    except VisitError as error:
        if isinstance(error.orig_exc, CompileError):
            raise CompileError(source, error.orig_exc.issues) from None
        raise
    except CompileError as error:
        raise CompileError(source, error.issues) from None
    finally:
        READING.reset(known)
    if reading.issues:
        raise CompileError(source, reading.issues)
    depth = _depth(found)
    if depth > MAX_DEPTH:
        raise _too_deep(source)
    if depth > _COMMON_DEPTH and sys.getrecursionlimit() < _DEEP_STACK:
        sys.setrecursionlimit(_DEEP_STACK)
    assert isinstance(found, Node)
    return found


def _too_deep(source: str) -> CompileError:
    return CompileError(source, [Issue(NOWHERE, f"expression recursion limit exceeded: {MAX_DEPTH}")])


def _brackets(source: str) -> int:
    """The depth of brackets outside of strings; cheap for expressions with few."""
    if sum(map(source.count, "([{")) < MAX_DEPTH:
        return 0
    depth = deepest = 0
    for found in _BRACKETS.finditer(source):
        letter = found[0]
        if letter in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in ")]}":
            depth -= 1
    return deepest


def _depth(node: Node) -> int:
    """The depth of the tree, as far as the limit needs it."""
    level: list[Node] = [node]
    depth = 0
    while level and depth <= MAX_DEPTH:
        level = [child for each in level for child in each.children()]
        depth += 1
    return depth
