"""Functions of optional values, lists and sets, which are lists without order.

cel-go 0.17, OptionalTypes in cel/library.go, ext/sets.go and, for release 1.34, ext/lists.go;
k8s.io/apiserver/pkg/cel/library/lists.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from simkit.language.cel import operations as run
from simkit.language.cel.containers import index, optional_index, watched
from simkit.language.cel.declarations import Library, Overload, declared, operator
from simkit.language.cel.errors import LONGEST_LIST, EvaluationError
from simkit.language.cel.values import NONE, Duration, Optional, UInt, kind_of
from simkit.meta.deadline import check_deadline


def some(value: Any) -> Optional:
    """The value as an optional."""
    return Optional(True, value)


def some_unless_zero(value: Any) -> Optional:
    """The value as an optional; none if it is empty, zero, false or null."""
    kind = kind_of(value)
    if kind in ("duration", "timestamp"):
        return Optional(True, value) if value.nanos else NONE
    if kind in ("list", "map", "string", "bytes"):
        return Optional(True, value) if len(value) else NONE
    if kind in ("null", "bool", "int", "uint", "double"):
        return Optional(True, value) if value else NONE
    return Optional(True, value)


def value_of(found: Optional) -> Any:
    """The value inside an optional."""
    if not found.present:
        raise EvaluationError("optional.none() dereference")
    return found.value


OPTIONALS: Final = Library(
    "optional types",
    (1, 28),
    (
        declared("optional_of", "optional.of(V) optional(V)", some),
        declared("optional_ofNonZeroValue", "optional.ofNonZeroValue(V) optional(V)", some_unless_zero),
        declared("optional_none", "optional.none() optional(V)", lambda: NONE),
        declared("optional_value", "optional(V).value() V", value_of),
        declared("optional_hasValue", "optional(V).hasValue() bool", lambda found: found.present),
        declared(
            "optional_or_optional",
            "optional(V).or(optional(V)) optional(V)",
            lambda found, other: found if found.present else other,
        ),
        declared(
            "optional_orValue_value",
            "optional(V).orValue(V) V",
            lambda found, other: found.value if found.present else other,
        ),
        operator("optional_list_optindex_optional_int", "_[?_]", "list(V), int", "optional(V)", optional_index),
        operator(
            "optional_optional_list_optindex_optional_int",
            "_[?_]",
            "optional(list(V)), int",
            "optional(V)",
            optional_index,
        ),
        operator("map_optindex_optional_value", "_[?_]", "map(K, V), K", "optional(V)", optional_index),
        operator(
            "optional_map_optindex_optional_value",
            "_[?_]",
            "optional(map(K, V)), K",
            "optional(V)",
            optional_index,
        ),
        operator("optional_list_index_int", "_[_]", "optional(list(V)), int", "optional(V)", index),
        operator("optional_map_index_value", "_[_]", "optional(map(K, V)), K", "optional(V)", index),
    ),
)


def first(values: Sequence[Any]) -> Optional:
    """The first element of a list, as an optional."""
    return Optional(True, values[0]) if values else NONE


def last(values: Sequence[Any]) -> Optional:
    """The last element of a list, as an optional."""
    return Optional(True, values[-1]) if values else NONE


def unwrapped_values(values: Sequence[Optional]) -> list[Any]:
    """The values of those optionals in a list that have one.

    Examples
    --------
    >>> unwrapped_values([Optional(True, 1), NONE])
    [1]
    """
    return [each.value for each in values if each.present]


OPTIONALS_2: Final = Library(
    "the second version of optionals",
    (1, 28),
    (
        declared("list_last", "list(V).last() optional(V)", last),
        declared("list_first", "list(V).first() optional(V)", first),
        declared("optional_unwrap", "optional.unwrap(list(optional(V))) list(V)", unwrapped_values),
        declared("optional_unwrapOpt", "list(optional(V)).unwrapOpt() list(V)", unwrapped_values),
    ),
)
"""The functions of optionals since release 1.33, in every compatibility version that has optionals."""


_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED: Final = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}


def is_sorted(values: Sequence[Any]) -> bool:
    """True if no element is greater than the next one."""
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
    """The first position of an equal element, or -1."""
    return next((position for position, value in enumerate(watched(values)) if run.equals(wanted, value)), -1)


def last_index_of(values: Sequence[Any], wanted: Any) -> int:
    """The last position of an equal element, or -1."""
    return next((at for at in watched(range(len(values) - 1, -1, -1)) if run.equals(wanted, values[at])), -1)


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


def slice_of(values: Sequence[Any], start: int, end: int) -> list[Any]:
    """The elements from one position up to, not including, another."""
    told = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvaluationError(f"{told}, negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{told}, start index must be less than or equal to end index")
    if end > len(values):
        raise EvaluationError(f"{told}, list is length {len(values)}")
    return list(values[start:end])


def flattened(values: Sequence[Any], depth: int = 1) -> list[Any]:
    """The elements of lists inside of a list, down to a depth."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    for value in values:
        found += flattened(value, depth - 1) if depth and kind_of(value) == "list" else [value]
    return found


def distinct(values: Sequence[Any]) -> list[Any]:
    """The distinct elements, at their first positions."""
    found: list[Any] = []
    for value in values:
        if not any(run.equals(value, other) for other in watched(found)):
            found.append(value)
    return found


def sorted_by(values: Sequence[Any], keys: Sequence[Any]) -> list[Any]:
    """The elements ordered by their keys, which are of one kind."""
    if len({kind_of(key) for key in keys}) > 1:
        raise EvaluationError("list elements must have the same type")
    if keys and kind_of(keys[0]) not in _ORDERED:
        raise EvaluationError("list elements must be comparable")
    order = cmp_to_key(_order)
    pairs = sorted(zip(keys, values, strict=True), key=lambda pair: order(pair[0]))
    return [value for _, value in pairs]


def _order(one: Any, other: Any) -> int:
    check_deadline()
    return bool(run.greater(one, other)) - bool(run.less(one, other))


def numbers_below(end: int) -> list[int]:
    """The integers from 0 up to, not including, a number."""
    if end > LONGEST_LIST:
        raise EvaluationError(f"lists.range({end}) is longer than {LONGEST_LIST}")
    return list(range(end))


def _later_overloads() -> tuple[Overload, ...]:
    found = [
        declared("list_slice", "list(T).slice(int, int) list(T)", slice_of),
        declared("list_flatten", "list(list(T)).flatten() list(T)", flattened),
        declared("list_flatten_int", "list(dyn).flatten(int) list(dyn)", flattened),
        declared("lists_range", "lists.range(int) list(int)", numbers_below),
        declared("list_distinct", "list(T).distinct() list(T)", distinct),
        declared("list_reverse", "list(T).reverse() list(T)", lambda values: list(reversed(values))),
    ]
    for kind in _ORDERED:
        signature = f"list({kind}).sort() list({kind})"
        found.append(declared(f"list_{kind}_sort", signature, lambda values: sorted_by(values, values)))
        keys = f"list(T), list({kind})"
        found.append(operator(f"list_{kind}_sortByAssociatedKeys", "@sortByAssociatedKeys", keys, "list(T)", sorted_by))
    return tuple(found)


LISTS_3: Final = Library("the third version of lists", (1, 34), _later_overloads())


def holds_all(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """True if the list contains every wanted element."""
    return all(run.contained(each, values) for each in wanted)


def overlap(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """True if both have a common element."""
    return any(run.contained(each, others) for each in values)


def equivalent(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """True if each list contains all elements of the other."""
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
