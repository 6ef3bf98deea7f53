"""Graphs as files: GraphML, Parquet and OpenGraph hold what the graph holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest

import simkit
from simkit.analysis import opengraph, write_graph
from simkit.meta.errors import SimkitError

GRAPHS = {
    "access": lambda cluster: cluster.access_graph(),
    "escalations": lambda cluster: cluster.escalations().to_networkx(),
}


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> nx.MultiDiGraph[str]:
    """A graph of the demo cluster."""
    made: nx.MultiDiGraph[str] = GRAPHS[request.param](simkit.demo())
    return made


def test_graphml_is_read_back(graph: nx.MultiDiGraph[str], tmp_path: Path) -> None:
    """Every node and every edge, with their kinds."""
    read = nx.read_graphml(write_graph(graph, tmp_path / "g.graphml"), force_multigraph=True)
    assert set(read) == set(graph)
    assert read.number_of_edges() == graph.number_of_edges()


def test_parquet_has_a_row_per_edge(graph: nx.MultiDiGraph[str], tmp_path: Path) -> None:
    """Source and target of each edge."""
    rows = pd.read_parquet(write_graph(graph, tmp_path / "g.parquet"))
    assert sorted(zip(rows["source"], rows["target"])) == sorted(graph.edges())


def test_opengraph_meets_the_schema_of_bloodhound(graph: nx.MultiDiGraph[str], tmp_path: Path) -> None:
    """Ids and kinds are texts, edges name nodes by id, and properties are plain values or lists of texts."""
    made = json.loads(write_graph(graph, tmp_path / "g.json").read_bytes())
    assert made == opengraph(graph)
    ids = {node["id"] for node in made["graph"]["nodes"]}
    assert len(ids) == len(made["graph"]["nodes"]) == len(graph)
    for node in made["graph"]["nodes"]:
        assert all(isinstance(kind, str) for kind in node["kinds"])
        assert len(node["kinds"]) in (1, 2, 3)
        _assert_plain(node["properties"])
    for edge in made["graph"]["edges"]:
        assert {edge[end]["match_by"] for end in ("start", "end")} == {"id"}
        assert {edge[end]["value"] for end in ("start", "end")} <= ids
        assert edge["kind"].isascii()
        assert edge["kind"].isalnum()
        _assert_plain(edge["properties"])
    assert set(made["metadata"]) == {"source_kind"}


def _assert_plain(properties: dict[str, Any]) -> None:
    for value in properties.values():
        listed = value if isinstance(value, list) else [value]
        assert all(isinstance(one, str | int | float | bool) for one in listed)
        assert not isinstance(value, list) or all(isinstance(one, str) for one in value)


def test_names_with_control_characters_stay_valid(tmp_path: Path) -> None:
    """A group with an escape character is written out, since XML cannot hold it."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_edge("group:\x1b]52", "ClusterRoleBinding a", relation="named by")
    read = nx.read_graphml(write_graph(graph, tmp_path / "g.graphml"))
    assert "group:\\x1b]52" in read


def test_another_ending_is_refused(tmp_path: Path) -> None:
    """The error names the endings."""
    with pytest.raises(SimkitError, match=r"\.graphml, \.parquet, \.json"):
        write_graph(nx.MultiDiGraph(), tmp_path / "g.png")
