"""DefaultTolerationSeconds lets pods tolerate nodes that are not ready or unreachable for five minutes.

Upstream: plugin/pkg/admission/defaulttolerationseconds, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, with_spec, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, at

_TAINTS: Final = (label("not-ready", "node"), label("unreachable", "node"))
SECONDS: Final = (300, 300)
"""Default seconds for which pods stay: on nodes that are not ready, and on unreachable ones."""


class DefaultTolerationSeconds:
    """Adds the two tolerations to pods that have none for these taints.

    ``seconds`` is how long they stay on a node that is not ready, and on one out of reach.
    """

    name = "DefaultTolerationSeconds"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, seconds: tuple[int, int] = SECONDS) -> None:
        self._seconds = dict(zip(_TAINTS, seconds, strict=True))

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def mutate(self, review: Review) -> Object:
        """The pod with what it lacks."""
        pod = written(review)
        if review.subresource:
            return pod
        present = at(pod, "spec", "tolerations") or ()
        missing = [key for key in _TAINTS if not any(_speaks_of(each, key) for each in present)]
        if not missing:
            return pod
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._seconds[key]}
            for key in missing
        ]
        return with_spec(pod, tolerations=[*present, *added])


def _speaks_of(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
