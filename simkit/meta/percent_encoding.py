"""Percent-encoded texts of any length, decoded in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

_ASCII: Final = re.compile("([\x00-\x7f]+)")
_PIECE: Final = 8192
"""Letters that are decoded at once: a single call for hundreds of thousands keeps all other threads waiting."""


def unquoted(text: str) -> str:
    """The text that a percent-encoded text stands for: what ``urllib.parse.unquote`` gives, in pieces.

    Examples
    --------
    >>> unquoted("a%2Fb%c3%A9%")
    'a/bé%'
    """
    if "%" not in text:
        return text
    return "".join(_decoded(part) if part.isascii() else part for part in _ASCII.split(text))


def _decoded(text: str) -> str:
    return b"".join(map(unquote_to_bytes, _pieces(text))).decode("utf-8", "replace")


def _pieces(text: str) -> Iterator[str]:
    """Pieces of a text, none of which ends within an encoded byte."""
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        within = text.rfind("%", end - 2, end)
        end = end if within < 0 else within
        yield text[start:end]
        start = end
    yield text[start:]
