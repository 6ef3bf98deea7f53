"""Admission plugins of taints and tolerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.admission.plugin_attributes import (
    CREATION,
    NODES,
    PODS,
    WRITES,
    Handler,
    with_spec,
    written,
)
from simkit.logic.quota.usage import is_extended
from simkit.meta.domain import label
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of
from simkit.seams import Review

# Comparison and merging of tolerations.
# Upstream: pkg/util/tolerations, release 1.30.

Toleration = Mapping[str, Any]


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """True if whatever the narrow one tolerates, the wide one tolerates too."""
    if wide == narrow:
        return True
    if wide.get("key", "") != narrow.get("key", "") and (wide.get("key") or wide.get("operator") != "Exists"):
        return False
    if wide.get("effect", "") != narrow.get("effect", "") and wide.get("effect"):
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if wide.get("operator", "") in ("", "Equal"):
        same = narrow.get("operator", "") == wide.get("operator", "")
        return bool(same and narrow.get("value", "") == wide.get("value", ""))
    return wide.get("operator") == "Exists"


def merged(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Both lists without tolerations that another one covers; of equal ones the first stays.

    Examples
    --------
    >>> merged([{"key": "a", "value": "b"}], [{"operator": "Exists"}])
    [{'operator': 'Exists'}]
    """
    everything, kept = [*first, *second], list[Toleration]()
    for index, one in enumerate(everything):
        later = [other for other in everything[index + 1 :] if other != one]
        if not any(covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


# DefaultTolerationSeconds lets pods tolerate nodes that are not ready or unreachable for five minutes.
# Upstream: plugin/pkg/admission/defaulttolerationseconds, release 1.30.

_TAINTS: Final = (label("not-ready", "node"), label("unreachable", "node"))
SECONDS: Final = (300, 300)
"""Default seconds for which pods stay: on nodes that are not ready, and on unreachable ones."""


class DefaultTolerationSeconds(Handler, operations=WRITES, resources={PODS}):
    """Adds the two tolerations to pods that have none for these taints.

    ``seconds`` is how long they stay on a node that is not ready, and on one out of reach.
    """

    def __init__(self, seconds: tuple[int, int] = SECONDS) -> None:
        self._seconds = dict(zip(_TAINTS, seconds, strict=True))

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


# ExtendedResourceToleration adds tolerations for the extended resources that a pod requests.
# Upstream: plugin/pkg/admission/extendedresourcetoleration, release 1.30.


class ExtendedResourceToleration(Handler, operations=WRITES, resources={PODS}):
    """Adds one toleration for each extended resource."""

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


# TaintNodesByCondition taints new nodes as not ready.
# Upstream: plugin/pkg/admission/nodetaint, release 1.30.

_TAINT: Final = {"key": label("not-ready", "node"), "effect": "NoSchedule"}


class TaintNodesByCondition(Handler, operations=CREATION, resources={NODES}):
    """Adds the taint not-ready to every new node."""

    def mutate(self, review: Review) -> Object:
        """The node with the taint."""
        node = written(review)
        taints = at(node, "spec", "taints") or ()
        if review.subresource or any(_same(taint) for taint in taints):
            return node
        return with_spec(node, taints=[*taints, dict(_TAINT)])


def _same(taint: Object) -> bool:
    return taint.get("key") == _TAINT["key"] and taint.get("effect") == _TAINT["effect"]
