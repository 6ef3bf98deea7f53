"""Metrics of pod security.

Upstream: k8s.io/pod-security-admission/metrics/metrics.go, release 1.36.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.seams import Meter, Review
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.meta.behaviour import served_minor

_RESOURCES: Final = {"pods": "pod", "namespaces": "namespace"}


class PodSecurityMeter:
    """Counts evaluations, exemptions and errors."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def evaluated(self, review: Review, mode: str, policy: LevelVersion, *, allowed: bool) -> None:
        """Count the evaluation of a pod or a workload."""
        version = "latest"
        if policy.minor is not None and policy.level != "privileged":
            version = f"v1.{policy.minor}" if policy.minor <= served_minor() else "future"
        decision = "allow" if allowed else "deny"
        labels = (decision, policy.level, version, mode, *_labels(review))
        self._meter.count("pod_security_evaluations_total", *labels)

    def exempt(self, review: Review) -> None:
        """Count an exemption."""
        self._meter.count("pod_security_exemptions_total", *_labels(review))

    def error(self, review: Review, *, fatal: bool) -> None:
        """Count an error; a fatal one refuses the write."""
        self._meter.count("pod_security_errors_total", "true" if fatal else "false", *_labels(review))


def _labels(review: Review) -> tuple[str, str, str]:
    resource = _RESOURCES.get(review.resource.resource, "controller")
    return review.operation.lower(), resource, review.subresource
