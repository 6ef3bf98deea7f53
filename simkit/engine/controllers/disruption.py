"""Says in each disruption budget how many of its pods may be taken away now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simkit.engine.controllers.events import Events
from simkit.engine.controllers.kinds import (
    BUDGETS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from simkit.engine.controllers.runner import Client
from simkit.engine.controllers.sending import keys_of, replace_status
from simkit.engine.controllers.view import View, controller_of, going, uid_of
from simkit.engine.controllers.watching import Watching
from simkit.engine.seams import Change
from simkit.logic.workloads.budgets import guarding, with_allowed
from simkit.logic.workloads.pods import integer_or_percent, is_ready
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.labels import of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, labels_of, metadata, name_of

_PATIENCE: Final = 120.0
"""Seconds after which a pod that was to be evicted and is still there counts again."""
_SCALED: Final = {
    "ReplicaSet": REPLICA_SETS,
    "ReplicationController": REPLICATION_CONTROLLERS,
    "StatefulSet": STATEFUL_SETS,
    "Deployment": DEPLOYMENTS,
}


class Disruptions(Watching):
    """Counts the pods of each budget again when one of them or of their owners changes."""

    name = account = "disruption-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(BUDGETS, PODS, *_SCALED.values())
        self._clock = clock
        self._events = Events(clock, "controllermanager")

    def affected(self, change: Change, view: View) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == BUDGETS:
            return [key]
        budgets = view.scan(BUDGETS, key.namespace)
        if not budgets:
            return ()
        if key.resource != PODS:
            before = change.previous.object if change.previous is not None else None
            return keys_of(BUDGETS, budgets) if at(obj, "spec", "replicas") != at(before, "spec", "replicas") else ()
        found = {name_of(each) for each in guarding(budgets, obj)}
        if change.previous is not None:
            found.update(name_of(each) for each in guarding(budgets, change.previous.object))
        return [Key(BUDGETS, key.namespace, name) for name in found]

    def everything(self, view: View) -> Iterable[Key]:
        return keys_of(BUDGETS, view.scan(BUDGETS))

    def reconcile(self, client: Client, view: View, key: Key) -> float | None:
        budget = view.get(key)
        if budget is None:
            return None
        selector = of_object(at(budget, "spec", "selector"))
        pods = [pod for pod in view.scan(PODS, key.namespace) if selector.matches(labels_of(pod))]
        if not pods:
            self._events.tell(client, budget, "NoPods", "No matching pods found")
        expected, desired = self._numbers(view, budget, pods)
        disrupted, again = self._disrupted(budget, pods)
        healthy = sum(is_ready(pod) and not going(pod) and name_of(pod) not in disrupted for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        generation = metadata(budget).get("generation") or 0
        now = timestamp(self._clock.now())
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": with_allowed(at(budget, "status", "conditions"), allowed, generation, now),
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        replace_status(client, BUDGETS, budget, status)
        return again

    def _numbers(self, view: View, budget: Object, pods: Sequence[Object]) -> tuple[int, int]:
        """How many pods there should be, and how many of them have to be healthy."""
        least, most = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
        if most is not None:
            expected = _scale(view, pods)
            return expected, max(0, expected - integer_or_percent(most, expected, up=True))
        if isinstance(least, str):
            expected = _scale(view, pods)
            return expected, integer_or_percent(least, expected, up=True)
        return len(pods), least or 0

    def _disrupted(self, budget: Object, pods: Sequence[Object]) -> tuple[dict[str, str], float | None]:
        """Pods that were to be evicted and are still there, and when the first of them counts again."""
        named, left = {name_of(pod): pod for pod in pods}, dict[str, str]()
        until: list[float] = []
        for name, since in (at(budget, "status", "disruptedPods") or {}).items():
            pod = named.get(name)
            end = moment(since) + _PATIENCE if since else 0.0
            if pod is not None and not going(pod) and end > self._clock.now():
                left[name] = since
                until.append(end)
        return left, min(until, default=None)


def _scale(view: View, pods: Sequence[Object]) -> int:
    """How many pods their controllers are to have together. Pods without a controller do not count."""
    sizes: dict[str, int] = {}
    for pod in pods:
        found = _owner(view, pod["metadata"]["namespace"], controller_of(pod))
        if found is not None:
            above = _owner(view, found["metadata"]["namespace"], controller_of(found)) or found
            sizes[uid_of(above)] = at(above, "spec", "replicas") or 0
    return sum(sizes.values())


def _owner(view: View, namespace: str, reference: Any) -> Object | None:
    resource: GroupResource | None = _SCALED.get((reference or {}).get("kind", ""))
    if resource is None:
        return None
    found = view.get(Key(resource, namespace, reference["name"]))
    return found if found is not None and uid_of(found) == reference["uid"] else None
