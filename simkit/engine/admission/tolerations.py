"""Admission plugins of taints and tolerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.client.resources import NAMESPACES, NODES, PODS
from simkit.engine.admission.plugin_attributes import CREATION, WRITES, Handler, with_spec, written
from simkit.logic.quota.calculate import best_effort
from simkit.logic.quota.usage import is_extended
from simkit.meta.domain import label
from simkit.meta.errors import unexplained
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of
from simkit.seams import Reader, Review, existing

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


def all_within(tolerations: Sequence[Toleration], allowed: Sequence[Toleration]) -> bool:
    """True if each toleration is covered by an allowed one; nothing allowed means everything is."""
    return not allowed or all(any(covers(wide, one) for wide in allowed) for one in tolerations)


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


# PodTolerationRestriction merges and restricts the tolerations of the pods of a namespace.
# Upstream: plugin/pkg/admission/podtolerationrestriction, release 1.30.

_DEFAULTS: Final = label("defaultTolerations", "scheduler.alpha")
_ALLOWED: Final = label("tolerationsWhitelist", "scheduler.alpha")
_MEMORY: Final = {"key": label("memory-pressure", "node"), "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction(Handler, operations=WRITES, resources={PODS}):
    """Reads two annotations of the namespace; the arguments are the cluster defaults."""

    def __init__(self, store: Reader, defaults: Sequence[Toleration] = (), allowed: Sequence[Toleration] = ()) -> None:
        self._store, self._defaults, self._allowed = store, defaults, allowed

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
        found = existing(self._store, Key(NAMESPACES, "", review.namespace))
        text = annotations_of(found.object).get(annotation)
        if text is None:
            return otherwise
        try:
            value: Any = orjson.loads(text) if text else []
        except orjson.JSONDecodeError as error:
            raise unexplained(str(error)) from None
        return value if isinstance(value, list) else []


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
