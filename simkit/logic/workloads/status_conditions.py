"""Lists of status conditions: one of each type, with the time of its last change.

k8s.io/apimachinery/pkg/api/meta/conditions.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Condition = Mapping[str, Any]


def find(conditions: Sequence[Condition] | None, kind: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((each for each in conditions or () if each.get("type") == kind), None)


def is_true(conditions: Sequence[Condition] | None, kind: str) -> bool:
    """True if a condition exists and is true."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def with_condition(
    conditions: Sequence[Condition] | None, wanted: Condition, now: str, *, time: str = "lastTransitionTime"
) -> list[Condition]:
    """The list with a condition, at the position of the one of its type, or at the end.

    Its time stays that of the old one unless its status is another.
    """
    present = list(conditions or ())
    for index, each in enumerate(present):
        if each.get("type") == wanted["type"]:
            same = each.get("status") == wanted["status"]
            present[index] = {**wanted, time: each.get(time) if same and each.get(time) else now}
            return present
    return [*present, {**wanted, time: now}]
