"""PodNodeSelector merges the node selector of a namespace into its pods.

Upstream: plugin/pkg/admission/podnodeselector, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.engine.admission.plugin_attributes import NAMESPACES, PODS, admission_forbidden, with_spec, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.domain import label
from simkit.meta.errors import not_found, unexplained
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at

_ANNOTATION: Final = label("node-selector", "scheduler.alpha")
DEFAULT: Final = "clusterDefaultNodeSelector"


class PodNodeSelector:
    """Reads the namespace's annotation; ``settings`` holds the cluster default and the allowed selectors."""

    name = "PodNodeSelector"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, store: Reader, settings: Mapping[str, str] | None = None) -> None:
        self._store, self._settings = store, settings or {}

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The pod with the selector of its namespace added."""
        pod = written(review)
        if review.subresource:
            return pod
        self.validate(review)
        wanted = {**self._selector(review), **_own(pod)}
        return with_spec(pod, nodeSelector=wanted) if wanted else pod

    def validate(self, review: Review) -> None:
        """Raises 403 for a pod that contradicts its namespace."""
        if review.subresource:
            return
        own = _own(written(review))
        if any(own.get(key, value) != value for key, value in self._selector(review).items()):
            raise admission_forbidden(
                review, "pod node label selector conflicts with its namespace node label selector"
            )
        allowed = labels_of_selector(self._settings.get(review.namespace, ""))
        if allowed and not own.items() <= allowed.items():
            raise admission_forbidden(review, "pod node label selector labels conflict with its namespace whitelist")

    def _selector(self, review: Review) -> Mapping[str, str]:
        found = self._store.get(Key(NAMESPACES, "", review.namespace))
        if found is None:
            raise not_found(NAMESPACES, review.namespace)
        return labels_of_selector(annotations_of(found.object).get(_ANNOTATION, self._settings.get(DEFAULT, "")))


def _own(pod: Object) -> Mapping[str, str]:
    return at(pod, "spec", "nodeSelector") or {}


def labels_of_selector(text: str) -> dict[str, str]:
    """``a=b,c=d`` as a mapping. Raises the 500 of kube-apiserver for anything else."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, sign, value = part.partition("=")
        if not sign or "=" in value:
            raise unexplained(f"invalid selector: {part}")
        found[key.strip()] = value.strip()
    return found
