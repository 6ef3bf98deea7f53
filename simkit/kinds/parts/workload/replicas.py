"""Validation and printing of the replica counts in statuses.

Follows ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.pod.template import names_and_images
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.workload.template_owner import validate_exceeding, validate_nonnegative_fields
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Object, name_of

_COUNTS: Final = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)
SERVING: Final = (
    ("readyReplicas", "replicas"),
    ("availableReplicas", "replicas"),
    ("availableReplicas", "readyReplicas"),
)
"""Counts that may not exceed others."""
_PARTS: Final = (("fullyLabeledReplicas", "replicas"), *SERVING)
EXCEEDING: Final = {
    "replicas": "cannot be greater than status.replicas",
    "readyReplicas": "cannot be greater than readyReplicas",
}
"""The error of a count above one of these."""


def validate_replica_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of the status of a replica set or replication controller."""
    status = obj.get("status") or {}
    return [
        *validate_nonnegative_fields("status", status, _COUNTS),
        *validate_exceeding("status", status, _PARTS, EXCEEDING),
    ]


def replica_cells(obj: Object, now: float) -> Sequence[Any]:
    """The cells of a replica set, up to its selector."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = [spec.get("replicas") or 0, status.get("replicas") or 0, status.get("readyReplicas") or 0]
    return [name_of(obj), *counts, created(obj, now), *names_and_images(spec.get("template"))]
