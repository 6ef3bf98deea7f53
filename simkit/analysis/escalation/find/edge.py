"""One edge of the escalation graph."""

from __future__ import annotations

from typing import NamedTuple

from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import Primitive, Variant, primitives
from simkit.analysis.escalation.table.requirement import Permission

Distance = tuple[float, float]
"""Hops and cost, the one first that is asked for."""


class Edge(NamedTuple):
    """An edge between two states: a variant of a primitive, or a choice (an empty primitive), which costs nothing.

    ``granted_by`` holds for each needed grant the sources that are each enough; ``permissions`` what is used of them.
    """

    source: AttackState
    target: AttackState
    primitive: str = ""
    number: int = 0
    variables: tuple[tuple[str, str], ...] = ()
    granted_by: tuple[tuple[GrantSource, ...], ...] = ()
    permissions: tuple[Permission, ...] = ()
    cost: float = 0

    @property
    def definition(self) -> Primitive:
        """The primitive. Raises SimkitError for a choice."""
        return primitives().primitive(self.primitive)

    @property
    def variant(self) -> Variant:
        """The variant of the primitive."""
        return self.definition.variants[self.number]

    @property
    def hops(self) -> int:
        """1 if the edge takes something, 0 for choices and for what belongs to a state."""
        return 1 if self.cost else 0

    def value(self, name: str) -> str:
        """The value of a variable; empty if it is not known."""
        return dict(self.variables).get(name, "")


class Reached(NamedTuple):
    """The distance of a state, and the last edge of the best path to it (towards a goal: the first edge from it)."""

    distance: Distance
    edge: Edge | None
