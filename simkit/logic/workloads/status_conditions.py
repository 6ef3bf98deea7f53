"""Lists of status conditions: one of each type, with the time of its last change; those of disruption budgets.

k8s.io/apimachinery/pkg/api/meta/conditions.go and pkg/controller/disruption, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simkit.meta.labels import of_object
from simkit.meta.objects import Object, at, labels_of

Condition = Mapping[str, Any]


def find(conditions: Sequence[Condition] | None, kind: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((each for each in conditions or () if each.get("type") == kind), None)


def is_true(conditions: Sequence[Condition] | None, kind: str) -> bool:
    """True if a condition exists and is true."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def with_condition(conditions: Sequence[Condition] | None, wanted: Condition, now: str) -> list[Condition]:
    """The list with a condition, at the position of the one of its type, or at the end.

    Its time stays that of the old one unless its status is another.
    """
    present = list(conditions or ())
    for index, each in enumerate(present):
        if each.get("type") == wanted["type"]:
            since = each.get("lastTransitionTime") if each.get("status") == wanted["status"] else None
            present[index] = {**wanted, "lastTransitionTime": since or now}
            return present
    return [*present, {**wanted, "lastTransitionTime": now}]


def guarding(budgets: Iterable[Object], pod: Object) -> list[Object]:
    """The budgets whose selector matches a pod. An empty selector matches none here."""
    found = []
    for budget in budgets:
        selector = of_object(at(budget, "spec", "selector"))
        if selector and selector.matches(labels_of(pod)):
            found.append(budget)
    return found


def with_allowed(conditions: Sequence[Condition] | None, allowed: int, generation: int, now: str) -> list[Condition]:
    """The conditions of a budget with this number of allowed disruptions."""
    enough = allowed > 0
    wanted = {
        "type": "DisruptionAllowed",
        "status": str(enough),
        "observedGeneration": generation,
        "reason": "SufficientPods" if enough else "InsufficientPods",
        "message": "",
    }
    return with_condition(conditions, wanted, now)


def with_failure(conditions: Sequence[Condition] | None, why: str, generation: int, now: str) -> list[Condition]:
    """The conditions of a budget whose numbers cannot be computed."""
    seen = {"observedGeneration": generation} if generation else {}
    wanted = {"type": "DisruptionAllowed", "status": "False", **seen, "reason": "SyncFailed", "message": why}
    return with_condition(conditions, wanted, now)
