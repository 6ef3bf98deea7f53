"""Estimated costs of functions over the sizes of their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from simkit.language.cel.limits import LONGEST_LIST
from simkit.language.cel.tree import Literal

if TYPE_CHECKING:
    from simkit.language.cel.cost_estimate import Estimator, Range, Value

Estimated = tuple["Range", "Range | None"]
Rule = Callable[["Estimator", str, "Value | None", Sequence["Value"]], "Estimated | None"]


def _range(low: int, high: int) -> Range:
    from simkit.language.cel.cost_estimate import Range

    return Range(low, high)


def estimated(
    estimator: Estimator, function: str, overload: str, target: Value | None, values: Sequence[Value]
) -> Estimated:
    """The cost of a call without its arguments, and the size of its result where it has a known one."""
    for rule in (_LIBRARY.get(function), _STANDARD.get(overload)):
        found = None if rule is None else rule(estimator, overload, target, values)
        if found is not None:
            return found
    return _range(1, 1), None


def _check(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return _range(350_000, 350_000), None


def _visit(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """isSorted, sum, min, max, indexOf, lastIndexOf: of a list, or of a string."""
    if target is None:
        return None
    size = estimator.library_size(target)
    if not target.type.parameters:
        return size.scaled(0.1), None
    element = target.type.parameters[0]
    each = _range(1, 1)
    if element.kind in ("string", "bytes"):
        each = each.plus(_element_size(estimator, target).scaled(0.1))
    return size.times(each), None


def _element_size(estimator: Estimator, target: Value) -> Range:
    path = (*target.path, "@items") if target.path else ()
    return estimator.library_size(target._replace(path=path, node=None, size=None))


def _argument(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return (estimator.library_size(values[0]).scaled(0.1), None) if len(values) == 1 else None


def _semver(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return estimator.library_size(values[0]).scaled(0.1), None


def _same_size(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    size = estimator.library_size(target)
    return size.scaled(0.1), size


def _replace(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None or len(values) < 2:
        return None
    size, old, new = map(estimator.library_size, (target, values[0], values[1]))
    longest = _replaced(size.high, old.low, new.high, grows=new.high > old.low)
    shortest = _replaced(size.low, old.high, new.low, grows=old.high > new.low)
    return size.scaled(0.2), _range(shortest, longest)


def _replaced(size: int, old: int, new: int, *, grows: bool) -> int:
    """The greatest or least size after replacing: an empty old text goes between all letters."""
    from simkit.language.cel.cost_estimate import LARGEST

    if old == 0:
        return min((min(size + 1, LARGEST)) * new + size, LARGEST)
    return min(math.ceil(size / old) * new, LARGEST) if grows else size


def _split(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    size = estimator.library_size(target)
    most = size.high
    limit = values[1].node if len(values) > 1 else None
    if isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value >= 0:
        most = limit.value
    return size.scaled(0.2), _range(0, most)


def _join(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    count = estimator.library_size(target)
    size = count.times(_element_size(estimator, target)) if target.type.parameters else _range(0, 0)
    if values:
        gaps = _range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(estimator.library_size(values[0]).times(gaps))
    return size.scaled(0.1), size


def _search(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None or not values:
        return None
    size = estimator.library_size(target)
    cost = size.plus(_range(1, 1)).scaled(0.1).times(estimator.library_size(values[0]).scaled(0.25))
    return cost, _range(0, size.high)


def _contains_address(
    estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]
) -> Estimated | None:
    if target is None or not values:
        return None
    cost = _range(8, 32).scaled(0.1)
    if overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(_range(4, 16).scaled(0.1)).plus(_range(1, 1))
    if overload.endswith("_string"):
        cost = cost.plus(estimator.library_size(values[0]).scaled(0.1))
    return cost, None


def _address(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return None if target is not None else _argument(estimator, overload, target, values)


def _canonical(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return estimator.library_size(values[0]).scaled(0.2), None


def _sets(factor: int) -> Rule:
    def rule(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
        product = estimator.library_size(values[0]).times(estimator.library_size(values[1]))
        return product.times(_range(factor, factor)).plus(_range(1, 1)), None

    return rule


def _copied(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """slice, reverse and flatten: each element once, into a new list."""
    if target is None:
        return None
    size = estimator.library_size(target)
    return size.plus(_range(11, 11)), size


def _each_with_each(
    estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]
) -> Estimated | None:
    """distinct."""
    if target is None:
        return None
    size = estimator.library_size(target)
    return size.times(size).scaled(0.1).plus(_range(11, 11)), size


def _ordered(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    """sort and sortBy."""
    size = estimator.library_size(target if target is not None else values[0])
    steps = _range(size.low.bit_length(), size.high.bit_length())
    return size.times(steps).scaled(0.1).plus(_range(11, 11)), size


def _numbers(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    node = values[0].node
    most = max(0, node.value) if isinstance(node, Literal) and isinstance(node.value, int) else LONGEST_LIST
    size = _range(0 if most == LONGEST_LIST else most, most)
    return size.plus(_range(11, 11)), size


def _format_fault(
    estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]
) -> Estimated | None:
    if target is None:
        return None
    return estimator.library_size(values[0]).scaled(0.1).times(_range(32, 32)), None


_LIBRARY: Final[dict[str, Rule]] = {
    "check": _check,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _visit),
    **dict.fromkeys(("url", "quantity", "isQuantity", "isIP", "cidr", "isCIDR"), _argument),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    **dict.fromkeys(("semver", "isSemver"), _semver),
    **dict.fromkeys(("slice", "reverse", "flatten"), _copied),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _ordered),
    "distinct": _each_with_each,
    "lists.range": _numbers,
    "validate": _format_fault,
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


def _first(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return estimator.size(values[0]).scaled(0.1), None


def _to_bytes(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = estimator.size(values[0])
    return size.scaled(0.1), size.times(_range(1, 4))


def _to_text(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = estimator.size(values[0])
    return size.scaled(0.1), _range(size.low // 4, size.high)


def _quote(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = estimator.size(values[0])
    return size.scaled(0.1), size.times(_range(1, 2)).plus(_range(2, 2))


def _format(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    return None if target is None else (estimator.size(target).scaled(0.1), None)


def _in_list(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    return estimator.size(values[1]), None


def _matches(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    text = estimator.size(target).plus(_range(1, 1)).scaled(0.1)
    return text.times(estimator.size(values[0]).scaled(0.25)), None


def _contains(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated | None:
    if target is None:
        return None
    return estimator.size(target).scaled(0.1).times(estimator.size(values[0]).scaled(0.1)), None


def _concatenated(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    size = estimator.size(values[0]).plus(estimator.size(values[1]))
    return (_range(1, 1) if overload == "add_list" else size.scaled(0.1)), size


def _compared(estimator: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> Estimated:
    most = min(estimator.size(values[0]).high, estimator.size(values[1]).high)
    return _range(1 if most > 0 else 0, most).scaled(0.1), None


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
