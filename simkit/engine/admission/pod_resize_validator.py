"""PodResizeValidator refuses resizes of pods for which their node has no room.

Upstream: plugin/pkg/admission/podresize, release 1.36.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import NODES, PODS, admission_forbidden, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.kinds.parts.pod.pod_resources import pod_requests
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata
from simkit.meta.quantity import Quantity, parse
from simkit.meta.resource_list import add, resource_list_of

_OS: Final = label("os")
_NONE: Final = parse("0")


class PodResizeValidator:
    """Compares the requests of a resized pod with what its node has for pods."""

    name = "PodResizeValidator"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 where the node does not exist, is not one of Linux, or has too little CPU or memory."""
        pod = written(review)
        node_name = at(pod, "spec", "nodeName")
        if review.subresource != "resize" or not node_name:
            return
        if metadata(review.old or {}).get("generation") == metadata(pod).get("generation"):
            return
        entry = self._reader.get(Key(NODES, "", node_name))
        if entry is None:
            raise admission_forbidden(review, f'node "{node_name}" not found')
        system = labels_of(entry.object).get(_OS, "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{node_name}" is "{system}"'
            raise admission_forbidden(review, why, causes=[{"reason": "UnsupportedPlatform"}])
        lacking = _lacking(pod, entry.object)
        if lacking:
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise admission_forbidden(review, why, causes=[{"reason": "NodeCapacity"}])


def _lacking(pod: Object, node: Object) -> list[str]:
    """The resources of which the node has too little, in words."""
    wanted = {**pod_requests(pod), **resource_list_of(at(pod, "spec", "resources", "requests"))}
    wanted = add(wanted, resource_list_of(at(pod, "spec", "overhead")))
    there = resource_list_of(at(node, "status", "allocatable"))

    def pair(name: str) -> tuple[Quantity, Quantity]:
        return wanted.get(name, _NONE), there.get(name, _NONE)

    found = []
    request, allocatable = pair("cpu")
    if request.nano > allocatable.nano:
        found.append(f"cpu, requested: {request.milli}, allocatable: {allocatable.milli}")
    request, allocatable = pair("memory")
    if request.nano > allocatable.nano:
        found.append(f"memory, requested: {request.whole}, allocatable: {allocatable.whole}")
    return found
