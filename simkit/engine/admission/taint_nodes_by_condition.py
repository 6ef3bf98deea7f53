"""TaintNodesByCondition: a new node is not ready until it says so."""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import NODES, with_spec, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, at

_TAINT: Final = {"key": label("not-ready", "node"), "effect": "NoSchedule"}


class TaintNodesByCondition:
    """Gives every new node the taint of one that is not ready."""

    name = "TaintNodesByCondition"
    leaves_process: Final = False
    resources = frozenset({NODES})

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The node with the taint."""
        node = written(review)
        taints = at(node, "spec", "taints") or ()
        if review.subresource or any(_same(taint) for taint in taints):
            return node
        return with_spec(node, taints=[*taints, dict(_TAINT)])


def _same(taint: Object) -> bool:
    return taint.get("key") == _TAINT["key"] and taint.get("effect") == _TAINT["effect"]
