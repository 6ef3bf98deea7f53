"""JSON in the answers of other servers, however large they make it."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import orjson

MOST_VALUES: Final = 500_000
"""Values in an answer that is read."""
_AT_ONCE: Final = 50_000
"""Values that the fast parser reads, which lets no other thread go on meanwhile: some ten milliseconds."""
_LARGEST: Final = 2**64 - 1
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD]")


def parse_answer(content: bytes) -> Any:
    """The value of a JSON text, which can be written again.

    Raises ``json.JSONDecodeError``, also for one of more than 500,000 values. Numbers of more than 64 bits are floats.

    Examples
    --------
    >>> parse_answer(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    separators = content.count(b",")
    if separators <= _AT_ONCE:
        return orjson.loads(content)
    if separators >= MOST_VALUES:
        raise _refusal(f"more than {MOST_VALUES:,} values")
    try:
        # While Python runs these functions, other threads may go on.
        found = json.loads(content, object_hook=_same, parse_constant=_constant, parse_int=_whole, parse_float=_finite)
    except (RecursionError, UnicodeDecodeError) as error:
        raise _refusal(str(error)) from None
    if _ESCAPED_SURROGATE.search(content):
        _refuse_surrogates(found)
    return found


def _same(obj: dict[str, Any]) -> dict[str, Any]:
    return obj


def _constant(word: str) -> Any:
    raise _refusal(f"unexpected {word}")


def _whole(number: str) -> float:
    if len(number) > len(str(_LARGEST)):
        return _finite(number)
    found = int(number)
    return found if -(2**63) <= found <= _LARGEST else _finite(number)


def _finite(number: str) -> float:
    found = float(number)
    if math.isinf(found):
        raise _refusal("number out of range")
    return found


def _refuse_surrogates(value: Any) -> None:
    """Raise JSONDecodeError for a text with half a pair of surrogates, which cannot be written again."""
    rest = [value]
    while rest:
        each = rest.pop()
        if isinstance(each, dict):
            rest += each
            rest += each.values()
        elif isinstance(each, list):
            rest += each
        elif isinstance(each, str) and _SURROGATE.search(each):
            raise _refusal("lone surrogate in a text")


def _refusal(why: str) -> json.JSONDecodeError:
    return json.JSONDecodeError(why, "", 0)
