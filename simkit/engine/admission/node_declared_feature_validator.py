"""NodeDeclaredFeatureValidator refuses changes of pods for which their node lacks a feature.

Upstream: plugin/pkg/admission/nodedeclaredfeatures and k8s.io/component-helpers/nodedeclaredfeatures, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.engine.admission.plugin_attributes import NODES, PODS, admission_forbidden, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, metadata
from simkit.meta.resource_list import resource_list_of

_SUBRESOURCES: Final = ("", "resize")


class NodeDeclaredFeatureValidator:
    """Compares what a changed pod needs with what its node says that it can do."""

    name = "NodeDeclaredFeatureValidator"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 where the node does not exist or has not declared a feature that the change needs."""
        pod, old = written(review), review.old or {}
        node_name = at(pod, "spec", "nodeName")
        if review.subresource not in _SUBRESOURCES or not node_name:
            return
        if metadata(old).get("generation") == metadata(pod).get("generation"):
            return
        needed = [*_needed(pod["spec"], old["spec"])]
        if not needed:
            return
        entry = self._reader.get(Key(NODES, "", node_name))
        if entry is None:
            raise admission_forbidden(review, f'node "{node_name}" not found')
        declared = at(entry.object, "status", "declaredFeatures") or ()
        lacking = ", ".join(name for name in needed if name not in declared)
        if lacking:
            why = f'pod update requires features {lacking} which are not available on node "{node_name}"'
            raise admission_forbidden(review, why)


def _needed(spec: Object, old: Object) -> Iterator[str]:
    """The features that a change of a pod needs, in the order of their names."""
    if _differ(spec.get("resources"), old.get("resources")):
        yield "InPlacePodLevelResourcesVerticalScaling"
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=False)
    if any(_is_resized(container, before) for container, before in pairs):
        yield "InPlacePodVerticalScalingInitContainers"


def _is_resized(container: Object, before: Object) -> bool:
    """True if a container that is no sidecar has other resources now."""
    sidecar = before.get("restartPolicy") == "Always"
    return not sidecar and _differ(container.get("resources") or {}, before.get("resources") or {})


def _differ(new: Object | None, old: Object | None) -> bool:
    if new is None or old is None:
        return new is not old
    return _amounts(new) != _amounts(old)


def _amounts(resources: Object) -> dict[str, Any]:
    """The resources as amounts, however they are written."""
    sides = {side: resource_list_of(resources.get(side)) for side in ("limits", "requests")}
    return {"claims": resources.get("claims") or None, **sides}
