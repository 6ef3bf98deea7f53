"""What a kubelet decides on pods that come, and on those that shall be resized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.client.lister import Lister, uid_of
from simkit.logic.workloads.nodes import fits, tolerates
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import find, with_condition
from simkit.meta.clock import timestamp
from simkit.meta.domain import MIRROR_POD
from simkit.meta.objects import Object, annotations_of, at, name_of
from simkit.simulation.scheduler.node_filters import is_taken
from simkit.simulation.scheduler.node_info import (
    CPU,
    MEMORY,
    PodInfo,
    pod_requests,
    resource_amounts,
    running_statuses,
)

_CRITICAL: Final = 2_000_000_000


def is_critical(pod: Object) -> bool:
    """True for pods with one of the priorities of the system, and those that the kubelet has from a file."""
    return (at(pod, "spec", "priority") or 0) >= _CRITICAL or MIRROR_POD in annotations_of(pod)


# What a kubelet asks of a pod that comes, since not every pod comes from a scheduler.
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


# Pods that run are not resized.

_PENDING: Final = "PodResizePending"
_UNRESIZED: Final = {
    "type": _PENDING,
    "status": "True",
    "reason": "Infeasible",
    "message": "simulated kubelets do not resize running pods",
    "lastProbeTime": None,
}
_LISTS: Final = ("containers", "initContainers")
_FIELDS: Final = ("limits", "requests")


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


def with_resize(
    pod: Object, conditions: Sequence[Mapping[str, Any]], generation: int | None, now: float
) -> list[Mapping[str, Any]]:
    """The conditions of a pod with one that refuses the resize for which it asks, or without it.

    ``generation`` is that of the pod, where the release tells it in conditions.
    """
    if not asks_for_resize(pod):
        return [each for each in conditions if each.get("type") != _PENDING]
    observed = {"observedGeneration": generation} if generation is not None else {}
    return with_condition(conditions, {**_UNRESIZED, **observed}, timestamp(now))
