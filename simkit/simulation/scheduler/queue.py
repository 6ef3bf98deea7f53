"""Pods that wait for a node: their order, and the changes that they may profit from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Final

from simkit.logic.workloads.pods import has_ended
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, namespace_of
from simkit.seams import Change
from simkit.simulation.scheduler.node_info import running_statuses

# Pods that wait for a node: the next one by priority, and those that are tried again later.
# Upstream: pkg/scheduler/internal/queue/scheduling_queue.go, release 1.30.

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 10.0
_FLUSHED_AFTER: Final = 300.0
"""Seconds after which a pod is tried again although nothing has changed."""
Name = tuple[str, str]


@dataclass(slots=True)
class Waiting:
    """A pod in the queue."""

    pod: Object
    attempts: int = 0
    due: float | None = 0.0
    """The time of the next attempt; None: after a change."""
    failed_at: float = 0.0
    reserved: str = ""
    """The node for which its volumes were asked for."""

    @property
    def pause(self) -> float:
        """Seconds from a failed attempt to the next one."""
        return float(min(_FIRST_PAUSE * 2.0 ** (self.attempts - 1), _LONGEST_PAUSE))


class SchedulingQueue:
    """The pods that no node was found for yet."""

    def __init__(self) -> None:
        self.waiting: dict[Name, Waiting] = {}
        self._ready: list[tuple[int, str, Name]] = []

    def resume_from(self, other: SchedulingQueue) -> None:
        """Know what another queue knows."""
        self.waiting = {name: replace(each) for name, each in other.waiting.items()}
        self._ready = list(other._ready)

    def put(self, pod: Object) -> None:
        """Take in a pod as it is now; one that has changed is tried again."""
        name = (namespace_of(pod), name_of(pod))
        known = self.waiting.get(name)
        if known is None:
            self.waiting[name] = Waiting(pod)
            self._push(name, pod)
            return
        changed = _without_status(known.pod) != _without_status(pod)
        known.pod = pod
        if changed:
            self._push(name, pod)
            known.due = 0.0

    def remove(self, namespace: str, name: str) -> None:
        """Forget a pod."""
        self.waiting.pop((namespace, name), None)

    def _push(self, name: Name, pod: Object) -> None:
        created = metadata(pod).get("creationTimestamp") or ""
        heappush(self._ready, (-(at(pod, "spec", "priority") or 0), created, name))

    def pop(self, now: float) -> Waiting | None:
        """The pod to be tried next."""
        while self._ready:
            waiting = self.waiting.get(heappop(self._ready)[2])
            if waiting is not None and waiting.due is not None and waiting.due <= now:
                waiting.attempts, waiting.due = waiting.attempts + 1, None
                return waiting
        return None

    def wake(self, now: float) -> None:
        """Make those ready whose time has come."""
        ready = {name for _, _, name in self._ready}
        for name, each in self.waiting.items():
            if each.due is None and each.attempts and now - each.failed_at >= _FLUSHED_AFTER:
                each.due = now
            if each.due is not None and each.due <= now and name not in ready:
                self._push(name, each.pod)

    def failed(self, waiting: Waiting, now: float) -> None:
        """Keep a pod that fits nowhere until something changes."""
        waiting.failed_at, waiting.due = now, None

    def postponed(self, waiting: Waiting, now: float) -> None:
        """Keep a pod that has a node and waits for its volumes: it is tried again without a pause."""
        waiting.attempts, waiting.failed_at, waiting.due = 0, now, None

    def something_changed(self) -> None:
        """Try all again, each after its pause."""
        for each in self.waiting.values():
            if each.due is None:
                each.due = each.failed_at + (each.pause if each.attempts else 0.0)

    def reset_pauses(self) -> None:
        """Let nobody wait any longer who only waits for a pause to end."""
        for each in self.waiting.values():
            if each.due is not None:
                each.due = 0.0

    @property
    def next_time(self) -> float | None:
        """The time at which the next pod is due."""
        times = [
            each.due if each.due is not None else each.failed_at + _FLUSHED_AFTER for each in self.waiting.values()
        ]
        return min(times, default=None)


def _without_status(pod: Object) -> Object:
    meta = metadata(pod)
    kept = {key: meta.get(key) for key in ("labels", "annotations", "deletionTimestamp", "uid")}
    return {"spec": pod.get("spec"), "metadata": kept}


# Changes of pods and nodes that pods which wait may profit from.
# Upstream: pkg/scheduler/eventhandlers.go, release 1.30.


def frees_or_attracts(change: Change) -> bool:
    """True if a change of a pod may make room, or make a place for a pod that others want to be with."""
    before = change.previous.object if change.previous else {}
    if change.type == "DELETED":
        return bool(at(change.entry.object, "spec", "nodeName"))
    after = change.entry.object
    if not at(after, "spec", "nodeName"):
        return False
    if not at(before, "spec", "nodeName") or has_ended(after) != has_ended(before):
        return True
    return _resources(after) != _resources(before) or labels_of(after) != labels_of(before)


def _resources(pod: Object) -> list[Any]:
    """The resources that the containers of a pod ask for, and with which they run."""
    wanted = [each.get("resources") for each in at(pod, "spec", "containers") or ()]
    return [wanted, [each["resources"] for each in running_statuses(pod).values()]]


def matters(change: Change) -> bool:
    """True if a change of a node is one that pods may wait for; that its kubelet lives is none."""
    if change.previous is None or change.type == "DELETED":
        return change.type == "ADDED"
    old, new = change.previous.object, change.entry.object
    paths = (("spec",), ("status", "allocatable"))
    return (
        any(at(old, *path) != at(new, *path) for path in paths)
        or labels_of(old) != labels_of(new)
        or annotations_of(old) != annotations_of(new)
    )
