"""What simkit uses of orjson, on the ``json`` of the standard library: for Pythons that orjson has no wheel for.

Values, errors and bytes are those of orjson, but for numbers with an exponent, which are written ``1e+16`` in place of
``1e16``. It is on the path of the playground alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from json import JSONDecodeError
from math import isfinite
from typing import Any, Final, NoReturn
from uuid import UUID

__all__ = ["JSONDecodeError", "JSONEncodeError", "dumps", "loads"]

OPT_APPEND_NEWLINE: Final = 1 << 10
OPT_INDENT_2: Final = 1
OPT_NON_STR_KEYS: Final = 1 << 2
OPT_SERIALIZE_NUMPY: Final = 1 << 4
OPT_SORT_KEYS: Final = 1 << 5
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_DEEPEST_READ, _DEEPEST_WRITTEN = 1024, 254
_BRACKET: Final = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class JSONEncodeError(TypeError):
    """A value that JSON cannot hold, or that nests too deeply."""


def loads(text: bytes | bytearray | memoryview | str, /) -> Any:
    """The decoded value. Raises JSONDecodeError."""
    try:
        raw = text.encode() if isinstance(text, str) else bytes(text)
        text = raw.decode()
        if _may_be_deep(raw) and _depth(text) > _DEEPEST_READ:  # before the decoder, whose stack would overflow
            raise JSONDecodeError("Recursion limit reached", "", 0)
        value = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:  # lone surrogates
            _written(value, None, sort_keys=False).encode()
    except JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        raise JSONDecodeError("unexpected content after document", error.doc, error.pos) from None
    except RecursionError:
        raise JSONDecodeError("Recursion limit reached", "", 0) from None
    except ValueError as error:  # Unicode's errors too
        raise JSONDecodeError(str(error), "", 0) from None
    return value


def dumps(value: Any, /, default: Callable[[Any], Any] | None = None, option: int | None = None) -> bytes:
    """The value as JSON. Raises JSONEncodeError."""
    chosen = option or 0
    plain = _plain(value, default, _DEEPEST_WRITTEN, any_key=bool(chosen & OPT_NON_STR_KEYS))
    indent = 2 if chosen & OPT_INDENT_2 else None
    text = _written(plain, indent, sort_keys=bool(chosen & OPT_SORT_KEYS))
    try:
        return text.encode() + (b"\n" if chosen & OPT_APPEND_NEWLINE else b"")
    except UnicodeEncodeError:
        raise JSONEncodeError("str is not valid UTF-8: surrogates not allowed") from None


def _written(value: Any, indent: int | None, *, sort_keys: bool) -> str:
    separators = (",", ":" if indent is None else ": ")
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)


def _integer(text: str) -> int | float:
    value = int(text) if len(text) <= 20 else _MOST + 1
    return value if _LEAST <= value <= _MOST else _float(text)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("number is infinity when parsed as double")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"unexpected {name}")


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_no_constant)


def _may_be_deep(raw: bytes) -> bool:
    """False if no value of the text nests too deeply, as its brackets show, those in strings among them."""
    left, rounds = raw.translate(None, _NO_BRACKETS), 0
    while (less := left.replace(b"[]", b"").replace(b"{}", b"")) != left and 2 * rounds + len(less) > _DEEPEST_READ:
        left, rounds = less, rounds + 1
        if 2 * rounds > _DEEPEST_READ:
            return True
    return 2 * (rounds + 1) + len(less) > _DEEPEST_READ


def _depth(text: str) -> int:
    """The number of containers in each other."""
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest


def _plain(value: Any, default: Callable[[Any], Any] | None, room: int, *, any_key: bool) -> Any:
    """The value of plain types alone, with ``default`` for others; ``room`` is the number of levels that are left."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is dict:
        if room <= 0:
            raise JSONEncodeError("Recursion limit reached")
        if not any_key:
            for key in value:
                if not isinstance(key, str):
                    raise JSONEncodeError("Dict key must be str")
        return {key: _plain(inner, default, room - 1, any_key=any_key) for key, inner in value.items()}
    if kind is list or kind is tuple:
        if room <= 0:
            raise JSONEncodeError("Recursion limit reached")
        return [_plain(inner, default, room - 1, any_key=any_key) for inner in value]
    if isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise JSONEncodeError("Integer exceeds 64-bit range")
        return int(value)
    if kind is float:
        return value if isfinite(value) else None
    return _plain(_of_other_type(value, default), default, room - 1, any_key=any_key)


def _of_other_type(value: Any, default: Callable[[Any], Any] | None) -> Any:
    """A value of a plain type for those that orjson writes by itself, else what ``default`` says."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list):
        return list(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if default is None:
        raise JSONEncodeError(f"Type is not JSON serializable: {type(value).__name__}")
    return default(value)
