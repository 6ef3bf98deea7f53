"""Errors of a source that does not parse, in the words of cel-go's generated parser.

The real parser drops what it cannot read as a token and goes on with the rest, so one source may have several errors.
It leaves out a token where the next one fits, supplies one that is missing where the next one can follow it, and
otherwise gives up the construct it is in.

cel-go 0.17, parser/gen/CEL.g4 and the error recovery of ANTLR 4.

Upstream: github.com/google/cel-go/parser/parser.go, version 0.17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
_BEGUN = re.compile(r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")
_BLANK = re.compile(r"(?:[\t\n\f\r ]+|//[^\n]*)+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    r"(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)|(?:0x[0-9a-fA-F]+|\d+)[uU]?"
)
_NAME_IN_QUOTES = re.compile(r"`[A-Za-z0-9_.\-/ ]*`?")
_QUOTED: Final = "ESC_IDENTIFIER"
_SYMBOL = re.compile(r"==|!=|<=|>=|&&|\|\||[][(){}.,<>?:+*/%!-]")
_QUOTE = re.compile(r"[bB]?[rR]?(\"\"\"|'''|\"|')")


class _Token:
    __slots__ = ("position", "text", "type")

    def __init__(self, type: str, text: str, position: int) -> None:
        self.type, self.text, self.position = type, text, position


def issues(source: str, parser: Lark, *, quoted: bool) -> list[Issue]:
    """The errors of a source that did not parse, in the order of their positions.

    ``quoted`` tells whether the grammar has names in backquotes.
    """
    symbols = {terminal.pattern.value: terminal.name for terminal in parser.terminals if terminal.pattern.type == "str"}
    tokens, found = _tokens(source, symbols, quoted)
    reading = _Reading(parser, {name: text for text, name in symbols.items()}, quoted)
    found += _grammar_errors(source, tokens, reading)
    return found or [Issue(0, "Syntax error")]


def _tokens(source: str, symbols: dict[str, str], quoted: bool) -> tuple[list[_Token], list[Issue]]:
    tokens: list[_Token] = []
    wrong: list[Issue] = []
    position = 0
    while position < len(source):
        blank = _BLANK.match(source, position)
        if blank:
            position = blank.end()
            continue
        end, kind = _read(source, position, symbols, quoted)
        text = source[position:end]
        if kind == _QUOTED:
            wrong.append(Issue(position, "unsupported syntax: '`'"))
            tokens.append(_Token("IDENT", text, position))
        elif kind:
            tokens.append(_Token(kind, text, position))
        else:
            wrong.append(Issue(position, f"Syntax error: token recognition error at: '{text}'"))
        position = end
    return tokens, wrong


def _read(source: str, position: int, symbols: dict[str, str], quoted: bool) -> tuple[int, str]:
    """The end of the token that starts here, and its type; empty if there is none."""
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
    if source[position] == "`" and quoted:
        return _quoted_name(source, position)
    symbol = _SYMBOL.match(source, position)
    if symbol and symbol[0] in symbols:
        return symbol.end(), symbols[symbol[0]]
    # One letter of a two-letter operator makes the lexer look at the letter behind it, which is lost too.
    return min(len(source), position + (2 if source[position] in "|&=" else 1)), ""


def _quoted_name(source: str, position: int) -> tuple[int, str]:
    """The end of a name in backquotes, which the grammar has only behind a dot or as a field of a structure."""
    name = _NAME_IN_QUOTES.match(source, position)
    assert name is not None
    placed = source[:position].rstrip().endswith((".", "{", ",", "?"))
    return name.end(), _QUOTED if placed and len(name[0]) > 2 and name[0].endswith("`") else ""


def _read_string(source: str, quote: re.Match[str]) -> tuple[int, str]:
    """The end of a string token; an unterminated string is read as the longest token that it begins with."""
    end, kind = _read_whole_string(source, quote)
    prefix = len(quote[0]) - len(quote[1])
    if not kind and len(quote[1]) > 1:
        return quote.start() + prefix + 2, _string_kind(quote)
    if not kind and prefix:
        return quote.start() + prefix, "IDENT"
    return end, kind


def _string_kind(quote: re.Match[str]) -> str:
    return "BYTES_LIT" if quote[0][0] in "bB" else "STRING_LIT"


def _read_whole_string(source: str, quote: re.Match[str]) -> tuple[int, str]:
    kind = _string_kind(quote)
    raw, closing, position = "r" in quote[0].lower(), quote[1], quote.end()
    while position < len(source):
        if source.startswith(closing, position):
            return position + len(closing), kind
        if source[position] in "\r\n" and len(closing) == 1:
            return position + 1, ""
        if source[position] == "\\" and not raw:
            escape = _ESCAPE.match(source, position)
            if escape is None:
                begun = _BEGUN.match(source, position)
                assert begun is not None
                return min(len(source), begun.end() + 1), ""
            position = escape.end()
        else:
            position += 1
    return len(source), ""


# -- what may stand where -------------------------------------------------------------------------------------------

_CLOSING: Final = {"(": ")", "index": "]", "[": "]", "{": "}", "field": "}", "?": ":"}
"""The closing token of each open construct: a bracket or call, an index, a list, a map, a message, a choice."""
_INSIDE: Final = frozenset({"[", "{", "field"})
"""Constructs with comma-separated parts, which allow a trailing comma."""
_ATTEMPTS: Final = 30
"""The number of errors after which the real parser gives up."""
_STARTING: Final = frozenset({".", "[", "{", "("})
"""Tokens that continue an operand, at which the real parser stops after a missing one."""


class _Reading:
    """A parser that takes one token after the other, with the constructs that are open.

    Of a map or message, the construct is followed by ``:`` while one of its values is read.
    """

    def __init__(self, parser: Lark, texts: Mapping[str, str], quoted: bool) -> None:
        self._parser: Any = parser.parse_interactive("")
        self.quoted = quoted
        self.texts, self._types = texts, {text: name for name, text in texts.items()}
        self.open: list[str] = []
        self.last = ""
        self.negates = False
        """True if the last token is a minus sign in front of an operand."""
        self.optional = False
        """True if the last tokens are ``.?``, behind which a name stands."""

    def accepted(self) -> set[str]:
        """All tokens that may come next. Slow, since each is tried."""
        found: set[str] = self._parser.accepts()
        return found

    def takes(self, type: str) -> bool:
        """True if a token may come next."""
        from lark.parsers.lalr_analysis import Shift

        choice = self._parser.choices().get(type)
        return choice is not None and (choice[0] is Shift or self._tried(type))

    def _tried(self, *types: str) -> bool:
        """True if these tokens may come next in turn; nothing is built while they are tried."""
        from lark import Token
        from lark.exceptions import UnexpectedInput

        ahead = self._parser.copy(deepcopy_values=False)
        quiet = ahead.parser_state.parse_conf = copy(ahead.parser_state.parse_conf)
        quiet.callbacks = {}
        try:
            for each in types:
                ahead.feed_token(Token(each, ""))
        except UnexpectedInput:
            return False
        return True

    def wants_operand(self) -> bool:
        return "INT_LIT" in self._parser.choices()

    def feed(self, text: str, type: str = "", position: int = 0) -> None:
        """Read a token that is accepted."""
        from lark import Token

        operand = self.wants_operand()
        self._parser.feed_token(Token(type or self._types[text], text, start_pos=position))
        self._note(text, operand)
        self.optional = text == "?" and self.last == "."
        self.negates, self.last = operand and text == "-", text

    def _note(self, text: str, operand: bool) -> None:
        if text in ("(", "[", "{"):
            self.open.append(text if operand or text == "(" else {"[": "index", "{": "field"}[text])
        elif text == "?" and not operand and self.wants_operand():
            self.open.append(text)
        elif text == ":" and self.open and self.open[-1] != "?":
            self.open.append(":")
        elif text in (")", "]", "}", ":", ",") and self.open:
            while self.open[-1] == ":":
                self.open.pop()
            if text != ",":
                self.open.pop()

    def takes_after(self, closing: str, type: str) -> bool:
        """True if a token could follow, were the closing one there."""
        return self._tried(self._types[closing], type)


class _Fault(NamedTuple):
    """The error of a token in a wrong place, and how parsing continues."""

    text: str
    dropped: bool = False
    supplied: tuple[str, ...] = ()
    """Tokens that are assumed present; ``x`` is an operand or name."""
    skipping: bool = False
    """True if tokens are skipped up to one that fits, without further errors."""
    ends: bool = False
    besides: str = ""
    """A second error at the same place."""


def _grammar_errors(source: str, tokens: list[_Token], reading: _Reading) -> list[Issue]:
    """The tokens in wrong places, with ANTLR's recovery after each."""
    silent, attempts = False, 0
    wrong: list[Issue] = []
    rest = [*tokens, _Token("$END", "<EOF>", len(source))]
    while True:
        token = rest[0]
        if reading.takes(token.type):
            if token.type == "$END":
                return wrong
            reading.feed(token.text, token.type, token.position)
            rest, silent = rest[1:], False
            continue
        attempts += 1
        if attempts > _ATTEMPTS:
            text = f"Syntax error: error recovery attempt limit exceeded: {_ATTEMPTS}"
            return [*wrong, Issue(token.position, text)]
        if reading.negates and not silent:
            wrong.append(Issue(token.position, f"Syntax error: {_nothing_fits('-', token)}"))
        error = _error(reading, token, rest[1] if len(rest) > 1 else token)
        if not silent:
            wrong.append(Issue(token.position, f"Syntax error: {error.text}"))
            wrong += [Issue(token.position, error.besides)] if error.besides else []
        if error.ends:
            return wrong
        for text in error.supplied:
            reading.feed(text, "IDENT" if text == "x" else "")
        rest = rest[1:] if error.dropped else _skipped(reading, rest) if error.skipping else rest
        silent = silent or error.skipping


