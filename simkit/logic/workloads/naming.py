"""Names that follow from contents."""

from __future__ import annotations

from typing import Any, Final

import orjson

from simkit.meta.clock import SUFFIX_LETTERS

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def content_hash(value: Any, collisions: int | None = None) -> str:
    """A short name for a value; another one for each number of collisions. Not the real server's, but as stable.

    Examples
    --------
    >>> content_hash({"a": 1}) == content_hash({"a": 1}), content_hash({"a": 1}) == content_hash({"a": 1}, 1)
    (True, False)
    """
    number = _OFFSET
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    for byte in text if collisions is None else text + collisions.to_bytes(8, "little"):
        number = ((number ^ byte) * _PRIME) & 0xFFFFFFFF
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))
