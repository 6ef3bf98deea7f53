"""Formulas that are made of others; those that are decided already are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Formula = Any
"""A term of the solver, whose library has no types."""


class Untranslated(Exception):
    """A part of an expression for which there is no formula. Its text names the part."""


def conjunction(z3: Any, parts: Iterable[Formula]) -> Formula:
    """The formula that all of some formulas hold."""
    kept = [part for part in parts if not z3.is_true(part)]
    if any(z3.is_false(part) for part in kept):
        return z3.BoolVal(False)
    return z3.And(kept) if len(kept) > 1 else kept[0] if kept else z3.BoolVal(True)


def disjunction(z3: Any, parts: Iterable[Formula]) -> Formula:
    """The formula that one of some formulas holds."""
    kept = [part for part in parts if not z3.is_false(part)]
    if any(z3.is_true(part) for part in kept):
        return z3.BoolVal(True)
    return z3.Or(kept) if len(kept) > 1 else kept[0] if kept else z3.BoolVal(False)


def negation(z3: Any, part: Formula) -> Formula:
    """The formula that another one does not hold."""
    if z3.is_true(part) or z3.is_false(part):
        return z3.BoolVal(z3.is_false(part))
    return part.arg(0) if z3.is_not(part) else z3.Not(part)
