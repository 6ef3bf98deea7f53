"""Field selectors: conditions on a few named fields of an object.

Follows ``k8s.io/apimachinery/pkg/fields/selector.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from simkit.meta.bounded_cache import cached_when_short
from simkit.meta.deadline import checked


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
    _by_field: Mapping[str, tuple[frozenset[str], frozenset[str]]] = field(init=False, repr=False, compare=False)
    """The values that each field must have, and must not have: any number of terms costs no more than its fields."""

    def __post_init__(self) -> None:
        found: dict[str, tuple[set[str], set[str]]] = {}
        for term in self.terms:
            found.setdefault(term.field, (set(), set()))[not term.equal].add(term.value)
        frozen = {name: (frozenset(wanted), frozenset(others)) for name, (wanted, others) in found.items()}
        object.__setattr__(self, "_by_field", frozen)

    def matches(self, fields: Mapping[str, str]) -> bool:
        for name, (wanted, others) in self._by_field.items():
            value = fields.get(name, "")
            if (wanted and wanted != {value}) or value in others:
                return False
        return True

    def exact(self, field: str) -> str:
        """The value that the selector requires of a field, or the empty string."""
        return next((term.value for term in self.terms if term.field == field and term.equal), "")

    def __bool__(self) -> bool:
        return bool(self.terms)


_PART: Final = re.compile(r"((?:[^\\,]++|\\.)*+\\?)(?:,|$)", re.DOTALL)
_OPERATOR: Final = re.compile(r"!=|==|=")


@cached_when_short(512)
def parse(text: str) -> FieldSelector:
    """The selector of a ``fieldSelector`` parameter. Raises BadFieldSelector.

    Examples
    --------
    >>> parse("metadata.name=a,status.phase!=Running").exact("metadata.name")
    'a'
    """
    parts = _PART.findall(text) if "\\" in text else text.split(",")
    parts.sort()  # the first that is wrong, in this order, is told
    terms = [_term(part, text) for part in checked(parts) if part]
    return FieldSelector(tuple(term for term in terms if term.field or term.value))  # others say nothing


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
