"""What a kubelet decides on pods: under pressure, with claims, and when one is resized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.lister import Lister, uid_of
from simkit.client.resources import NODES, PODS
from simkit.logic.workloads.nodes import fits, tolerated, tolerates
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import find, with_condition
from simkit.meta.clock import timestamp
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.simulation.scheduler.node_filters import is_taken
from simkit.simulation.scheduler.node_info import (
    CPU,
    MEMORY,
    PodInfo,
    ResourceAmounts,
    pod_requests,
    resource_amounts,
    running_statuses,
)

# The decision of a kubelet on pods that come while its node is under pressure.
# Upstream: pkg/kubelet/eviction/eviction_manager.go (``Admit``) and pkg/kubelet/kubelet.go (``rejectPod``), release
# 1.30.

EVICTED: Final = "Evicted"
_CRITICAL: Final = 2_000_000_000
_MEMORY_TAINT: Final = {"key": label("memory-pressure", "node"), "effect": "NoSchedule"}


def is_critical(pod: Object) -> bool:
    """True if a pod is never evicted: one of the system's priorities, or one that the kubelet has from a file."""
    return (at(pod, "spec", "priority") or 0) >= _CRITICAL or MIRROR_POD in annotations_of(pod)


def pressure_objection(pod: Object, conditions: Sequence[str]) -> str:
    """The reason why a kubelet does not run a new pod under these conditions; empty if it does.

    Where only memory is short, it runs pods that asked for some, or tolerate that.
    """
    if not conditions or is_critical(pod):
        return ""
    if list(conditions) == ["MemoryPressure"] and (
        at(pod, "status", "qosClass") != "BestEffort"
        or any(tolerated(each, _MEMORY_TAINT) for each in at(pod, "spec", "tolerations") or ())
    ):
        return ""
    return f"The node had condition: [{' '.join(conditions)}]. "


# What else a kubelet asks of a pod that comes, since not every pod comes from a scheduler.
# Upstream: pkg/kubelet/lifecycle/predicate.go, release 1.30.


class Arrivals:
    """Decides whether pods may run on the nodes that they name."""

    def __init__(self) -> None:
        self._admitted: set[str] = set()
        """Pods that were admitted since objects were read, by uid."""

    def begin(self) -> None:
        """Forget what was admitted, since objects are read anew."""
        self._admitted.clear()

    def objection(self, pod: Object, node: Object | None, lister: Lister) -> tuple[str, str] | None:
        """The reason and the message for a pod that its node does not fit; None where it does."""
        if node is None:
            return None
        found = None if _is_scheduled(pod) or is_critical(pod) else self._occupied(pod, node, lister)
        if found is None and not fits(pod, node):
            found = _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
        if found is None and not tolerates(at(pod, "spec", "tolerations") or (), node, "NoExecute"):
            found = _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
        if found is None:
            self._admitted.add(uid_of(pod))
        return found

    def _occupied(self, pod: Object, node: Object, lister: Lister) -> tuple[str, str] | None:
        """The first resource, or the port, of which too little is left. A scheduler has looked at that already."""
        others = [
            each
            for each in lister.pods_on(name_of(node))
            if not has_ended(each) and (at(each, "status", "startTime") or uid_of(each) in self._admitted)
        ]
        room, used = resource_amounts(at(node, "status", "allocatable")), [pod_requests(each) for each in others]
        for name, asked in {"pods": 1, **pod_requests(pod)}.items():
            taken = len(others) if name == "pods" else sum(each.get(name, 0) for each in used)
            if asked and taken + asked > room.get(name, 0):
                text = f"{name}, requested: {asked}, used: {taken}, capacity: {room.get(name, 0)}"
                return f"OutOf{name}", f"Node didn't have enough resource: {text}"
        ports = [port for each in others for port in PodInfo(each).ports]
        if any(is_taken(port, ports) for port in PodInfo(pod).ports):
            return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
        return None


def _is_scheduled(pod: Object) -> bool:
    return (find(at(pod, "status", "conditions"), "PodScheduled") or {}).get("status") == "True"


def _failed(predicate: str, why: str) -> tuple[str, str]:
    return predicate, f"Predicate {predicate} failed: {why}"


def rejected_status(pod: Object, reason: str, message: str, now: float) -> dict[str, Any]:
    """The status of a pod that its kubelet does not run."""
    known = pod.get("status") or {}
    kept = {field: known[field] for field in ("conditions", "qosClass") if field in known}
    told = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {**kept, **told, "startTime": timestamp(now)}


# Resizes of pods that run: the decision of their kubelet, and those that wait until there is room.
# Upstream: pkg/kubelet/allocation/allocation_manager.go and pkg/kubelet/lifecycle/predicate.go, release 1.33.

PENDING: Final = "PodResizePending"
_LISTS: Final = ("containers", "initContainers")
_FIELDS: Final = ("limits", "requests")


class Hindrance(NamedTuple):
    """The reason why a resize has to wait (Deferred), or never comes (Infeasible)."""

    reason: str
    message: str


