"""Limits of costs, and the words in which a limit that is exceeded is told.

k8s.io/apiserver/pkg/apis/cel/config.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

CALL_LIMIT: Final = 1_000_000
"""What one evaluation may cost."""
OBJECT_BUDGET: Final = 10_000_000
"""What all rules of an object, or all expressions of a policy over a request, may cost together."""
MATCH_BUDGET: Final = 2_500_000
"""What all match conditions over a request may cost together."""
RULE_ESTIMATE: Final = 10_000_000
"""What one rule of a custom resource may be estimated at."""
SCHEMA_ESTIMATE: Final = 100_000_000
"""What all rules of one schema may be estimated at together."""
MESSAGE_BYTES: Final = 5_120
"""The longest text that a message expression may give."""
LONGEST_TEXT: Final = 64 * 1024 * 1024
"""The longest text that a function gives, in letters. cel-go has no such limit, and may run out of memory."""
LONGEST_LIST: Final = 1024 * 1024
"""The longest list that a function makes of a number. cel-go has no such limit either."""

_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def excess(what: str, cost: int, limit: int) -> str:
    """The text that an estimate is above its limit, as kube-apiserver words it.

    Examples
    --------
    >>> excess("estimated rule cost", 405_000_000, RULE_ESTIMATE).partition(" (")[0]
    'estimated rule cost exceeds budget by factor of 40.5x'
    """
    ratio = cost / limit
    factor = "more than 100x" if ratio > 100 else f"{ratio:f}x" if ratio < 1.5 else f"{ratio:.1f}x"
    return f"{what} exceeds budget by factor of {factor} {_ADVICE}"
