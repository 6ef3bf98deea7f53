"""TaintNodesByCondition taints new nodes as not ready.

Upstream: plugin/pkg/admission/nodetaint, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import NODES, with_spec, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, at

_TAINT: Final = {"key": label("not-ready", "node"), "effect": "NoSchedule"}


class TaintNodesByCondition:
    """Adds the taint not-ready to every new node."""

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
