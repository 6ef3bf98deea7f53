"""PodTopologyLabels gives pods the zone and the region of their node as labels.

Upstream: plugin/pkg/admission/podtopologylabels, release 1.36; KEP-4742.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.engine.admission.plugin_attributes import NODES, PODS, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata

_LABELS: Final = (label("zone", "topology"), label("region", "topology"))


class PodTopologyLabels:
    """Copies labels of the node to a new pod that names one, and to the binding of a pod, which hands them on."""

    name = "PodTopologyLabels"
    leaves_process: Final = False
    resources = frozenset({PODS})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The pod or binding with the labels; unchanged where the node does not exist."""
        obj = written(review)
        found = self._labels(_node_of(obj, review.subresource))
        if not found:
            return obj
        return {**obj, "metadata": {**metadata(obj), "labels": {**labels_of(obj), **found}}}

    def _labels(self, node: str) -> Mapping[str, str]:
        entry = self._reader.get(Key(NODES, "", node)) if node else None
        given = labels_of(entry.object) if entry is not None else {}
        return {name: given[name] for name in _LABELS if name in given}


def _node_of(obj: Object, subresource: str) -> str:
    """The node that a pod or a binding names; empty for none."""
    if subresource == "binding":
        return (at(obj, "target", "name") or "") if at(obj, "target", "kind") == "Node" else ""
    return "" if subresource else at(obj, "spec", "nodeName") or ""
