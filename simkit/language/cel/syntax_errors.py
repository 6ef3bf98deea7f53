"""Why a source is no expression, in the words of the real server's parser.

The real parser drops what it cannot read as a token and goes on with the rest, so one source may have several errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from simkit.language.cel.errors import Issue

if TYPE_CHECKING:
    from lark import Lark

_NAMES: Final = {
    "FLOAT_LIT": "NUM_FLOAT",
    "INT_LIT": "NUM_INT",
    "UINT_LIT": "NUM_UINT",
    "STRING_LIT": "STRING",
    "BYTES_LIT": "BYTES",
    "IDENT": "IDENTIFIER",
}
_ORDER: Final = (
    "'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'", "'&&'", "'||'", "'['", "']'", "'{'", "'}'", "'('", "')'",
    "'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
)  # fmt: skip
_ESCAPE = re.compile(r"\\(?:[abfnrtv\"'\\`?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})")
_BLANK = re.compile(r"(?:[\t\n\f\r ]+|//[^\n]*)+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    r"(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)|(?:0x[0-9a-fA-F]+|\d+)[uU]?"
)
_SYMBOL = re.compile(r"==|!=|<=|>=|&&|\|\||[][(){}.,<>?:+*/%!-]")
_QUOTE = re.compile(r"[bB]?[rR]?(\"\"\"|'''|\"|')")


class _Token:
    __slots__ = ("position", "text", "type")

    def __init__(self, type: str, text: str, position: int) -> None:
        self.type, self.text, self.position = type, text, position


def issues(source: str, parser: Lark) -> list[Issue]:
    """The errors of a source that did not parse, in the order of their places."""
    symbols = {terminal.pattern.value: terminal.name for terminal in parser.terminals if terminal.pattern.type == "str"}
    tokens, found = _tokens(source, symbols)
    found += _grammar_errors(source, tokens, parser, {name: text for text, name in symbols.items()})
    return found or [Issue(0, "Syntax error")]


def _tokens(source: str, symbols: dict[str, str]) -> tuple[list[_Token], list[Issue]]:
    tokens: list[_Token] = []
    wrong: list[Issue] = []
    position = 0
    while position < len(source):
        blank = _BLANK.match(source, position)
        if blank:
            position = blank.end()
            continue
        end, kind = _read(source, position, symbols)
        text = source[position:end]
        if kind:
            tokens.append(_Token(kind, text, position))
        else:
            wrong.append(Issue(position, f"Syntax error: token recognition error at: '{text}'"))
        position = end
    return tokens, wrong


def _read(source: str, position: int, symbols: dict[str, str]) -> tuple[int, str]:
    """Where the token that starts here ends, and its type; no type where it is none."""
    quote = _QUOTE.match(source, position)
    if quote:
        return _read_string(source, quote)
    number = _NUMBER.match(source, position)
    if number:
        text = number[0]
        kind = "UINT_LIT" if text[-1] in "uU" else "INT_LIT" if text.isdigit() or text[:2] == "0x" else "FLOAT_LIT"
        return number.end(), kind
    word = _WORD.match(source, position)
    if word:
        kind = "BOOL_LIT" if word[0] in ("true", "false") else "NULL_LIT" if word[0] == "null" else "IDENT"
        return word.end(), symbols.get(word[0], kind) if word[0] == "in" else kind
    symbol = _SYMBOL.match(source, position)
    if symbol and symbol[0] in symbols:
        return symbol.end(), symbols[symbol[0]]
    # One letter of a two-letter operator makes the lexer look at the letter behind it, which is lost too.
    return min(len(source), position + (2 if source[position] in "|&=" else 1)), ""


def _read_string(source: str, quote: re.Match[str]) -> tuple[int, str]:
    kind = "BYTES_LIT" if quote[0][0] in "bB" else "STRING_LIT"
    raw, closing, position = "r" in quote[0].lower(), quote[1], quote.end()
    while position < len(source):
        if source.startswith(closing, position):
            return position + len(closing), kind
        if source[position] in "\r\n" and len(closing) == 1:
            return position + 1, ""
        if source[position] == "\\" and not raw:
            escape = _ESCAPE.match(source, position)
            if escape is None:
                return min(len(source), position + 2), ""
            position = escape.end()
        else:
            position += 1
    return len(source), ""


def _grammar_errors(source: str, tokens: list[_Token], parser: Lark, texts: dict[str, str]) -> list[Issue]:
    """The tokens that cannot stand where they stand: all that could be left out, and the first that could not."""
    from lark import Token
    from lark.exceptions import UnexpectedInput

    reading: Any = parser.parse_interactive("")
    wrong: list[Issue] = []
    for index, token in enumerate(tokens):
        try:
            reading.feed_token(Token(token.type, token.text, start_pos=token.position))
        except UnexpectedInput:
            accepted = reading.accepts()
            after = tokens[index + 1].type if index + 1 < len(tokens) else "$END"
            wrong.append(_refused(token.text, token.position, accepted, texts, tokens[:index], after=after))
            if after not in accepted:
                return wrong
    if "$END" not in reading.accepts():
        wrong.append(_refused("<EOF>", len(source), reading.accepts(), texts, tokens))
    return wrong


def _refused(
    text: str, position: int, accepted: set[str], texts: dict[str, str], before: list[_Token], *, after: str = ""
) -> Issue:
    operands = {"INT_LIT", "STRING_LIT"} <= accepted
    if before and before[-1].text == "." and not operands:
        shown = "." if text == "<EOF>" else f".{text}"
        return Issue(position, f"Syntax error: no viable alternative at input '{shown}'")
    extra = "extraneous" if after and after in accepted else "mismatched"
    if operands:
        return Issue(position, f"Syntax error: {extra} input '{text}' expecting {{{_expected(accepted, texts)}}}")
    closing = [texts[name] for name in accepted if texts.get(name) in (")", "]", "}")]
    if closing and text == "<EOF>":
        return Issue(position, f"Syntax error: missing '{closing[0]}' at '<EOF>'")
    if "$END" in accepted:
        return Issue(position, f"Syntax error: {extra} input '{text}' expecting <EOF>")
    return Issue(position, f"Syntax error: mismatched input '{text}' expecting {{{_expected(accepted, texts)}}}")


def _expected(accepted: set[str], texts: dict[str, str]) -> str:
    named = {f"'{texts[name]}'" if name in texts else _NAMES.get(name, name) for name in accepted}
    if "BOOL_LIT" in accepted:
        named |= {"'true'", "'false'"}
    if "NULL_LIT" in accepted:
        named.add("'null'")
    operand = "NUM_INT" in named
    return ", ".join(name for name in _ORDER if name in named and not (operand and name == "'?'"))
