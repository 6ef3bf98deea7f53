"""Conditions of role assignments on Azure, as far as a request to a cluster decides them: true, false, or not known.

Most conditions limit one action, such as the writing of role assignments, and are true for all others. Attributes are
not evaluated.

References
----------
"Azure role assignment condition format and syntax" in the documentation of Azure.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.snapshot.cloud.aks_roles import CLUSTERS

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<sign>\(|\)|&&|\|\||!(?!=)|(?:AND|OR|NOT)\b)|ActionMatches\s*\{\s*'(?P<action>[^']*)'\s*\}|"
    r"(?P<other>'[^']*'|\{[^{}]*\}|@\w+\[[^\]]*\]|[^\s()'{}\[\]&|!]+|!=))",
    re.IGNORECASE,
)
_MOST: Final = 4_000
"""The signs of a condition that are looked at; longer ones count as not known."""
_SIGNS: Final = {"&&": "and", "||": "or", "!": "not"}


class _Unreadable(Exception):
    """A text that is no condition."""


def decide(text: str) -> bool | None:
    """Whether a condition holds for requests to a cluster; None if that is not known.

    Examples
    --------
    >>> tagged = "@Resource[a:b] StringEquals 'c'"
    >>> decide(f"(!(ActionMatches{{'Microsoft.Authorization/*'}})) OR ({tagged})"), decide(tagged) is None
    (True, True)
    """
    try:
        return _Reader(text).condition()
    except (_Unreadable, RecursionError):
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, bool | None]] = []
        end = 0
        for found in _TOKEN.finditer(text):
            if found.start() != end or len(self._tokens) > _MOST:
                raise _Unreadable
            end = found.end()
            sign = found["sign"]
            word = "" if not sign else _SIGNS.get(sign, sign.lower())
            self._tokens.append((word, None if found["action"] is None else _matches_clusters(found["action"])))
        if text[end:].strip():
            raise _Unreadable

    def condition(self) -> bool | None:
        found = self._joined()
        if self._tokens:
            raise _Unreadable
        return found

    def _next(self) -> str:
        return self._tokens[0][0] if self._tokens else "end"

    def _joined(self) -> bool | None:
        """Parts with one word between them: with both words and no brackets, what binds first is not known."""
        parts, words = [self._part()], set[str]()
        while self._next() in ("and", "or"):
            words.add(self._tokens.pop(0)[0])
            parts.append(self._part())
        if not words:
            return parts[0]
        decisive = words == {"or"}
        if len(words) == 1 and decisive in parts:
            return decisive
        return None if len(words) > 1 or None in parts else not decisive

    def _part(self) -> bool | None:
        word = self._next()
        if word == "not":
            self._tokens.pop(0)
            found = self._part()
            return None if found is None else not found
        if word == "(":
            self._tokens.pop(0)
            found = self._joined()
            if self._next() != ")":
                raise _Unreadable
            self._tokens.pop(0)
            return found
        if word:
            raise _Unreadable
        answer = self._tokens.pop(0)[1]
        while self._next() == "":
            self._tokens.pop(0)
            answer = None  # a comparison of attributes
        return answer


def _matches_clusters(pattern: str) -> bool | None:
    """Whether a pattern names every action on objects of clusters; None for some of them."""
    pattern = pattern.lower()
    fixed, star, rest = pattern.partition("*")
    if star and not rest and CLUSTERS.startswith(fixed):
        return True
    return None if fixed.startswith(CLUSTERS) or (star and CLUSTERS.startswith(fixed)) else False
