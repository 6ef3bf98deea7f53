"""One step in the escalation graph."""

from __future__ import annotations

from typing import NamedTuple

from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import Primitive, Variant, primitives
from simkit.analysis.escalation.table.requirement import Permission


class Edge(NamedTuple):
    """From one place to another, by a way of a primitive; or by choice (an empty primitive), which costs nothing.

    ``needs`` holds for each needed grant the sources that are each enough; ``permissions`` what is used of them.
    """

    source: AttackState
    target: AttackState
    primitive: str = ""
    way: int = 0
    variables: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[GrantSource, ...], ...] = ()
    permissions: tuple[Permission, ...] = ()
    cost: float = 0

    @property
    def known(self) -> Primitive:
        """The primitive. Raises SimkitError for a choice."""
        return primitives().primitive(self.primitive)

    @property
    def means(self) -> Variant:
        """The way of the primitive."""
        return self.known.ways[self.way]

    @property
    def hops(self) -> int:
        """1 for a step that takes something, 0 for choices and for what comes with a place."""
        return 1 if self.cost else 0

    def value(self, name: str) -> str:
        """One variable, empty where it is not known."""
        return dict(self.variables).get(name, "")
