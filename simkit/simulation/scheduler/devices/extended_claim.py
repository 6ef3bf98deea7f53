"""The claim that the scheduler makes for the extended resources of a pod which devices back.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import DEVICE_CLASSES
from simkit.logic.workloads.extended_resources import (
    EXTENDED_CLAIM,
    backing_classes,
    extended_requests,
    is_extended_claim,
)
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import View

IN_MEMORY: Final = "<extended-resources>"
"""The name of a claim that is not written yet."""
_NONE: Final[Mapping[str, str]] = {}


class ExtendedClaim(NamedTuple):
    """The claim of a pod on one node, and the request from which each of its containers gets its devices."""

    claim: Object
    mappings: Sequence[Mapping[str, str]]


def classes_of_resources(names: Iterable[str], lister: Lister) -> Mapping[str, str]:
    """The name of the class that backs each of some resources, or of others; none if classes are not known.

    Resources of nodes themselves, which no class backs, cost nothing.
    """
    if not any("/" in name for name in names):
        return _NONE
    if not applies("scheduler-backs-extended-resources") or not applies("scheduler-allocates-devices"):
        return _NONE
    return lister.once("classes of resources", lambda: _read(lister))


def _read(lister: Lister) -> Mapping[str, str]:
    known = DEVICE_CLASSES in lister.snapshot.captured()
    return backing_classes(lister.scan(DEVICE_CLASSES)) if known else _NONE


def backed_resources(pod: PodInfo, view: View) -> dict[str, str]:
    """The resources that a pod requests and a class backs, each with the name of that class."""
    classes = classes_of_resources(pod.requests, view.lister)
    return {name: classes[name] for name, amount in pod.requests.items() if amount > 0 and name in classes}


def former_claim(pod: PodInfo, view: View) -> Object | None:
    """The claim that was made for the extended resources of a pod in an earlier attempt."""
    found = view.controlled_claims(pod.namespace, uid_of(pod.pod))
    return next((each for each in found if is_extended_claim(each)), None)


def extended_claim(pod: PodInfo, backed: Mapping[str, str], info: NodeInfo) -> ExtendedClaim | None:
    """The claim for resources that a node does not have itself; None if it has all."""
    wanted = {name: each for name, each in backed.items() if not info.allocatable.get(name)}
    if not wanted:
        return None
    found = extended_requests(pod.pod, wanted)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": uid_of(pod.pod), "controller": True}
    meta: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": IN_MEMORY,
        "generateName": f"{pod.name}-extended-resources-",
        "annotations": {EXTENDED_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    return ExtendedClaim({"metadata": meta, "spec": {"devices": {"requests": found.requests}}}, found.mappings)
