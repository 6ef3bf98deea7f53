"""The nodes of the syntax tree for the productions of the grammar: one method for each rule, named after it.

The children that lark passes hold every token, because errors point at operators, dots and brackets.

Positions, balanced chains of ``&&`` and ``||`` and texts of errors follow cel-go 0.17, parser/parser.go and
parser/helper.go.
"""

from __future__ import annotations

import re
from typing import Any, Final

from simkit.language.cel.errors import CompileError, Issue
from simkit.language.cel.macros import expand, report
from simkit.language.cel.tree import (
    Call,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    qualified_name,
)
from simkit.language.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_MOST_DIGITS: Final = len(str(UINT_MAX))
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LiteralError(Exception):
    """A constant outside the range of its type."""


def integer(text: str) -> int:
    """The value of an int constant; LiteralError outside 64 bits."""
    value = _integer_of(text)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> UInt:
    """The value of an uint constant; LiteralError outside 64 bits."""
    value = _integer_of(text[:-1])
    if value is None or not 0 <= value <= UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def _integer_of(text: str) -> int | None:
    """The value of digits, hexadecimal ones behind ``0x``; None for more than any type holds."""
    if "x" in text:
        return int(text, 16)
    sign, digits = ("-", text[1:].lstrip("0")) if text.startswith("-") else ("", text.lstrip("0"))
    return int(f"{sign}{digits or 0}") if len(digits) <= _MOST_DIGITS else None


def double(text: str) -> float:
    """The value of a double constant; LiteralError if it is too large."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def _content(text: str) -> tuple[str, bool]:
    """The text between the quotes, and True if it is raw."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    return body[width:-width], raw


def _code_point(found: re.Match[str]) -> int:
    return int(found[2] or found[3] or found[4], 16) if not found[5] else int(found[5], 8)


def string(text: str) -> str:
    """The value of a string constant with its quotes; LiteralError for an impossible code point."""
    body, raw = _content(text)
    if raw or "\\" not in body:
        return body

    def replaced(found: re.Match[str]) -> str:
        if found[1]:
            return _LETTERS.get(found[1], found[1])
        point = _code_point(found)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise LiteralError("invalid unicode code point")
        return chr(point)

    return _ESCAPE.sub(replaced, body)


def byte_string(text: str) -> bytes:
    """The value of a bytes constant with its ``b`` and quotes."""
    inner = text[1:]
    body, raw = _content(inner)
    if raw:
        return body.encode()
    parts, position = [], 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[position : found.start()].encode())
        position = found.end()
        if found[1]:
            parts.append(_LETTERS.get(found[1], found[1]).encode())
        elif found[2] or found[5]:
            parts.append(bytes([_code_point(found)]))
        else:
            raise LiteralError("illegal escape sequence: unable to unescape unicode in bytes")
    parts.append(body[position:].encode())
    return b"".join(parts)


Children = list[Any]


class _Chain:
    """Operands of one logical operator, until the whole chain is known and can be balanced."""

    __slots__ = ("function", "positions", "terms")

    def __init__(self, function: str, first: Node) -> None:
        self.function = function
        self.terms = [first]
        self.positions: list[int] = []

    def node(self) -> Node:
        return self._balanced(0, len(self.positions) - 1)

    def _balanced(self, low: int, high: int) -> Node:
        middle = (low + high + 1) // 2
        left = self.terms[middle] if middle == low else self._balanced(low, middle - 1)
        right = self.terms[middle + 1] if middle == high else self._balanced(middle + 1, high)
        return Call(self.positions[middle], self.function, [left, right])


def _whole(found: Any) -> Node:
    return found.node() if type(found) is _Chain else found


def _chained(function: str, children: Children) -> Any:
    if len(children) == 1:
        return children[0]
    left, operator, right = children
    chain = left if type(left) is _Chain and left.function == function else _Chain(function, _whole(left))
    chain.terms.append(_whole(right))
    chain.positions.append(operator.start_pos)
    return chain


def _first(children: Children) -> Any:
    return children[0]


def _binary(children: Children) -> Any:
    if len(children) == 1:
        return children[0]
    (left, position, function), right = children
    return Call(position, function, [left, right])


def _operator(function: str) -> Any:
    def half(_: Any, children: Children) -> Any:
        left, token = children
        return left, token.start_pos, function

    return half


_NUMBERS: Final = {"INT_LIT": integer, "UINT_LIT": unsigned, "FLOAT_LIT": double}
_OTHERS: Final = {
    "STRING_LIT": string,
    "MLSTRING_LIT": string,
    "BYTES_LIT": byte_string,
    "BOOL_LIT": lambda text: text == "true",
    "NULL_LIT": lambda _: None,
}
_READERS: Final[dict[str, Any]] = {**_NUMBERS, **_OTHERS}
RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
})  # fmt: skip


