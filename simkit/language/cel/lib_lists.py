"""List functions: order, sums, extremes, positions; and sets, which are lists read without order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from simkit.language.cel import operations as run
from simkit.language.cel.declarations import Library, Overload, declared
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import Duration, UInt

_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED: Final = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}


def is_sorted(values: Sequence[Any]) -> bool:
    """Whether no element is greater than the next one."""
    return all(run.less_equal(one, other) for one, other in pairwise(values))


def smallest(values: Sequence[Any]) -> Any:
    """The least element."""
    return _extreme(values, run.less, "min")


def largest(values: Sequence[Any]) -> Any:
    """The greatest element."""
    return _extreme(values, run.greater, "max")


def _extreme(values: Sequence[Any], better: Any, name: str) -> Any:
    if not values:
        raise EvaluationError(f"{name} called on empty list")
    found = values[0]
    for value in values:
        if better(value, found):
            found = value
    return found


def _sum_from(zero: Any) -> Any:
    def total(values: Sequence[Any]) -> Any:
        found = zero
        for value in values:
            found = run.add(found, value)
        return found

    return total


def index_of(values: Sequence[Any], wanted: Any) -> int:
    """Where an equal element first stands, or -1."""
    return next((position for position, value in enumerate(values) if run.equals(wanted, value)), -1)


def last_index_of(values: Sequence[Any], wanted: Any) -> int:
    """Where an equal element last stands, or -1."""
    return next((at for at in reversed(range(len(values))) if run.equals(wanted, values[at])), -1)


def _overloads() -> tuple[Overload, ...]:
    found: list[Overload] = []
    for kind in _ORDERED:
        found.append(declared(f"list_{kind}_is_sorted_bool", f"list({kind}).isSorted() bool", is_sorted))
        found.append(declared(f"list_{kind}_max_{kind}", f"list({kind}).max() {kind}", largest))
        found.append(declared(f"list_{kind}_min_{kind}", f"list({kind}).min() {kind}", smallest))
    for kind, zero in _SUMMED.items():
        found.append(declared(f"list_{kind}_sum_{kind}", f"list({kind}).sum() {kind}", _sum_from(zero)))
    found.append(declared("list_a_index_of_int", "list(A).indexOf(A) int", index_of))
    found.append(declared("list_a_last_index_of_int", "list(A).lastIndexOf(A) int", last_index_of))
    return tuple(found)


LISTS: Final = Library("lists", (1, 0), _overloads())


def holds_all(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether every wanted element occurs."""
    return all(run.contained(each, values) for each in wanted)


def overlap(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether some element occurs in both."""
    return any(run.contained(each, others) for each in values)


def equivalent(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether each list holds all of the other."""
    return holds_all(values, others) and holds_all(others, values)


SETS: Final = Library(
    "sets",
    (1, 29),
    (
        declared("list_sets_contains_list", "sets.contains(list(T),list(T)) bool", holds_all),
        declared("list_sets_intersects_list", "sets.intersects(list(T),list(T)) bool", overlap),
        declared("list_sets_equivalent_list", "sets.equivalent(list(T),list(T)) bool", equivalent),
    ),
)
