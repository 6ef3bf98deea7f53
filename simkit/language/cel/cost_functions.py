"""Estimated costs of functions, as ranges over the sizes of their arguments.

EstimateCallCost in k8s.io/apiserver/pkg/cel/library/cost.go, release 1.30; functionCost, ``SizeEstimate``,
``CostEstimate`` and ``AstNode`` in cel-go 0.17, checker/cost.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from simkit.language.cel.limits import LONGEST_LIST
from simkit.language.cel.tree import Literal, Node
from simkit.language.cel.types import Type

LARGEST: Final = 2**64 - 1


class Range(NamedTuple):
    """A least and a greatest size or cost; sums and products saturate at 64 bits."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        """The sum."""
        return Range(min(self.low + other.low, LARGEST), min(self.high + other.high, LARGEST))

    def times(self, other: Range) -> Range:
        """The product."""
        return Range(min(self.low * other.low, LARGEST), min(self.high * other.high, LARGEST))

    def scaled(self, factor: float) -> Range:
        """The product with a factor, rounded up."""
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Range) -> Range:
        """The smallest range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def _scaled(size: int, factor: float) -> int:
    product = float(size) * factor
    return LARGEST if float(size) > LARGEST / factor else min(math.ceil(product), LARGEST)


NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, LARGEST)


class Value(NamedTuple):
    """The known facts about an operand: its path, type, node, and size."""

    path: tuple[str, ...]
    type: Type
    node: Node | None
    size: Range | None


class Sizes(Protocol):
    """The sizes of operands. Implementations must not evaluate anything."""

    def size(self, value: Value) -> Range:
        """The size of an operand; scalars without a path count as 1."""
        ...

    def library_size(self, value: Value) -> Range:
        """The size in the estimates of library functions: scalars are not special."""
        ...


Estimated = tuple[Range, Range | None]
Rule = Callable[[Sizes, str, Value | None, Sequence[Value]], Estimated | None]


