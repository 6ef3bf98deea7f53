"""LimitPodHardAntiAffinityTopology refuses required anti-affinity beyond one node.

Upstream: plugin/pkg/admission/antiaffinity, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import at

_HOST: Final = label("hostname")


class LimitPodHardAntiAffinityTopology:
    """Checks the required anti-affinity terms of pods."""

    name = "LimitPodHardAntiAffinityTopology"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def validate(self, review: Review) -> None:
        """Raises 403 for a wider topology than a node."""
        if review.subresource:
            return
        terms = at(written(review), "spec", "affinity", "podAntiAffinity") or {}
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOST:
                why = f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {_HOST} is"
                raise admission_forbidden(review, f"{why} allowed")
