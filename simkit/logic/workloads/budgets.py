"""Pod disruption budgets: the budgets of a pod, and their conditions.

pkg/controller/disruption and pkg/registry/core/pod/storage/eviction.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simkit.logic.workloads.status_conditions import Condition, is_true, with_condition
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, at, labels_of


def guarding(budgets: Iterable[Object], pod: Object) -> list[Object]:
    """The budgets whose selector matches a pod. An empty selector matches none here."""
    found = []
    for budget in budgets:
        selector = of_object(at(budget, "spec", "selector"))
        if selector and selector.matches(labels_of(pod)):
            found.append(budget)
    return found


def pod_ready(pod: Object) -> bool:
    """True if the pod's condition Ready is true."""
    return is_true(at(pod, "status", "conditions"), "Ready")


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
