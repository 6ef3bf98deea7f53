"""Ranges of sizes and costs, and the known facts about an operand in an estimate.

These are ``SizeEstimate``, ``CostEstimate`` and ``AstNode`` of cel-go's checker/cost.go, release 0.17.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Protocol

from simkit.language.cel.tree import Node
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
