"""Counts of equal pods, as statuses tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.workload import count_faults, exceeding_faults
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Object

_COUNTS: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_PARTS: Final = (
    ("fullyLabeledReplicas", "replicas"),
    ("readyReplicas", "replicas"),
    ("availableReplicas", "replicas"),
    ("availableReplicas", "readyReplicas"),
)
_TEXTS: Final = {
    "replicas": "cannot be greater than status.replicas",
    "readyReplicas": "cannot be greater than readyReplicas",
}


def replica_status_faults(status: Object) -> Iterator[FieldError]:
    """What is wrong with the status of a replica set or replication controller."""
    yield from count_faults("status", status, _COUNTS)
    yield from exceeding_faults("status", status, _PARTS, _TEXTS)
