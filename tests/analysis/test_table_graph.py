"""Answers become graphs that networkx can walk."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import pytest

from simkit.analysis import access_matrix, audit, compare, findings_graph, table_graph, who_can
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import account, binding, role, rule, world

BEFORE = [account("dev", "app"), role("r", rule("get", "secrets")), role("s", rule("list", "secrets"), namespace="dev")]
AFTER = [
    *BEFORE,
    binding("wide", "r", "user:ann", "sa:dev/app"),
    binding("local", "s", "user:ann", namespace="dev", local=True),
]


def test_an_answer_is_a_way_from_subject_to_role() -> None:
    """In the graph of who_can, subjects lead to bindings, and these to roles, each once."""
    graph = table_graph(who_can(world(*AFTER), "get", "secrets"))
    assert nx.shortest_path(graph, "user:ann", "ClusterRole r") == [
        "user:ann",
        "ClusterRoleBinding wide",
        "ClusterRole r",
    ]
    assert set(graph.predecessors("ClusterRoleBinding wide")) == {"user:ann", "sa:dev/app"}
    assert graph.number_of_edges("ClusterRoleBinding wide", "ClusterRole r") == 1
    local = table_graph(who_can(world(*AFTER), "list", "secrets"))
    assert nx.has_path(local, "user:ann", "Role dev/s")
    assert {data["layer"] for _, data in local.nodes(data=True)} == {"subject", "binding", "role"}


def test_a_change_is_an_edge() -> None:
    """Compare: who gained what, by which binding."""
    graph = table_graph(compare(world(*BEFORE), world(*AFTER)))
    edges = {(data["relation"], data["verb"], data["scope"], data["bindings"]) for _, _, data in graph.edges(data=True)}
    assert ("gained", "list", "dev", ("RoleBinding dev/local",)) in edges
    assert set(graph.successors("user:ann")) == {"secrets"}


def test_a_field_of_the_matrix_is_an_edge() -> None:
    """The matrix: subjects lead to resources, with verbs and namespace."""
    graph = table_graph(access_matrix(world(*AFTER), ["ann"], resources=["secrets", "pods"]))
    edges = [(data["namespace"], data["verbs"]) for _, _, data in graph.edges(data=True)]
    assert edges == [("*", ("get",)), ("dev", ("get", "list"))]


def test_findings_lead_to_what_they_are_about() -> None:
    """A role on which many findings rest has many ways to it."""
    graph = findings_graph(audit(world(*AFTER)).findings)
    assert graph.in_degree("ClusterRole r") >= 1
    assert {data["layer"] for _, data in graph.nodes(data=True)} == {"finding", "subject", "binding", "role"}


def test_other_tables_are_refused() -> None:
    """The message names those that can be drawn; no rows are an empty graph."""
    with pytest.raises(SimkitError, match="no table of who_can"):
        table_graph(pd.DataFrame({"a": [1]}))
    assert len(table_graph(compare(world(*BEFORE), world(*BEFORE)))) == 0