class Resizes:
    """Decides on resizes, and keeps the pods of each node whose resize waits."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[Key]] = {}
        self._granted: dict[str, ResourceAmounts] = {}
        """The amounts that pods have been granted since their objects were read, by uid."""

    def resume_from(self, other: Resizes) -> None:
        """Know the same pods."""
        self._waiting = {node: set(keys) for node, keys in other._waiting.items()}

    def begin(self) -> None:
        """Forget what was granted, since objects are read anew."""
        self._granted.clear()

    def waits(self, node: str) -> bool:
        """True if a pod of a node waits for room."""
        return bool(self._waiting.get(node))

    def waiting_on(self, nodes: Iterable[str], lister: Lister) -> list[Key]:
        """The pods of some nodes that wait for room, in the order in which they are tried."""
        keys = [key for node in nodes for key in self._waiting.get(node, ())]
        found = [(key, pod) for key in keys if (pod := lister.get(key)) is not None]
        return [key for key, pod in sorted(found, key=lambda each: _urgency(each[1]))]

    def decide(self, pod: Object, lister: Lister) -> Hindrance | None:
        """The hindrance of the resize that a pod asks for; None where it asks for none, or is granted it."""
        key, node = Key(PODS, namespace_of(pod), name_of(pod)), str(at(pod, "spec", "nodeName"))
        found = self._hindrance(pod, node, lister) if asks_for_resize(pod) else None
        if found is not None and found.reason == "Deferred":
            self._waiting.setdefault(node, set()).add(key)
        elif key in self._waiting.get(node, ()):
            self._waiting[node].discard(key)
        return found

    def _hindrance(self, pod: Object, node: str, lister: Lister) -> Hindrance | None:
        stored = lister.get(Key(NODES, "", node))
        room = resource_amounts(at(stored, "status", "allocatable"))
        wanted = pod_requests({"spec": pod.get("spec") or {}})
        for name in (MEMORY, CPU):
            if wanted.get(name, 0) > room.get(name, 0):
                text = f"{name}, requested: {wanted[name]}, capacity: {room.get(name, 0)}"
                return Hindrance("Infeasible", f"Node didn't have enough capacity: {text}")
        others = [self._allocated(each) for each in lister.pods_on(node) if uid_of(each) != uid_of(pod)]
        for name in (CPU, MEMORY):
            used, asked = sum(each.get(name, 0) for each in others), wanted.get(name, 0)
            if asked and used + asked > room.get(name, 0):
                text = f"{name}, requested: {asked}, used: {used}, capacity: {room.get(name, 0)}"
                return Hindrance("Deferred", f"Node didn't have enough resource: {text}")
        self._granted[uid_of(pod)] = wanted
        return None

    def _allocated(self, pod: Object) -> ResourceAmounts:
        if has_ended(pod):
            return {}
        return self._granted.get(uid_of(pod)) or pod_requests({"spec": _allocated_spec(pod)})


def asks_for_resize(pod: Object) -> bool:
    """True if a container runs with other resources than it should."""
    running = running_statuses(pod)
    return any(
        _amounts(container) != _amounts(running[container["name"]])
        for field in _LISTS
        for container in at(pod, "spec", field) or ()
        if container.get("name") in running
    )


def _amounts(container: Mapping[str, Any]) -> list[tuple[int, int]]:
    found = [resource_amounts(at(container, "resources", field)) for field in _FIELDS]
    return [(each.get(CPU, 0), each.get(MEMORY, 0)) for each in found]


def _allocated_spec(pod: Object) -> Mapping[str, Any]:
    """The specification of a pod with the resources with which its containers run."""
    spec, running = pod.get("spec") or {}, running_statuses(pod)
    if not running:
        return spec
    changed = {
        field: [
            {**each, "resources": running[each["name"]]["resources"]} if each.get("name") in running else each
            for each in spec[field]
        ]
        for field in _LISTS
        if spec.get(field)
    }
    return {**spec, **changed}


def _urgency(pod: Object) -> tuple[Any, ...]:
    """The place in the order: smaller resizes, important pods, guaranteed ones, and those that wait for long."""
    wanted, has = pod_requests({"spec": pod["spec"]}), pod_requests({"spec": _allocated_spec(pod)})
    grows = any(wanted.get(name, 0) > has.get(name, 0) for name in (CPU, MEMORY))
    since = (find(at(pod, "status", "conditions"), PENDING) or {}).get("lastTransitionTime") or ""
    quality = at(pod, "status", "qosClass") != "Guaranteed"
    return grows, -(at(pod, "spec", "priority") or 0), quality, since, namespace_of(pod), name_of(pod)


def with_hindrance(
    conditions: Sequence[Mapping[str, Any]], hindrance: Hindrance | None, generation: int | None, now: float
) -> list[Mapping[str, Any]]:
    """The conditions of a pod with the one of a resize that waits, or without it.

    ``generation`` is that of the pod, where the release tells it in conditions.
    """
    known = find(conditions, PENDING)
    others = [each for each in conditions if each is not known]
    if hindrance is None:
        return others
    made = {
        "type": PENDING,
        "status": "True",
        "reason": hindrance.reason,
        "message": hindrance.message,
        "lastProbeTime": None,
        **({"observedGeneration": generation} if generation is not None else {}),
    }
    return with_condition([*others, known] if known is not None else others, made, timestamp(now))
