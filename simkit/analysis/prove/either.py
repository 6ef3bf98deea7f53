"""Values that are one of several, as conditions have it, and operations on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from simkit.analysis.prove.formulas import Formula, Untranslated, conjunction, disjunction, negation, z3
from simkit.analysis.prove.symbols import (
    Either,
    Listed,
    Mapped,
    Maybe,
    Null,
    Scalar,
    Slot,
    Term,
)

_MOST_OPTIONS: Final = 24


def either(condition: Formula, chosen: Any, other: Any) -> Any:
    """The one value where the condition holds, and the other one elsewhere."""
    if chosen is other or z3.is_true(condition):
        return chosen
    if z3.is_false(condition):
        return other
    if isinstance(chosen, Null) and isinstance(other, Null):
        return chosen
    if isinstance(chosen, Maybe) and isinstance(other, Maybe):
        present = z3.If(condition, chosen.present, other.present)
        return Maybe(present, either(condition, chosen.value, other.value))
    if isinstance(chosen, Scalar) and isinstance(other, Scalar) and chosen.kind == other.kind != "string":
        return Scalar(chosen.kind, z3.If(condition, chosen.term, other.term))
    if isinstance(chosen, Listed) and isinstance(other, Listed):
        plain = (chosen.contiguous and not other.slots) or (other.contiguous and not chosen.slots)
        slots = (*_guarded(condition, chosen.slots), *_guarded(negation(condition), other.slots))
        return Listed(slots, chosen.origins | other.origins, contiguous=plain)
    if isinstance(chosen, Mapped) and isinstance(other, Mapped):
        slots = (*_guarded(condition, chosen.slots), *_guarded(negation(condition), other.slots))
        return Mapped(slots, chosen.origins | other.origins)
    options = (*_options(condition, chosen), *_options(negation(condition), other))
    if len(options) > _MOST_OPTIONS:
        raise Untranslated("a value that may be one of so many")
    return Either(options)


def _guarded(condition: Formula, slots: Sequence[Slot]) -> Iterator[Slot]:
    return (Slot(conjunction((condition, slot.present)), slot.value, slot.key) for slot in slots)


def _options(condition: Formula, value: Any) -> Iterator[tuple[Formula, Any]]:
    if isinstance(value, Either):
        yield from ((conjunction((condition, guard)), option) for guard, option in value.options)
    else:
        yield condition, value


def over(terms: Sequence[Term], made: Callable[..., Term]) -> Term:
    """The term that is made of the values of some terms, whichever of its options each one is."""
    for number, term in enumerate(terms):
        if isinstance(term.value, Either):
            found: Term | None = None
            for guard, option in reversed(term.value.options):
                one = [*terms[:number], Term(option, term.error), *terms[number + 1 :]]
                each = over(one, made)
                if found is None:
                    found = each
                else:
                    same = each.error.eq(found.error)
                    error = each.error if same else z3.If(guard, each.error, found.error)
                    found = Term(either(guard, each.value, found.value), error)
            assert found is not None
            return found
    term = made(*(each.value for each in terms))
    return Term(term.value, disjunction([each.error for each in (*terms, term)]))
