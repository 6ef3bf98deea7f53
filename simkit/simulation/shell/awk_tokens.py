"""Tokens of awk.

References
----------
POSIX.1-2017, awk, Lexical Conventions.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_KEYWORDS: Final = frozenset({
    "BEGIN", "END", "function", "func", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile",
    "exit", "return", "delete", "in", "getline", "print", "printf",
})  # fmt: skip
FUNCTIONS: Final = frozenset({
    "atan2", "close", "cos", "exp", "fflush", "gsub", "index", "int", "length", "log", "match", "rand", "sin", "split",
    "sprintf", "sqrt", "srand", "strftime", "sub", "substr", "system", "systime", "tolower", "toupper",
})  # fmt: skip
OF_GNU: Final = frozenset({
    "and", "asort", "asorti", "compl", "gensub", "lshift", "mktime", "or", "patsplit", "rshift", "strtonum", "xor",
})  # fmt: skip
"""Functions of GNU awk, unless a program has others of these names."""
_OWN_FUNCTION: Final = re.compile(r"\bfunc(?:tion)?[ \t]+(\w+)")
_TOKEN: Final = re.compile(
    r"(?P<blank>(?:[ \t\r]|\\\r?\n|#[^\n]*)+)|(?P<newline>\n)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<op>\*\*=|\+\+|--|\+=|-=|\*=|/=|%=|\^=|==|<=|>=|!=|!~|&&|\|\||>>|\*\*|[-+*/%^!<>|?:~$=,;(){}\[\]])",
    re.DOTALL,
)
_ERE: Final = re.compile(r"/((?:\\.|\[\^?\]?(?:\[:\w+:\]|[^\]\n])*\]|[^/\\\n\[])*)/", re.DOTALL)


class AwkError(Exception):
    """A program that cannot be read, or a step of it that cannot be made."""


class Token(NamedTuple):
    """A token: its kind (the operator or keyword itself for those), its text, and whether a bracket follows at once."""

    kind: str
    text: str
    called: bool = False


def unescaped(text: str) -> str:
    """A text with the letters that its backslashes stand for; what is special in a pattern keeps its own.

    Examples
    --------
    >>> unescaped(r"a\\tb\\/c\\.d")
    'a\\tb/c\\\\.d'
    """

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 8) & 0xFF)
        letter = found[2]
        return _ESCAPES.get(letter) or (letter if letter in '"/\\' else f"\\{letter}")

    return re.sub(r"\\(?:([0-7]{1,3})|(.))", one, text, flags=re.DOTALL)


def tokens(text: str) -> list[Token]:
    """The tokens of a program, the end of it among them. Raises AwkError."""
    found: list[Token] = []
    position, built_in = 0, OF_GNU.difference(_OWN_FUNCTION.findall(text))
    while position < len(text):
        last = found[-1].kind if found else ""
        if text[position] == "/" and last not in ("name", "number", "string", ")", "]", "$", "++", "--", "builtin"):
            match = _ERE.match(text, position)
            if match is None:
                raise AwkError("unterminated regular expression")
            found.append(Token("ere", re.sub(r"\\/", "/", match[1])))
        else:
            match = _TOKEN.match(text, position)
            if match is None:
                raise AwkError(f"unexpected character {text[position]!r}")
            _add(found, str(match.lastgroup), match.group(), text[match.end() : match.end() + 1] == "(", built_in)
        position = match.end()
    return [*found, Token("newline", "\n"), Token("", "")]


def number_in(text: str) -> float:
    """The number that a program has written; infinity for those that are too large."""
    try:
        return float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text)
    except OverflowError:
        return float("inf")


def _add(found: list[Token], kind: str, text: str, called: bool, built_in: Collection[str]) -> None:
    if kind == "blank":
        return
    if kind == "op":
        found.append(Token({"**": "^", "**=": "^="}.get(text, text), text))
    elif kind == "name" and text in _KEYWORDS:
        found.append(Token("function" if text == "func" else text, text))
    elif kind == "name" and (text in FUNCTIONS or (called and text in built_in)):
        found.append(Token("builtin", text, called))
    else:
        found.append(Token(kind, unescaped(text[1:-1]) if kind == "string" else text, called))
