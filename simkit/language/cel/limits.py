"""Limits of costs, and the messages when one is exceeded.

k8s.io/apiserver/pkg/apis/cel/config.go, release 1.30.

Upstream: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

CALL_LIMIT: Final = 1_000_000
"""The cost limit of one evaluation."""
OBJECT_BUDGET: Final = 10_000_000
"""The cost limit of all rules of an object, or of all expressions of a policy for a request."""
MATCH_BUDGET: Final = 2_500_000
"""The cost limit of all match conditions for a request."""
RULE_ESTIMATE: Final = 10_000_000
"""The limit of the estimated cost of one rule of a custom resource."""
SCHEMA_ESTIMATE: Final = 100_000_000
"""The limit of the estimated cost of all rules of one schema."""
MESSAGE_BYTES: Final = 5_120
"""The longest text of a message expression, in bytes."""
LONGEST_TEXT: Final = 64 * 1024 * 1024
"""The longest text that a function may give, in letters. cel-go has no such limit, and may run out of memory."""
LONGEST_LIST: Final = 1024 * 1024
"""The longest list that ``+`` or a function may make. cel-go has no such limit either."""

_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def excess(what: str, cost: int, limit: int) -> str:
    """The message for an estimate above its limit, as kube-apiserver words it.

    Examples
    --------
    >>> excess("estimated rule cost", 405_000_000, RULE_ESTIMATE).partition(" (")[0]
    'estimated rule cost exceeds budget by factor of 40.5x'
    """
    ratio = cost / limit
    factor = "more than 100x" if ratio > 100 else f"{ratio:f}x" if ratio < 1.5 else f"{ratio:.1f}x"
    return f"{what} exceeds budget by factor of {factor} {_ADVICE}"