def estimated(sizes: Sizes, function: str, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    """The cost of a call without its arguments, and the size of its result where it has a known one."""
    for rule in (_LIBRARY.get(function), _STANDARD.get(overload)):
        found = None if rule is None else rule(sizes, overload, target, values)
        if found is not None:
            return found
    return Range(1, 1), None


def _check(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return Range(350_000, 350_000), None


def _selector(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    """A selector is read, and becomes a list of requirements of two letters at least."""
    size = sizes.library_size(values[0])
    return Range(10, 10).plus(size.scaled(0.1)).plus(size.scaled(0.5).times(Range(50, 50))), None


def _visit(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """The cost of isSorted, sum, min, max, indexOf and lastIndexOf: of a list, or of a string."""
    if target is None:
        return None
    size = sizes.library_size(target)
    if not target.type.parameters:
        return size.scaled(0.1), None
    element = target.type.parameters[0]
    each = Range(1, 1)
    if element.kind in ("string", "bytes"):
        each = each.plus(_element_size(sizes, target).scaled(0.1))
    return size.times(each), None


def _element_size(sizes: Sizes, target: Value) -> Range:
    path = (*target.path, "@items") if target.path else ()
    return sizes.library_size(target._replace(path=path, node=None, size=None))


def _argument(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return (sizes.library_size(values[0]).scaled(0.1), None) if len(values) == 1 else None


def _semver(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return sizes.library_size(values[0]).scaled(0.1), None


def _same_size(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    size = sizes.library_size(target)
    return size.scaled(0.1), size


def _replace(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None or len(values) < 2:
        return None
    size, old, new = map(sizes.library_size, (target, values[0], values[1]))
    longest = _replaced(size.high, old.low, new.high, grows=new.high > old.low)
    shortest = _replaced(size.low, old.high, new.low, grows=old.high > new.low)
    return size.scaled(0.2), Range(shortest, longest)


def _replaced(size: int, old: int, new: int, *, grows: bool) -> int:
    """The greatest or least size after a replacement: an empty old text is inserted between all letters."""
    if old == 0:
        return min((min(size + 1, LARGEST)) * new + size, LARGEST)
    return min(math.ceil(size / old) * new, LARGEST) if grows else size


def _split(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    size = sizes.library_size(target)
    most = size.high
    limit = values[1].node if len(values) > 1 else None
    if isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value >= 0:
        most = limit.value
    return size.scaled(0.2), Range(0, most)


def _join(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    count = sizes.library_size(target)
    size = count.times(_element_size(sizes, target)) if target.type.parameters else Range(0, 0)
    if values:
        gaps = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(sizes.library_size(values[0]).times(gaps))
    return size.scaled(0.1), size


def _search(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None or not values:
        return None
    size = sizes.library_size(target)
    cost = size.plus(Range(1, 1)).scaled(0.1).times(sizes.library_size(values[0]).scaled(0.25))
    return cost, Range(0, size.high)


def _contains_address(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None or not values:
        return None
    cost = Range(8, 32).scaled(0.1)
    if overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(Range(4, 16).scaled(0.1)).plus(Range(1, 1))
    if overload.endswith("_string"):
        cost = cost.plus(sizes.library_size(values[0]).scaled(0.1))
    return cost, None


def _address(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return None if target is not None else _argument(sizes, overload, target, values)


def _canonical(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return sizes.library_size(values[0]).scaled(0.2), None


def _sets(factor: int) -> Rule:
    def rule(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
        product = sizes.library_size(values[0]).times(sizes.library_size(values[1]))
        return product.times(Range(factor, factor)).plus(Range(1, 1)), None

    return rule


def _copied(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """The cost of slice, reverse and flatten: each element once, into a new list."""
    if target is None:
        return None
    size = sizes.library_size(target)
    return size.plus(Range(11, 11)), size


def _each_with_each(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """The cost of distinct."""
    if target is None:
        return None
    size = sizes.library_size(target)
    return size.times(size).scaled(0.1).plus(Range(11, 11)), size


def _ordered(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """The cost of sort and sortBy."""
    size = sizes.library_size(target if target is not None else values[0])
    steps = Range(size.low.bit_length(), size.high.bit_length())
    return size.times(steps).scaled(0.1).plus(Range(11, 11)), size


def _numbers(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    node = values[0].node
    most = max(0, node.value) if isinstance(node, Literal) and isinstance(node.value, int) else LONGEST_LIST
    size = Range(0 if most == LONGEST_LIST else most, most)
    return size.plus(Range(11, 11)), size


def _format_error(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    return sizes.library_size(values[0]).scaled(0.1).times(Range(32, 32)), None


_LIBRARY: Final[dict[str, Rule]] = {
    "check": _check,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _visit),
    **dict.fromkeys(("url", "quantity", "isQuantity", "isIP", "cidr", "isCIDR"), _argument),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    **dict.fromkeys(("semver", "isSemver"), _semver),
    **dict.fromkeys(("slice", "reverse", "flatten"), _copied),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _ordered),
    "distinct": _each_with_each,
    "lists.range": _numbers,
    "validate": _format_error,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _search,
    "findAll": _search,
    "containsIP": _contains_address,
    "containsCIDR": _contains_address,
    "ip": _address,
    "ip.isCanonical": _canonical,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}


def _first(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return sizes.size(values[0]).scaled(0.1), None


def _to_bytes(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = sizes.size(values[0])
    return size.scaled(0.1), size.times(Range(1, 4))


def _to_text(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = sizes.size(values[0])
    return size.scaled(0.1), Range(size.low // 4, size.high)


def _quote(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = sizes.size(values[0])
    return size.scaled(0.1), size.times(Range(1, 2)).plus(Range(2, 2))


def _format(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return None if target is None else (sizes.size(target).scaled(0.1), None)


def _in_list(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return sizes.size(values[1]), None


def _matches(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    text = sizes.size(target).plus(Range(1, 1)).scaled(0.1)
    return text.times(sizes.size(values[0]).scaled(0.25)), None


def _contains(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    return sizes.size(target).scaled(0.1).times(sizes.size(values[0]).scaled(0.1)), None


def _concatenated(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = sizes.size(values[0]).plus(sizes.size(values[1]))
    return (Range(1, 1) if overload == "add_list" else size.scaled(0.1)), size


def _compared(sizes: Sizes, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    most = min(sizes.size(values[0]).high, sizes.size(values[1]).high)
    return Range(1 if most > 0 else 0, most).scaled(0.1), None


_STANDARD: Final[dict[str, Rule]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _first),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quote,
    "string_format": _format,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _concatenated),
    **dict.fromkeys(("equals", "not_equals"), _compared),
    **{
        f"{name}_{kind}": _compared
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}
