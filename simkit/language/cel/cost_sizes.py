"""Sizes as cost units, rounded as cel-go rounds them.

cel-go 0.17, interpreter/runtimecost.go; traversalCost in k8s.io/apiserver/pkg/cel/library/cost.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simkit.language.cel.containers import plain_key
from simkit.language.cel.values import kind_of


def ceiling(size: int, factor: float) -> int:
    """The product rounded up, with the rounding errors of doubles.

    Examples
    --------
    >>> ceiling(30, 0.1), ceiling(71, 0.1)
    (3, 8)
    """
    return math.ceil(size * factor)


def traversal(value: Any) -> int:
    """The cost of visiting a value with all its contents."""
    kind = kind_of(value)
    if kind == "string":
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if kind == "bytes":
        return int(len(value) * 0.1)
    if kind == "list":
        return sum(map(traversal, value))
    if isinstance(value, Mapping):
        return sum(traversal(plain_key(key)) + traversal(inner) for key, inner in value.items())
    return 1
