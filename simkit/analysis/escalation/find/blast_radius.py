"""Everything that a subject, or code in a pod, can reach by escalation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.caveats import about_access, with_caveats
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.queries import check_limit, nowhere, place_of
from simkit.analysis.escalation.find.search import from_place, path_from
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import InLines
from simkit.logic.rbac.binding import Subject
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REACH_COLUMNS: Final = ("place", "kind", "name", "namespace", "hops", "cost", "primitives")


@dataclass(frozen=True, repr=False)
class BlastRadius(InLines):
    """All states that an attacker can reach, the nearest first."""

    subject: str
    reached: pd.DataFrame

    def __len__(self) -> int:
        return len(self.reached)

    def to_frame(self) -> pd.DataFrame:
        """One row per state: place, kind, name, namespace, hops, cost, primitives on the way."""
        return self.reached

    def summary(self) -> pd.DataFrame:
        """One row per kind of state: what, count, hops (to the nearest)."""
        found = self.reached.groupby("kind")["hops"].agg(["size", "min"]).reset_index()
        return found.set_axis(["what", "count", "hops"], axis=1)

    @property
    def cluster_admin(self) -> bool:
        """True if full control of the cluster is among them."""
        return bool((self.reached["kind"] == states.EVERYTHING).any())

    def plot(self, ax: Axes | None = None) -> Axes:
        """The blast radius as bars by kind and hops, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.charts import blast_bars

        return blast_bars(self.subject, self.reached, ax=ax)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield f"{self.subject} reaches {counted(len(self.reached), 'place')}" + (
            ", including cluster-admin" if self.cluster_admin else ""
        )
        nearest = self.reached.head(20)
        for hops, state in zip(nearest["hops"].tolist(), nearest["place"]):
            yield f"{counted(hops, 'hop')}: {state}"
        if len(self.reached) > 20:
            yield f"... and {len(self.reached) - 20} more"


@about_access()
def blast_radius(
    snapshot: Snapshot,
    subject: Subject | str,
    *,
    max_hops: int | None = None,
    members: Members | None = None,
) -> BlastRadius:
    """Everything that a subject, or code in a pod (``pod:ns/name``), can reach by escalation.

    Parameters
    ----------
    subject
        As for ``escalations``: one.
    max_hops
        Places further away do not count.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    BlastRadius
        ``reached`` has one row per place, however many ways lead there: place, kind, name, namespace, hops, cost,
        primitives on the way.

    Raises
    ------
    SimkitError
        For a text that is no subject, for a pod that is not there, and for a negative ``max_hops``.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.blast_radius("user:ann").cluster_admin
    False
    """
    members = members_in(snapshot, members)
    check_limit(max_hops)
    graph = graph_of(snapshot, members)
    start = place_of(graph, subject)
    found = from_place(graph, start, max_hops)
    goal = Goal("", nowhere)
    rows: dict[AttackState, tuple[Any, ...]] = {}
    for state, reached in found.items():
        place = state._replace(impersonated=False, beside="")
        if place == start or state.kind in states.CHOICES:
            continue
        path = path_from(found, start, goal, state)
        hops = reached.distance[0]
        if place not in rows or (hops, path.cost) < rows[place][4:6]:
            rows[place] = (str(place), place.kind, place.name, place.namespace, hops, path.cost, path.primitives)
    nearest = sorted(rows.values(), key=lambda row: (row[4], row[1], row[0]))
    return with_caveats(BlastRadius(str(start), table(nearest, REACH_COLUMNS)), graph.facts.caveats)
