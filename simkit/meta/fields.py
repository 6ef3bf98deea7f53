"""Field selectors: conditions on a few named fields of an object.

Follows ``k8s.io/apimachinery/pkg/fields/selector.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simkit.meta.bounded_cache import cached_when_short


class BadFieldSelector(ValueError):
    """A selector that cannot be parsed; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: a field equals a value, or does not."""

    field: str
    value: str
    equal: bool


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of terms; without terms it matches everything."""

    terms: tuple[Term, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all((fields.get(term.field, "") == term.value) == term.equal for term in self.terms)

    def exact(self, field: str) -> str:
        """The value that the selector requires of a field, or the empty string."""
        return next((term.value for term in self.terms if term.field == field and term.equal), "")

    def __bool__(self) -> bool:
        return bool(self.terms)


_PART: Final = re.compile(r"((?:[^\\,]|\\.)*\\?)(?:,|$)", re.DOTALL)
_OPERATOR: Final = re.compile(r"!=|==|=")


@cached_when_short(512)
def parse(text: str) -> FieldSelector:
    """The selector of a ``fieldSelector`` parameter. Raises BadFieldSelector.

    Examples
    --------
    >>> parse("metadata.name=a,status.phase!=Running").exact("metadata.name")
    'a'
    """
    parts = sorted(_PART.findall(text))  # the first that is wrong, in this order, is told
    return FieldSelector(tuple(_term(part, text) for part in parts if part))


def _term(part: str, text: str) -> Term:
    found = _OPERATOR.search(part)
    if found is None:
        raise BadFieldSelector(f"invalid selector: '{text}'; can't understand '{part}'")
    return Term(part[: found.start()], _unescaped(part[found.end() :]), found.group() != "!=")


def _unescaped(value: str) -> str:
    result: list[str] = []
    letters = iter(value)
    for letter in letters:
        if letter == "\\":
            after = next(letters, "")
            if after not in ("\\", ",", "=") or not after:
                raise BadFieldSelector(f"invalid field selector: invalid escape sequence: \\{after}")
            result.append(after)
        elif letter in ",=":
            raise BadFieldSelector(f"invalid field selector: unescaped character in value: {ord(letter)}")
        else:
            result.append(letter)
    return "".join(result)
