"""PodTolerationRestriction merges and restricts the tolerations of the pods of a namespace.

Upstream: plugin/pkg/admission/podtolerationrestriction, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from simkit.engine.admission.plugin_attributes import NAMESPACES, PODS, WRITES, with_spec, written
from simkit.engine.admission.tolerations import Toleration, all_within, merged
from simkit.engine.seams import Operation, Reader, Review
from simkit.logic.quota.scopes import best_effort
from simkit.meta.domain import label
from simkit.meta.errors import not_found, unexplained
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at

_DEFAULTS: Final = label("defaultTolerations", "scheduler.alpha")
_ALLOWED: Final = label("tolerationsWhitelist", "scheduler.alpha")
_MEMORY: Final = {"key": label("memory-pressure", "node"), "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction:
    """Reads two annotations of the namespace; the arguments are the cluster defaults."""

    name = "PodTolerationRestriction"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, store: Reader, defaults: Sequence[Toleration] = (), allowed: Sequence[Toleration] = ()) -> None:
        self._store, self._defaults, self._allowed = store, defaults, allowed

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def mutate(self, review: Review) -> Object:
        """The pod with the tolerations of its namespace."""
        pod = written(review)
        if review.subresource:
            return pod
        added: list[Toleration] = []
        if review.operation == "CREATE":
            added += self._read(review, _DEFAULTS, self._defaults)
        if not best_effort(pod):
            added.append(_MEMORY)
        if added:
            pod = with_spec(pod, tolerations=merged(at(pod, "spec", "tolerations") or (), added))
        self._check(review, pod)
        return pod

    def validate(self, review: Review) -> None:
        """Raises kube-apiserver's 500 for a pod with tolerations that are not allowed."""
        if not review.subresource:
            self._check(review, written(review))

    def _check(self, review: Review, pod: Object) -> None:
        own = at(pod, "spec", "tolerations") or ()
        if own and not all_within(own, self._read(review, _ALLOWED, self._allowed)):
            start = "pod tolerations (possibly merged with namespace default tolerations)"
            raise unexplained(f"{start} conflict with its namespace whitelist")

    def _read(self, review: Review, annotation: str, otherwise: Sequence[Toleration]) -> Sequence[Toleration]:
        found = self._store.get(Key(NAMESPACES, "", review.namespace))
        if found is None:
            raise not_found(NAMESPACES, review.namespace)
        text = annotations_of(found.object).get(annotation)
        if text is None:
            return otherwise
        try:
            value: Any = orjson.loads(text) if text else []
        except orjson.JSONDecodeError as error:
            raise unexplained(str(error)) from None
        return value if isinstance(value, list) else []
