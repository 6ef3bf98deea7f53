"""Estimated costs of functions, as ranges over the sizes of their arguments.

EstimateCallCost in k8s.io/apiserver/pkg/cel/library/cost.go, release 1.30; functionCost, ``SizeEstimate``,
``CostEstimate`` and ``AstNode`` in cel-go 0.17, checker/cost.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.language.cel.errors import LONGEST_LIST
from simkit.language.cel.tree import Literal, Node
from simkit.language.cel.types import Type

if TYPE_CHECKING:
    from simkit.language.cel.cost_estimate import Estimator

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


class _Lacking(Exception):
    """A rule asks for an operand that the call does not have."""


class Operands:
    """The operands of a call in an estimate, and their sizes in the estimates of library functions."""

    def __init__(self, sizes: Estimator, overload: str, target: Value | None, values: Sequence[Value]) -> None:
        self.sizes, self.overload, self._target, self.values = sizes, overload, target, values

    @property
    def target(self) -> Value:
        """The target of a member call."""
        if self._target is None:
            raise _Lacking
        return self._target

    @property
    def held(self) -> Range:
        """The size of the target."""
        return self.sizes.library_size(self.target)

    def of(self, index: int) -> Range:
        """The size of an argument."""
        if index >= len(self.values):
            raise _Lacking
        return self.sizes.library_size(self.values[index])

    @property
    def only(self) -> Range:
        """The size of the one argument."""
        return self.of(0 if len(self.values) == 1 else len(self.values))

    @property
    def element(self) -> Range:
        """The size of an element of the target."""
        path = (*self.target.path, "@items") if self.target.path else ()
        return self.sizes.library_size(self.target._replace(path=path, node=None, size=None))

    def plain(self, index: int) -> Range:
        """The size of an argument in the estimates of standard functions."""
        return self.sizes.size(self.values[index])


Estimated = tuple[Range, Range | None]
Rule = Callable[[Operands], Estimated]


def estimated(operands: Operands, function: str) -> Estimated:
    """The cost of a call without its arguments, and the size of its result where it has a known one."""
    for rule in (_LIBRARY.get(function), _STANDARD.get(operands.overload)):
        if rule is not None:
            with suppress(_Lacking):
                return rule(operands)
    return ONE, None


def exactly(count: int) -> Range:
    """The range of one number."""
    return Range(count, count)


_MADE: Final = exactly(11)
"""The cost of a new list."""


def _visit(call: Operands) -> Estimated:
    """The cost of isSorted, sum, min, max, indexOf and lastIndexOf: of a list, or of a string."""
    if not call.target.type.parameters:
        return call.held.scaled(0.1), None
    letters = call.target.type.parameters[0].kind in ("string", "bytes")
    return call.held.times(ONE.plus(call.element.scaled(0.1)) if letters else ONE), None


def _replace(call: Operands) -> Estimated:
    size, old, new = call.held, call.of(0), call.of(1)
    longest = _replaced(size.high, old.low, new.high, grows=new.high > old.low)
    shortest = _replaced(size.low, old.high, new.low, grows=old.high > new.low)
    return size.scaled(0.2), Range(shortest, longest)


def _replaced(size: int, old: int, new: int, *, grows: bool) -> int:
    """The greatest or least size after a replacement: an empty old text is inserted between all letters."""
    if old == 0:
        return min((min(size + 1, LARGEST)) * new + size, LARGEST)
    return min(math.ceil(size / old) * new, LARGEST) if grows else size


def _split(call: Operands) -> Estimated:
    size, most = call.held, call.held.high
    limit = call.values[1].node if len(call.values) > 1 else None
    if isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value >= 0:
        most = limit.value
    return size.scaled(0.2), Range(0, most)


def _join(call: Operands) -> Estimated:
    count = call.held
    size = count.times(call.element) if call.target.type.parameters else NOTHING
    if call.values:
        size = size.plus(call.of(0).times(Range(max(count.low - 1, 0), max(count.high - 1, 0))))
    return size.scaled(0.1), size


def _contains_address(call: Operands) -> Estimated:
    cost, written = Range(8, 32).scaled(0.1), call.of(0).scaled(0.1)
    if call.overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(Range(4, 16).scaled(0.1)).plus(ONE)
    return (cost.plus(written) if call.overload.endswith("_string") else cost), None


def _address(call: Operands) -> Estimated:
    if call._target is not None:
        raise _Lacking
    return call.only.scaled(0.1), None


def _sets(factor: int) -> Rule:
    return lambda call: (call.of(0).times(call.of(1)).times(exactly(factor)).plus(ONE), None)


def _ordered(call: Operands) -> Estimated:
    """The cost of sort and sortBy."""
    size = call.held if call._target is not None else call.of(0)
    steps = Range(size.low.bit_length(), size.high.bit_length())
    return size.times(steps).scaled(0.1).plus(_MADE), size


def _numbers(call: Operands) -> Estimated:
    node = call.values[0].node
    most = max(0, node.value) if isinstance(node, Literal) and isinstance(node.value, int) else LONGEST_LIST
    size = Range(0 if most == LONGEST_LIST else most, most)
    return size.plus(_MADE), size


def _selector(call: Operands) -> Estimated:
    """A selector is read, and becomes a list of requirements of two letters at least."""
    return exactly(10).plus(call.of(0).scaled(0.1)).plus(call.of(0).scaled(0.5).times(exactly(50))), None


_LIBRARY: Final[dict[str, Rule]] = {
    "check": lambda _: (exactly(350_000), None),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _visit),
    **dict.fromkeys(
        ("url", "quantity", "isQuantity", "isIP", "cidr", "isCIDR"), lambda call: (call.only.scaled(0.1), None)
    ),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), lambda call: (call.held.scaled(0.1), call.held)),
    **dict.fromkeys(("semver", "isSemver"), lambda call: (call.of(0).scaled(0.1), None)),
    **dict.fromkeys(("slice", "reverse", "flatten"), lambda call: (call.held.plus(_MADE), call.held)),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _ordered),
    "distinct": lambda call: (call.held.times(call.held).scaled(0.1).plus(_MADE), call.held),
    "lists.range": _numbers,
    "validate": lambda call: (call.of(0).scaled(0.1).times(exactly(32)), None),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(
        ("find", "findAll"),
        lambda call: (
            call.held.plus(ONE).scaled(0.1).times(call.of(0).scaled(0.25)),
            Range(0, call.held.high),
        ),
    ),
    "containsIP": _contains_address,
    "containsCIDR": _contains_address,
    "ip": _address,
    "ip.isCanonical": lambda call: (call.of(0).scaled(0.2), None),
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}


def _quote(call: Operands) -> Estimated:
    return call.plain(0).scaled(0.1), call.plain(0).times(Range(1, 2)).plus(exactly(2))


def _matches(call: Operands) -> Estimated:
    text = call.sizes.size(call.target).plus(ONE).scaled(0.1)
    return text.times(call.plain(0).scaled(0.25)), None


def _concatenated(call: Operands) -> Estimated:
    size = call.plain(0).plus(call.plain(1))
    return (ONE if call.overload == "add_list" else size.scaled(0.1)), size


def _compared(call: Operands) -> Estimated:
    most = min(call.plain(0).high, call.plain(1).high)
    return Range(1 if most > 0 else 0, most).scaled(0.1), None


_STANDARD: Final[dict[str, Rule]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda call: (call.plain(0).scaled(0.1), None)),
    "string_to_bytes": lambda call: (call.plain(0).scaled(0.1), call.plain(0).times(Range(1, 4))),
    "bytes_to_string": lambda call: (call.plain(0).scaled(0.1), Range(call.plain(0).low // 4, call.plain(0).high)),
    "strings_quote": _quote,
    "string_format": lambda call: (call.sizes.size(call.target).scaled(0.1), None),
    "in_list": lambda call: (call.plain(1), None),
    "matches_string": _matches,
    "contains_string": lambda call: (
        call.sizes.size(call.target).scaled(0.1).times(call.plain(0).scaled(0.1)),
        None,
    ),
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _concatenated),
    **dict.fromkeys(("equals", "not_equals"), _compared),
    **{
        f"{name}_{kind}": _compared
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}