def _nothing_fits(before: str, token: _Token) -> str:
    shown = before if token.type == "$END" else f"{before}{token.text}"
    return f"no viable alternative at input '{shown}'"


def _skipped(reading: _Reading, rest: list[_Token]) -> list[_Token]:
    """The tokens from the first one that fits; the end of the source always fits."""
    for at, token in enumerate(rest[:-1]):
        if token.text not in _STARTING and reading.takes(token.type):
            return rest[at:]
    return rest[-1:]


def _error(reading: _Reading, token: _Token, after: _Token) -> _Fault:
    if reading.last == ".":
        return _Fault(_nothing_fits(".", token), ends=True)
    if reading.optional:
        return _missing_name(reading, token, after)
    innermost = reading.open[-1] if reading.open else ""
    complete = innermost in _INSIDE and reading.last == ","
    if reading.wants_operand() and not complete:
        found = _missing_operand(reading, token, after, innermost)
        # A loop reads the exclamation marks, and a loop takes what does not fit for one token too many.
        return found._replace(text=found.text.replace("mismatched", "extraneous", 1)) if reading.last == "!" else found
    if not reading.open:
        kind = "extraneous" if after.type == "$END" != token.type else "mismatched"
        return _Fault(f"{kind} input '{token.text}' expecting <EOF>", ends=True)
    if innermost == "field" and reading.last in ("{", "?"):
        return _missing_field(reading, token, after)
    closing = ":" if innermost in ("{", "field") and not complete else _CLOSING.get(innermost, "}")
    if innermost in (":", "[") and not complete:
        wanted = f"{{'{closing}', ','}}"
        if after.text in (closing, ",") and token.type != "$END":
            return _Fault(f"extraneous input '{token.text}' expecting {wanted}", dropped=True)
        return _ended(f"mismatched input '{token.text}' expecting {wanted}", token, (closing,))
    if after.text == closing and token.type != "$END":
        return _Fault(f"extraneous input '{token.text}' expecting '{closing}'", dropped=True)
    if reading.takes_after(closing, token.type):
        return _Fault(f"missing '{closing}' at '{token.text}'", supplied=(closing,))
    supplied = (":", "x") if closing == ":" else (closing,)
    return _ended(f"mismatched input '{token.text}' expecting '{closing}'", token, supplied)


