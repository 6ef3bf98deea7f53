"""The escalation graph in a notebook: folded, searched and undone in the browser, proven in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import traitlets

from simkit.analysis.escalation.find.graph_document import GraphDocument, graph_document
from simkit.analysis.escalation.find.queries import WELL_KNOWN, Escalations, escalations
from simkit.analysis.rbac.unknown_names import warn_of_unnamed_subject
from simkit.notebook.parts import Part
from simkit.notebook.sections import Background, PanelBox, panel_script, panel_styles
from simkit.present.path_graph import graph_script, graph_styles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simkit.analysis import RemediationPlan
    from simkit.cluster.cluster import Cluster


class PathGraphView(Part):
    """The graph as the browser draws it. It asks the kernel for proofs, and for nothing else."""

    kind = traitlets.Unicode("graph").tag(sync=True)
    graph: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    told = ""

    def static_html(self) -> str:
        """The paths as a table, for readers without a kernel."""
        return self.told


class PathGraph(PanelBox):
    """The escalation paths of a cluster as a graph to walk in.

    Alike nodes are folded; a click unfolds them. A path that is chosen in the table or by a click is told step by step
    with the grants that allow it, and a button executes it on a fork, request by request. Bindings can be undone in the
    graph, to see which paths that closes.

    Parameters
    ----------
    subject
        Whose paths; empty: everybody's.
    goal
        What the paths lead to; the first goal comes first.
    plan
        What ``cluster.remediation_plan()`` finds for these goals: its steps are shown with the paths that each closes.

    Examples
    --------
    >>> import simkit
    >>> shown = PathGraph(simkit.Cluster(seed=1))
    >>> shown.wait()
    >>> len(shown.view.graph["starts"])
    0
    """

    title = "Escalation graph"
    _esm = panel_script(graph_script())
    _css = panel_styles(graph_styles())

    def __init__(
        self, cluster: Cluster, subject: str = "", *, goal: str | Iterable[str] = WELL_KNOWN,
        plan: RemediationPlan | None = None,
    ) -> None:  # fmt: skip
        self._cluster, self._subject, self._plan = cluster, subject or None, plan or ()
        self._goal = (goal,) if isinstance(goal, str) else tuple(goal)
        self._paths = Escalations(())
        self.work = Background()
        self.view = PathGraphView()
        self.view.on_msg(self._asked)
        super().__init__(self.work, self.view)
        self.work.run("looking for paths", self._read, self._show)

    def _read(self) -> tuple[GraphDocument, Escalations]:
        snapshot = self._cluster.snapshot()
        if self._subject:
            warn_of_unnamed_subject(self._subject, snapshot)
        found = escalations(snapshot, self._subject, self._goal)
        steps = ((str(step.change), step.closed) for step in self._plan)
        return graph_document(snapshot, found, self._goal, plan=steps), found

    def _show(self, found: tuple[GraphDocument, Escalations]) -> None:
        document, self._paths = found
        self.view.told = self._paths._repr_html_()
        self.view.graph = cast("dict[str, Any]", document)

    def _asked(self, view: object, message: dict[str, Any], buffers: object) -> None:
        """Prove the path that the browser asks for, or say why not."""
        start, goal = message["prove"]
        subjects = list(dict.fromkeys(path.start for path in self._paths))

        def proven() -> dict[str, object]:
            path = next(path for path in self._paths if path.start == subjects[start] and path.goal.name == goal)
            return path.prove(self._cluster).record()

        def tell(proof: dict[str, object]) -> None:
            self.view.send({"start": start, "goal": goal, "proof": proof})

        def tell_failure() -> None:
            tell({"verdict": "not executed; the line above says why", "requests": []})

        self.work.run("executing the path on a fork", proven, tell, always=True, failed=tell_failure)


path_graph = PathGraph
