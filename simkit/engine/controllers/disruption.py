"""Writes the status of PodDisruptionBudgets: how many pods may be disrupted now.

Upstream: pkg/controller/disruption, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.indexer import SelectorIndex, equalities
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import keys_of, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from simkit.kinds.parts.cells import selector_structure
from simkit.logic.workloads.pods import integer_or_percent, is_ready
from simkit.logic.workloads.status_conditions import with_allowed, with_failure
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, metadata, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.seams import Change

# Counts the pods that the controllers of a set of pods ask for.
# Upstream: pkg/controller/disruption, release 1.30.

SCALED: Final = {
    "ReplicaSet": REPLICA_SETS,
    "ReplicationController": REPLICATION_CONTROLLERS,
    "StatefulSet": STATEFUL_SETS,
    "Deployment": DEPLOYMENTS,
}
"""The kinds whose size is known without asking for their Scale."""
Reference = Mapping[str, Any]


class ExpectedCountError(Exception):
    """The expected number of pods cannot be told; the text says why."""


class ExpectedPods:
    """Reads the scale of the controllers of pods, each once."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue

    def count(self, client: Client, lister: Lister, pods: Sequence[Object]) -> tuple[int, bool]:
        """The number of pods that their controllers want together, and whether some pods have no controller.

        Raises ExpectedCountError for a controller that has no size.
        """
        sizes: dict[str, int] = {}
        asked: set[str] = set()
        unmanaged = False
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged = True
            elif reference.get("uid", "") not in asked:
                asked.add(reference.get("uid", ""))
                uid, size = self._size(client, lister, pod, reference)
                sizes[uid] = size
        return sum(sizes.values()), unmanaged

    def _size(self, client: Client, lister: Lister, pod: Object, reference: Reference) -> tuple[str, int]:
        found = _known(lister, namespace_of(pod), reference)
        if found is not None:
            above = _known(lister, namespace_of(pod), controller_of(found)) or found
            return uid_of(above), at(above, "spec", "replicas") or 0
        scale = self._scale(client, namespace_of(pod), reference)
        if scale is None or uid_of(scale) != reference.get("uid"):
            raise ExpectedCountError(f'found no controllers for pod "{name_of(pod)}"')
        return uid_of(scale), at(scale, "spec", "replicas") or 0

    def _scale(self, client: Client, namespace: str, reference: Reference) -> Object | None:
        resource = self._resource(reference)
        if "scale" not in resource.subresources:
            raise ExpectedCountError(f"{resource.group_resource} does not implement the scale subresource")
        response = client.perform(Request.of("GET", resource.path_to(reference.get("name") or "", namespace, "scale")))
        found: Object | None = response.object if response.succeeded else None
        return found

    def _resource(self, reference: Reference) -> Resource:
        version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
        resource = self._catalogue().kind(GroupVersionKind(*GroupVersion.parse(version), kind))
        if resource is None:
            raise ExpectedCountError(f'no matches for kind "{kind}" in version "{version}"')
        return resource


def _known(lister: Lister, namespace: str, reference: Reference | None) -> Object | None:
    resource: GroupResource | None = SCALED.get((reference or {}).get("kind", ""))
    if resource is None or reference is None:
        return None
    found = lister.get(Key(resource, namespace, reference.get("name") or ""))
    return found if found is not None and uid_of(found) == reference.get("uid") else None


_PATIENCE: Final = 120.0
"""Seconds after which a pod that was to be evicted and is still there counts again."""
_UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


def _selector(budget: Object) -> LabelSelector:
    return of_object(at(budget, "spec", "selector"))


class DisruptionController(ResourceWatcher):
    """Counts the pods of a budget again when one of them or of their owners changes."""

    name = account = "disruption-controller"

    def __init__(self, clock: Clock, catalogue: Callable[[], Catalogue]) -> None:
        super().__init__(BUDGETS, PODS, *SCALED.values())
        self._clock = clock
        self._expected = ExpectedPods(catalogue)
        self._events = EventRecorder(clock, "controllermanager")

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == BUDGETS:
            return [key]
        budgets = lister.scan(BUDGETS, key.namespace)
        if not budgets:
            return ()
        if key.resource != PODS:
            before = change.previous.object if change.previous is not None else None
            return keys_of(BUDGETS, budgets) if at(obj, "spec", "replicas") != at(before, "spec", "replicas") else ()
        index = lister.once((BUDGETS, key.namespace), lambda: SelectorIndex(budgets, _selector))
        states = [obj] if change.previous is None else [obj, change.previous.object]
        return keys_of(BUDGETS, [each for pod in states for each in index.selecting(labels_of(pod))])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        budget = lister.get(key)
        if budget is None:
            return None
        selector = _selector(budget)
        candidates = lister.labelled(PODS, key.namespace, equalities(selector))
        pods = [pod for pod in candidates if selector.matches(labels_of(pod))]
        if not pods:
            self._events.event(client, budget, "NoPods", "No matching pods found")
        try:
            expected, desired = self._numbers(client, lister, budget, pods)
        except ExpectedCountError as failure:
            self._give_up(client, budget, str(failure))
            return None
        disrupted, again = self._disrupted(budget, pods)
        healthy = sum(is_ready(pod) and not is_terminating(pod) and name_of(pod) not in disrupted for pod in pods)
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

    def _numbers(self, client: Client, lister: Lister, budget: Object, pods: Sequence[Object]) -> tuple[int, int]:
        """The expected number of pods, and the number that has to be healthy."""
        least, most = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
        if most is None and not isinstance(least, str):
            return len(pods), least or 0
        expected, unmanaged = self._expected.count(client, lister, pods)
        if unmanaged:
            text = _UNMANAGED.format(selector_structure(at(budget, "spec", "selector") or {}))
            self._events.event(client, budget, "UnmanagedPods", text, warning=True)
        if most is not None:
            return expected, max(0, expected - integer_or_percent(most, expected, up=True))
        return expected, integer_or_percent(least, expected, up=True)

    def _give_up(self, client: Client, budget: Object, why: str) -> None:
        """Set a status that allows no disruption, since the expected number of pods is unknown."""
        text = f"Failed to calculate the number of expected pods: {why}"
        self._events.event(client, budget, "CalculateExpectedPodCountFailed", text, warning=True)
        status, now = budget.get("status") or {}, timestamp(self._clock.now())
        conditions = with_failure(status.get("conditions"), why, status.get("observedGeneration") or 0, now)
        replace_status(client, BUDGETS, budget, {**status, "disruptionsAllowed": 0, "conditions": conditions})

    def _disrupted(self, budget: Object, pods: Sequence[Object]) -> tuple[dict[str, str], float | None]:
        """Pods that were to be evicted and are still there, and when the first of them counts again."""
        named, left = {name_of(pod): pod for pod in pods}, dict[str, str]()
        until: list[float] = []
        for name, since in (at(budget, "status", "disruptedPods") or {}).items():
            pod = named.get(name)
            end = moment(since) + _PATIENCE if since else 0.0
            if pod is not None and not is_terminating(pod) and end > self._clock.now():
                left[name] = since
                until.append(end)
        return left, min(until, default=None)