def _missing_name(reading: _Reading, token: _Token, after: _Token) -> _Fault:
    """The error of a token in place of the name behind ``.?``."""
    wanted = "{IDENTIFIER, ESC_IDENTIFIER}" if reading.quoted else "IDENTIFIER"
    if after.type == "IDENT" and token.type != "$END":
        return _Fault(f"extraneous input '{token.text}' expecting {wanted}", dropped=True)
    besides = "unsupported ident kind" if reading.quoted else ""
    return _Fault(f"mismatched input '{token.text}' expecting {wanted}", ends=True, besides=besides)


def _ended(text: str, token: _Token, supplied: tuple[str, ...]) -> _Fault:
    return _Fault(text, supplied=supplied, skipping=True, ends=token.type == "$END")


def _misplaced(token: _Token, after: _Token, accepted: set[str], wanted: str, supplied: tuple[str, ...]) -> _Fault:
    """The error of a superfluous token, if the next one fits; else of a token in place of an expected one."""
    if after.type in accepted and token.type != "$END":
        return _Fault(f"extraneous input '{token.text}' expecting {wanted}", dropped=True)
    return _ended(f"mismatched input '{token.text}' expecting {wanted}", token, supplied)


def _missing_operand(reading: _Reading, token: _Token, after: _Token, innermost: str) -> _Fault:
    accepted = reading.accepted()
    names = _expected(accepted, reading.texts, optional=innermost in ("[", "{", "index"))
    return _misplaced(token, after, accepted, f"{{{names}}}", ("x",))


def _missing_field(reading: _Reading, token: _Token, after: _Token) -> _Fault:
    accepted = reading.accepted()
    names = _expected(accepted, reading.texts, optional=True)
    if reading.quoted:
        names = names.replace("IDENTIFIER", f"IDENTIFIER, {_QUOTED}")
    return _misplaced(token, after, accepted, f"{{{names}}}" if ", " in names else names, ("x", ":", "x"))


def _expected(accepted: set[str], texts: Mapping[str, str], *, optional: bool) -> str:
    named = {f"'{texts[name]}'" if name in texts else _NAMES.get(name, name) for name in accepted}
    if "BOOL_LIT" in accepted:
        named |= {"'true'", "'false'"}
    if "NULL_LIT" in accepted:
        named.add("'null'")
    return ", ".join(name for name in _ORDER if name in named and (optional or name != "'?'"))
