"""Changes of pods and nodes that pods which wait may profit from.

Upstream: pkg/scheduler/eventhandlers.go, release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.engine.seams import Change
from simkit.logic.workloads.pods import has_ended
from simkit.meta.objects import Object, annotations_of, at, labels_of
from simkit.simulation.scheduler.resource_amounts import running_statuses


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
    paths = (("spec",), ("status", "allocatable"), ("status", "images"))
    return (
        any(at(old, *path) != at(new, *path) for path in paths)
        or labels_of(old) != labels_of(new)
        or annotations_of(old) != annotations_of(new)
    )
