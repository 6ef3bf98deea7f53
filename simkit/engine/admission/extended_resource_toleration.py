"""ExtendedResourceToleration adds tolerations for the extended resources that a pod requests.

Upstream: plugin/pkg/admission/extendedresourcetoleration, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, with_spec, written
from simkit.engine.seams import Operation, Review
from simkit.logic.quota.usage import is_extended
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of


class ExtendedResourceToleration:
    """Adds one toleration for each extended resource."""

    name = "ExtendedResourceToleration"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def mutate(self, review: Review) -> Object:
        """The pod with its tolerations."""
        pod = written(review)
        if review.subresource:
            return pod
        asked = {
            name
            for container in containers_of(pod.get("spec") or {}, NON_EPHEMERAL)
            for name in at(container, "resources", "requests") or ()
            if is_extended(name)
        }
        present = list(at(pod, "spec", "tolerations") or ())
        added = [{"key": name, "operator": "Exists"} for name in sorted(asked)]
        missing = [toleration for toleration in added if toleration not in present]
        return with_spec(pod, tolerations=[*present, *missing]) if missing else pod
