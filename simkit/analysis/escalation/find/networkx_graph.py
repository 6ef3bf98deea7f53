"""The escalation graph as a networkx graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simkit.analysis.escalation.find.edge import Edge

if TYPE_CHECKING:
    import networkx


def networkx_graph(edges: Iterable[Edge]) -> networkx.MultiDiGraph[str]:
    """Edges of the escalation graph as a networkx multigraph.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are texts: ``sa:ci/runner``, ``cluster-admin``, ``full access to shop``, so that
        ``networkx.shortest_path(graph, "sa:ci/runner", "cluster-admin")`` works. They have the attributes state (the
        ``AttackState``), kind, name, namespace and impersonated. Edges have
        primitive (its id; empty for a choice among the members of a set), title, severity, cost, hops (1 where the
        step takes something) and granted_by (for each requirement the sources that are each enough).

    Examples
    --------
    >>> networkx_graph([]).number_of_nodes()
    0
    """
    import networkx

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    for edge in edges:
        for state in (edge.source, edge.target):
            graph.add_node(
                str(state),
                state=state,
                kind=state.kind,
                name=state.name,
                namespace=state.namespace,
                impersonated=state.impersonated,
            )
        graph.add_edge(
            str(edge.source),
            str(edge.target),
            primitive=edge.primitive,
            title=edge.definition.title if edge.primitive else "",
            severity=edge.definition.severity.word if edge.primitive else "",
            cost=edge.cost,
            hops=edge.hops,
            granted_by=edge.granted_by,
        )
    return graph
