"""ExtendedResourceToleration adds tolerations for the extended resources that a pod requests.

Upstream: plugin/pkg/admission/extendedresourcetoleration, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, with_spec, written
from simkit.engine.seams import Operation, Review
from simkit.logic.quota.usage import is_extended
from simkit.meta.objects import Object, at


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
            for field in ("containers", "initContainers")
            for container in at(pod, "spec", field) or ()
            for name in at(container, "resources", "requests") or ()
            if is_extended(name)
        }
        present = list(at(pod, "spec", "tolerations") or ())
        added = [{"key": name, "operator": "Exists"} for name in sorted(asked)]
        missing = [toleration for toleration in added if toleration not in present]
        return with_spec(pod, tolerations=[*present, *missing]) if missing else pod
