"""Cached results for short texts, without caching the long texts that clients may send."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Text = TypeVar("Text", str, bytes)
Answer = TypeVar("Answer")


def cached_when_short(
    size: int, *, longest: int = 256
) -> Callable[[Callable[[Text], Answer]], Callable[[Text], Answer]]:
    """A decorator for functions of one text: results for the latest short texts are kept.

    Parameters
    ----------
    size
        How many answers are kept.
    longest
        Characters, or bytes, of a text up to which its answer is kept; longer ones are worked out anew each time.

    Examples
    --------
    >>> @cached_when_short(8, longest=3)
    ... def shout(text):
    ...     return [text.upper()]
    >>> shout("abc") is shout("abc"), shout("abcd") is shout("abcd")
    (True, False)
    """

    def decorate(function: Callable[[Text], Answer]) -> Callable[[Text], Answer]:
        kept = lru_cache(maxsize=size)(function)

        @wraps(function)
        def answer(text: Text) -> Answer:
            return kept(text) if len(text) <= longest else function(text)

        return answer

    return decorate
