"""Optional values: creation, tests, and ``.?field`` and ``[?key]``.

cel-go 0.17, OptionalTypes in cel/library.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.language.cel.containers import index, optional_index
from simkit.language.cel.declarations import Library, declared, operator
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import NONE, Optional, kind_of


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
