"""JSON in the answers of other servers, however large they make it."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

MOST_VALUES: Final = 500_000
"""Values in an answer that is read."""
_AT_ONCE: Final = 50_000
"""Values that the fast parser reads, which lets no other thread go on meanwhile: some ten milliseconds."""


def parse_answer(content: bytes) -> Any:
    """The value of a JSON text. Raises ``json.JSONDecodeError``, also for one of more than 500,000 values.

    Examples
    --------
    >>> parse_answer(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    separators = content.count(b",")
    if separators <= _AT_ONCE:
        return orjson.loads(content)
    if separators >= MOST_VALUES:
        raise json.JSONDecodeError(f"more than {MOST_VALUES:,} values", "", 0)
    try:
        return json.loads(content, object_hook=_same, parse_constant=_refuse)
    except (RecursionError, UnicodeDecodeError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None


def _same(obj: dict[str, Any]) -> dict[str, Any]:
    """The object: while Python runs this, other threads may go on."""
    return obj


def _refuse(word: str) -> Any:
    raise json.JSONDecodeError(f"unexpected {word}", "", 0)
