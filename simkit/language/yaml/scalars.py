"""The plain words of YAML: which are numbers, and which text, and the values of scalars."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

LIST: Final = "tag:yaml.org,2002:seq"
MAP: Final = "tag:yaml.org,2002:map"
STR: Final = "tag:yaml.org,2002:str"
NULL: Final = "tag:yaml.org,2002:null"
BOOL: Final = "tag:yaml.org,2002:bool"
INT: Final = "tag:yaml.org,2002:int"
FLOAT: Final = "tag:yaml.org,2002:float"
BINARY: Final = "tag:yaml.org,2002:binary"
MERGE: Final = "tag:yaml.org,2002:merge"

WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), NULL),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), BOOL),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), BOOL),
    "<<": MERGE,
}
_TRUE: Final = frozenset(("true", "yes", "on", "y"))
_LETTERS: Final = frozenset("yYnN")
_NUMERIC_START: Final = frozenset("0123456789+-.")
_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*)")
_DECIMAL: Final = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?")

_ODD_NUMBERS: Final[Mapping[str, str]] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((f"{sign}{word}" for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
"""Words for which JSON has no numbers, as Go names them."""
_GO_INTEGER: Final = re.compile(r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]*|0[xX][0-9a-fA-F]+|[1-9][0-9]*)")
_LONGEST: Final = 99
"""More letters than a number of 64 bits has in any base."""
_GO_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class NoValue(ValueError):
    """A scalar without a value, in the words of Go."""


def plain_tag(text: str) -> str:
    """The tag of a plain word that every reader of YAML 1.1 agrees about; of any other it is that of text."""
    tag = WORDS.get(text)
    if tag is not None:
        return tag
    if text[0] in _NUMERIC_START:
        if _INTEGER.fullmatch(text):
            return INT
        if _DECIMAL.fullmatch(text):
            return FLOAT
    return STR


def go_tag(text: str) -> str:
    """The tag of a plain word in go-yaml, which takes letters for booleans, and lets underscores stand in numbers."""
    known = WORDS.get(text) or (BOOL if text in _LETTERS else None)
    if known is not None:
        return known
    if text in _ODD_NUMBERS:
        return FLOAT
    if text[0] not in _NUMERIC_START:
        return STR
    plain = text if text[0] == "." else text.replace("_", "")
    if (
        len(plain) <= _LONGEST
        and _GO_INTEGER.fullmatch(plain)
        and -(2**63) <= _whole(plain) < (2**64 if plain[0].isdigit() else 2**63)
    ):
        return INT
    return FLOAT if _GO_FLOAT.fullmatch(plain) and not math.isinf(float(plain)) else STR


def _integer(text: str) -> int | float:
    number = _whole(text.replace("_", ""))
    return number if -(2**63) <= number < 2**64 else _wide(number)


def _whole(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    bases = {"0b": 2, "0o": 8, "0x": 16}
    base = bases.get(digits[:2].lower()) or (8 if len(digits) > 1 and digits[0] == "0" else 10)
    return sign * int(digits[2:] if digits[:2].lower() in bases else digits, base)


def _wide(number: int) -> float:
    """The float of an integer of more than 64 bits; ValueError if it is out of range."""
    try:
        return float(number)
    except OverflowError:
        raise ValueError("value out of range") from None


def _decimal(text: str) -> int | float:
    """The number in a text: an integer if it is whole, as JSON has one kind of number."""
    if text in _ODD_NUMBERS:
        raise NoValue(f"json: unsupported value: {_ODD_NUMBERS[text]}")
    number = _finite(text.replace("_", ""))
    return int(number) if number.is_integer() and abs(number) < 2**63 else number


def _finite(text: str) -> float:
    """A float; ValueError for one that is not finite."""
    number = float(text)
    if math.isinf(number):
        raise ValueError("value out of range")
    return number


def _null(text: str) -> None:
    if WORDS.get(text) != NULL:
        raise ValueError(text)


def _boolean(text: str) -> bool:
    if WORDS.get(text) != BOOL and text not in _LETTERS:
        raise ValueError(text)
    return text.lower() in _TRUE


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except ValueError as error:
        raise ValueError(str(error)) from None


MAKERS: Final[Mapping[str, Callable[[str], Any]]] = {
    STR: str,
    NULL: _null,
    BOOL: _boolean,
    INT: _integer,
    FLOAT: _decimal,
    BINARY: _binary,
}