class Builder:
    """The callbacks of lark's reductions."""

    def expr(self, children: Children) -> Node:
        if len(children) == 1:
            return _whole(children[0])
        condition, mark, chosen, _, other = children
        return Call(mark.start_pos, "_?_:_", [_whole(condition), _whole(chosen), other])

    def conditionalor(self, children: Children) -> Any:
        if len(children) == 1:
            return _whole(children[0])
        return _chained("_||_", children)

    def conditionaland(self, children: Children) -> Any:
        return _chained("_&&_", children)

    relation = staticmethod(_binary)
    addition = staticmethod(_binary)
    multiplication = staticmethod(_binary)
    relation_lt = _operator("_<_")
    relation_le = _operator("_<=_")
    relation_gt = _operator("_>_")
    relation_ge = _operator("_>=_")
    relation_eq = _operator("_==_")
    relation_ne = _operator("_!=_")
    relation_in = _operator("@in")
    addition_add = _operator("_+_")
    addition_sub = _operator("_-_")
    multiplication_mul = _operator("_*_")
    multiplication_div = _operator("_/_")
    multiplication_mod = _operator("_%_")

    member = staticmethod(_first)
    primary = staticmethod(_first)

    def unary(self, children: Children) -> Node:
        if len(children) == 1:
            found: Node = children[0]
            return found
        (function, position), operand = children
        if isinstance(operand, Call) and operand.function == function and len(operand.arguments) == 1:
            return operand.arguments[0]
        return Call(position, function, [operand])

    def unary_not(self, children: Children) -> tuple[str, int]:
        return "!_", children[0].start_pos

    def unary_neg(self, children: Children) -> tuple[str, int]:
        return "-_", children[0].start_pos

    def literal(self, children: Children) -> Node:
        token = children[0]
        try:
            return Literal(token.start_pos, _READERS[token.type](token.value))
        except LiteralError as error:
            report(token.start_pos, str(error))
            return Literal(token.start_pos, None)

    def ident(self, children: Children) -> Node:
        return _ident(children[0], children[0].value)

    def dot_ident(self, children: Children) -> Node:
        return _ident(children[0], f".{children[1].value}")

    def ident_arg(self, children: Children) -> Node:
        name, bracket, *inside = children
        return expand(Call(bracket.start_pos, name.value, _arguments(inside)), name.start_pos)

    def dot_ident_arg(self, children: Children) -> Node:
        dot, name, bracket, *inside = children
        return expand(Call(bracket.start_pos, f".{name.value}", _arguments(inside)), dot.start_pos)

    def member_dot(self, children: Children) -> Node:
        operand, dot, name = children
        return Select(dot.start_pos, operand, name.value)

    def member_dot_arg(self, children: Children) -> Node:
        operand, _, name, bracket, *inside = children
        return expand(Call(bracket.start_pos, name.value, _arguments(inside), operand), operand.start)

    def member_index(self, children: Children) -> Node:
        operand, bracket, index, _ = children
        return Call(bracket.start_pos, "_[_]", [operand, index])

    def member_optional_dot(self, children: Children) -> Node:
        operand, dot, _, name = children
        return Call(dot.start_pos, "_?._", [operand, Literal(name.start_pos, name.value)])

    def member_optional_index(self, children: Children) -> Node:
        operand, bracket, _, index, _ = children
        return Call(bracket.start_pos, "_[?_]", [operand, index])

    def member_object(self, children: Children) -> Node:
        operand, brace, *inside = children
        name = qualified_name(operand)
        if name is None:
            raise CompileError("", [Issue(brace.start_pos, "Syntax error: mismatched input '{' expecting <EOF>")])
        entries = inside[0] if isinstance(inside[0], list) else []
        return StructNode(brace.start_pos, name, entries)

    def paren_expr(self, children: Children) -> Node:
        found: Node = children[1]
        return found

    def optional_expr(self, children: Children) -> tuple[str, Node]:
        return "?", children[1]

    def optional_field(self, children: Children) -> tuple[str, Any]:
        return "?", children[1]

    def exprlist(self, children: Children) -> Children:
        before: Children = children[0] if len(children) > 1 else []
        before.append(children[-1])
        return before

    def fieldinits(self, children: Children) -> list[Entry]:
        *before, key, colon, value = children
        name = key[1].value if type(key) is tuple else key.value
        entry = Entry(name, value, optional=type(key) is tuple, position=colon.start_pos)
        return _extended(before, entry)

    def mapinits(self, children: Children) -> list[Entry]:
        *before, key, _, value = children
        return _extended(before, Entry(key[1] if type(key) is tuple else key, value, optional=type(key) is tuple))

    def list_lit(self, children: Children) -> Node:
        inside = children[1] if isinstance(children[1], list) else []
        optional = frozenset(index for index, each in enumerate(inside) if type(each) is tuple)
        return ListNode(children[0].start_pos, [each[1] if type(each) is tuple else each for each in inside], optional)

    def map_lit(self, children: Children) -> Node:
        return MapNode(children[0].start_pos, children[1] if isinstance(children[1], list) else [])


def _extended(before: Children, entry: Entry) -> list[Entry]:
    """The entries before, if there are any, and one more."""
    entries: list[Entry] = before[0] if before else []
    entries.append(entry)
    return entries


def _ident(token: Any, name: str) -> Node:
    if name in RESERVED:
        report(token.start_pos, f"reserved identifier: {name}")
        return Literal(token.start_pos, None)
    return Ident(token.start_pos, name)


def _arguments(inside: Children) -> list[Node]:
    """Arguments of a call: an optional list of expressions before the closing bracket."""
    if len(inside) == 1:
        return []
    for each in inside[0]:
        if type(each) is tuple:
            report(each[1].position, "unsupported syntax '?'")
    return [each[1] if type(each) is tuple else each for each in inside[0]]
