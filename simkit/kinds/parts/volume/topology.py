"""Validation of topology selector terms.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.validation.fields import validate_text
from simkit.meta.fielderror import FieldError, duplicate, required
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Object

_REPEATED: Final = 10_000
"""Errors about equal terms; kube-apiserver tells one for each pair of them."""


def validate_topology(path: str, terms: Sequence[Object]) -> Iterator[FieldError]:
    """The errors of terms: each needs distinct keys with distinct values.

    kube-apiserver compares a term with all before it and with as many empty ones as there are terms.
    """
    left, seen = _REPEATED, Counter[frozenset[tuple[str, frozenset[str]]]]({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        keys: dict[str, frozenset[str]] = {}
        for number, one in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _validate_expression(f"{where}.matchLabelExpressions[{number}]", one, keys)
        found = frozenset(keys.items())
        told = min(seen[found], left)
        left -= told
        yield from [duplicate(f"{where}.matchLabelExpressions", "")] * told
        seen[found] += 1


def _validate_expression(path: str, expression: Object, keys: dict[str, frozenset[str]]) -> Iterator[FieldError]:
    key, values = expression.get("key") or "", expression.get("values") or ()
    if not values:
        yield required(f"{path}.values")
    known = set[str]()
    for index, value in enumerate(values):
        if value in known:
            yield duplicate(f"{path}.values[{index}]", value)
        known.add(value)
    yield from validate_text(f"{path}.key", key, qualified_name)
    if key in keys:
        yield duplicate(f"{path}.key", key)
    keys[key] = frozenset(values)
