"""The escalation graph in a notebook: folded, searched and undone in the browser, proven in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from simkit.analysis.escalation.find.graph_document import GraphDocument, graph_document
from simkit.analysis.escalation.find.queries import WELL_KNOWN, Escalations, escalations
from simkit.notebook.background import Background
from simkit.notebook.sections import PanelBox
from simkit.present.path_graph import graph_script, graph_stylesheet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simkit.cluster.cluster import Cluster

EMPTY: GraphDocument = {
    "nodes": [], "steps": [], "grants": [], "edges": [], "goals": [], "starts": [], "partial": False
}  # fmt: skip


class PathGraphView(anywidget.AnyWidget):
    """The graph as the browser draws it. It asks for proofs, and needs no kernel for anything else."""

    _esm = graph_script()
    _css = graph_stylesheet()
    graph: traitlets.Dict[str, Any] = traitlets.Dict(dict(EMPTY)).tag(sync=True)
    provable = traitlets.Bool(True).tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.told = ""

    def static_html(self) -> str:
        """The paths as a table, for readers without a kernel."""
        return self.told


class PathGraph(PanelBox):
    """The escalation paths of a cluster as a graph to walk in.

    Alike nodes are folded; a click unfolds them. Choose a path in the table, or click a node or a step, and the path is
    told step by step with the grants that allow it; a button proves it on a fork. Bindings can be undone in the graph,
    to see which paths that closes.

    Examples
    --------
    >>> import simkit
    >>> shown = PathGraph(simkit.Cluster(seed=1))
    >>> shown.wait()
    >>> len(shown.view.graph["starts"])
    0
    """

    title = "Escalation graph"

    def __init__(self, cluster: Cluster, *, goal: str | Iterable[str] = WELL_KNOWN) -> None:
        self._cluster, self._goal = cluster, (goal,) if isinstance(goal, str) else tuple(goal)
        self.work = Background()
        self.view = PathGraphView()
        self.view.on_msg(self._asked)
        super().__init__([self.work, self.view])
        self.work.run("looking for paths", self._read, self._show)

    def _read(self) -> tuple[GraphDocument, Escalations]:
        snapshot = self._cluster.snapshot()
        return graph_document(snapshot, self._goal), escalations(snapshot, goal=self._goal)

    def _show(self, found: tuple[GraphDocument, Escalations]) -> None:
        document, paths = found
        self.view.told = paths._repr_html_()
        self.view.graph = cast("dict[str, Any]", document)

    def _asked(self, view: object, message: dict[str, Any], buffers: object) -> None:
        """Prove the path that the browser asks for."""
        start, goal = message["prove"]

        def proven() -> str:
            found = escalations(self._cluster.snapshot(), start, goal=goal, sandbox=self._cluster)
            return str(found[0].prove()) if found else "There is no such path any more."

        def tell(text: str) -> None:
            self.view.send({"start": start, "goal": goal, "text": text})

        self.work.run("executing the path on a fork", proven, tell, always=True)


def path_graph(cluster: Cluster, *, goal: str | Iterable[str] = WELL_KNOWN) -> PathGraph:
    """The escalation paths of a cluster to some goals, as a graph to walk in; the first goal is shown first."""
    return PathGraph(cluster, goal=goal)
