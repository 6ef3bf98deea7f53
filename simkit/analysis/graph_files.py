"""Graphs of analyses as files: GraphML, Parquet, and OpenGraph for BloodHound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.rbac.objects import display_name
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.meta.visible_text import one_line
from simkit.meta.whole_file import write_whole

if TYPE_CHECKING:
    import networkx as nx

SOURCE: Final = "Kubernetes"
"""The kind that all nodes share, by which BloodHound tells the sources of a graph apart."""
FORMS: Final = (".graphml", ".parquet", ".json")


def write_graph(graph: nx.MultiDiGraph[str], path: str | Path) -> Path:
    """Write a graph of ``access_graph`` or ``escalations(...).to_networkx()`` into a file, by the ending of its name.

    Parameters
    ----------
    graph
        The graph.
    path
        ``.graphml`` for graph editors such as yEd and Gephi; ``.parquet`` for a table with a row per edge (source,
        target and their attributes); ``.json`` for BloodHound: see ``opengraph``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    SimkitError
        For another ending, and for Parquet without pyarrow.

    Examples
    --------
    >>> import simkit, tempfile
    >>> graph = simkit.Cluster(seed=1).access_graph(rules=False)
    >>> write_graph(graph, f"{tempfile.mkdtemp()}/access.graphml").suffix
    '.graphml'
    """
    file = Path(path)
    match file.suffix.lower():
        case ".graphml":
            _write_graphml(graph, file)
        case ".parquet":
            _write_parquet(graph, file)
        case ".json":
            write_whole(file, orjson.dumps(opengraph(graph), option=orjson.OPT_INDENT_2))
        case _:
            raise SimkitError(f"{str(path)!r} names no graph that can be written; it has to end in {', '.join(FORMS)}")
    return file


def opengraph(graph: nx.MultiDiGraph[str]) -> dict[str, object]:
    """A graph as OpenGraph, the JSON that BloodHound takes in.

    Parameters
    ----------
    graph
        As for ``write_graph``.

    Returns
    -------
    dict
        ``graph`` with nodes (id, kinds, properties) and edges (start, end, kind, properties), and ``metadata``.
        Kinds of nodes begin with ``Kubernetes``; kinds of edges are titles of escalation primitives, or relations.

    References
    ----------
    The JSON schemas of BloodHound's file ingest, ``node.json`` and ``edge.json``.

    Examples
    --------
    >>> import simkit
    >>> made = opengraph(simkit.Cluster(seed=1).access_graph(rules=False))
    >>> sorted(made)
    ['graph', 'metadata']
    """
    nodes = [
        {
            "id": one_line(node),
            "kinds": [SOURCE + _camel(str(_kind(data))), SOURCE],
            "properties": {"name": one_line(node), **_plain(data)},
        }
        for node, data in graph.nodes(data=True)
    ]
    edges = [
        {
            "start": {"value": one_line(source), "match_by": "id"},
            "end": {"value": one_line(target), "match_by": "id"},
            "kind": _camel(str(data.get("title") or data.get("relation") or "one of")),
            "properties": _plain(data),
        }
        for source, target, data in graph.edges(data=True)
    ]
    return {"graph": {"nodes": nodes, "edges": edges}, "metadata": {"source_kind": SOURCE}}


def _kind(data: Mapping[str, Any]) -> object:
    return data.get("kind") or data.get("layer") or ""


def _camel(text: str) -> str:
    """Words as one name of letters and digits."""
    return "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", text))


def _plain(data: Mapping[str, Any]) -> dict[str, str | float | bool | list[str]]:
    """Attributes as the values that files of graphs can hold; ``state`` repeats what the others say."""
    return {name: _value(value) for name, value in data.items() if name not in ("state", "name") and value is not None}


def _value(value: object) -> str | float | bool | list[str]:
    if isinstance(value, float | int | bool):
        return value
    return list(_texts(value)) if isinstance(value, list | tuple) else one_line(str(value))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Texts of values, those of tuples within tuples too: the bindings of grants."""
    for value in values:
        binding = getattr(value, "binding", None)
        if binding is None and isinstance(value, list | tuple):
            yield from _texts(value)
        else:
            yield one_line(display_name(binding) if isinstance(binding, Key) else str(value))


def _write_graphml(graph: nx.MultiDiGraph[str], file: Path) -> None:
    import networkx as nx

    made: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node, data in graph.nodes(data=True):
        made.add_node(one_line(node), **_flat(data))
    for source, target, data in graph.edges(data=True):
        made.add_edge(one_line(source), one_line(target), **_flat(data))
    write_whole(file, "\n".join(nx.generate_graphml(made)).encode())


def _flat(data: Mapping[str, Any]) -> dict[str, str | float | bool]:
    return {name: ", ".join(one) if isinstance(one, list) else one for name, one in _plain(data).items()}


def _write_parquet(graph: nx.MultiDiGraph[str], file: Path) -> None:
    import pandas as pd

    rows = [
        {
            "source": one_line(source),
            "target": one_line(target),
            "source_kind": str(_kind(graph.nodes[source])),
            "target_kind": str(_kind(graph.nodes[target])),
            **_flat(data),
        }
        for source, target, data in graph.edges(data=True)
    ]
    try:
        content = pd.DataFrame(rows).to_parquet(index=False)
    except ImportError as error:
        raise SimkitError(f"writing Parquet needs pyarrow: {install_hint('fleet')}") from error
    write_whole(file, content)
