"""The decision of a kubelet on pods that come while its node is under pressure.

Upstream: pkg/kubelet/eviction/eviction_manager.go (``Admit``) and pkg/kubelet/kubelet.go (``rejectPod``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.logic.workloads.nodes import tolerated
from simkit.meta.clock import timestamp
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.objects import Object, annotations_of, at

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


def rejected_status(pod: Object, reason: str, message: str, now: float) -> dict[str, Any]:
    """The status of a pod that its kubelet does not run."""
    known = pod.get("status") or {}
    kept = {field: known[field] for field in ("conditions", "qosClass") if field in known}
    told = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {**kept, **told, "startTime": timestamp(now)}
