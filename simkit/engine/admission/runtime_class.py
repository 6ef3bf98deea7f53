"""RuntimeClass sets the overhead and the scheduling of pods by their RuntimeClass.

Upstream: plugin/pkg/admission/runtimeclass, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

from simkit.engine.admission.plugin_attributes import PODS, RUNTIME_CLASSES, admission_forbidden, with_spec, written
from simkit.engine.admission.tolerations import merged
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.fielderror import quoted
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.meta.resource_list import resource_list_of

_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_ALONE = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass:
    """Admits new pods."""

    name = "RuntimeClass"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def _class(self, review: Review) -> Object | None:
        name = at(review.object, "spec", "runtimeClassName")
        if name is None:
            return None
        found = self._store.get(Key(RUNTIME_CLASSES, "", name))
        if found is None:
            raise admission_forbidden(review, f"pod rejected: RuntimeClass {quoted(name)} not found")
        return found.object

    def mutate(self, review: Review) -> Object:
        """The pod with the overhead, node selector and tolerations of its class."""
        pod = written(review)
        found = None if review.subresource else self._class(review)
        if found is None:
            return pod
        changed: dict[str, Any] = {}
        overhead, own = at(found, "overhead", "podFixed"), at(pod, "spec", "overhead")
        if found.get("overhead") is not None:
            if own is not None and resource_list_of(own) != resource_list_of(overhead):
                raise admission_forbidden(review, _DIFFERS)
            changed["overhead"] = overhead
        if found.get("scheduling") is not None:
            changed |= _scheduling(review, pod, found["scheduling"])
        return with_spec(pod, **changed)

    def validate(self, review: Review) -> None:
        """Raises 403 for an overhead that is not the class's."""
        if review.subresource:
            return
        found, own = self._class(review), at(review.object, "spec", "overhead")
        if found is not None and found.get("overhead") is not None:
            if own is None or resource_list_of(own) != resource_list_of(at(found, "overhead", "podFixed")):
                raise admission_forbidden(review, _DIFFERS)
        elif own is not None:
            raise admission_forbidden(review, _ALONE)


def _scheduling(review: Review, pod: Object, scheduling: Object) -> dict[str, Any]:
    own = at(pod, "spec", "nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if own.get(key, value) != value:
            why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
            raise admission_forbidden(review, f"{why}pod.spec.nodeSelector[{key}] = {own[key]}")
    selector = {**own, **(scheduling.get("nodeSelector") or {})}
    tolerations = merged(at(pod, "spec", "tolerations") or (), scheduling.get("tolerations") or ())
    return {"nodeSelector": selector or None, "tolerations": tolerations or None}
