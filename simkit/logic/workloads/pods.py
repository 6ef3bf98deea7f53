"""Facts about pods that controllers use.

pkg/controller/controller_utils.go and pkg/api/v1/pod/util.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.clock import moment
from simkit.meta.domain import label
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, annotations_of, at, metadata

_COST = label("pod-deletion-cost", "controller")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def has_ended(pod: Object) -> bool:
    """True if a pod has succeeded or failed."""
    return at(pod, "status", "phase") in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """True if a pod has neither finished nor begun its deletion."""
    return not has_ended(pod) and not metadata(pod).get("deletionTimestamp")


def is_ready(pod: Object) -> bool:
    """True if the pod's condition Ready is true."""
    return is_true(at(pod, "status", "conditions"), "Ready")


def ready_since(pod: Object) -> float | None:
    """The time since which a pod has been ready; None if it is not ready or has no time."""
    since = (find(at(pod, "status", "conditions"), "Ready") or {}).get("lastTransitionTime")
    return moment(since) if since and is_ready(pod) else None


def available_from(pod: Object, seconds: int) -> float | None:
    """The time from which a pod is available, after it was ready for some seconds. None: it is not ready.

    Examples
    --------
    >>> available_from({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, 0)
    0.0
    """
    if not is_ready(pod):
        return None
    if not seconds:
        return 0.0
    since = ready_since(pod)
    return since + seconds if since is not None else None


def is_available(pod: Object, seconds: int, now: float) -> bool:
    """True if a pod has been ready for some seconds."""
    start = available_from(pod, seconds)
    return start is not None and start <= now


def removal_rank(pod: Object, neighbours: int = 0) -> tuple[Any, ...]:
    """The sort key for deleting superfluous pods: the least useful and the newest first.

    ``neighbours``: how many pods of the same workload are on the pod's node.
    """
    cost, created = annotations_of(pod).get(_COST, "0"), metadata(pod).get("creationTimestamp")
    restarts = max((each.get("restartCount") or 0 for each in at(pod, "status", "containerStatuses") or ()), default=0)
    return (
        bool(at(pod, "spec", "nodeName")),
        _PHASES.get(at(pod, "status", "phase") or "Pending", 0),
        is_ready(pod),
        parse_int(cost, bits=32) or 0,
        -neighbours,
        -(ready_since(pod) or 0.0),
        -restarts,
        -moment(created) if created else 0.0,
        metadata(pod).get("name", ""),
    )


def owner_reference(api_version: str, kind: str, owner: Object) -> dict[str, Any]:
    """The owner reference to a controller."""
    meta = metadata(owner)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta.get("name", ""),
        "uid": meta.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of(template: Mapping[str, Any], owner: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """A pod of a template with a name and an owner; keyword arguments are fields of metadata."""
    meta = template.get("metadata") or {}
    kept = {name: meta[name] for name in ("labels", "annotations", "finalizers") if meta.get(name)}
    own = {**kept, **given, "ownerReferences": [dict(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": dict(template.get("spec") or {})}


def integer_or_percent(value: Any, total: int, *, up: bool) -> int:
    """A number, or a percentage of a total, rounded up or down.

    Examples
    --------
    >>> integer_or_percent("25%", 3, up=True), integer_or_percent("25%", 3, up=False), integer_or_percent(2, 3, up=True)
    (1, 0, 2)
    """
    if isinstance(value, str):
        share = (parse_int(value.removesuffix("%")) or 0) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)


def by_age(objects: Sequence[Object]) -> list[Object]:
    """Objects from the oldest to the newest, those of the same time by name."""
    return sorted(objects, key=lambda obj: (metadata(obj).get("creationTimestamp") or "", metadata(obj)["name"]))
