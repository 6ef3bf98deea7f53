"""Result tables as networkx graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx

from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.findings.check import Finding


def table_graph(rows: pd.DataFrame) -> nx.MultiDiGraph[str]:
    """The graph of a table of ``who_can``, ``compare`` or ``access_matrix``.

    Parameters
    ----------
    rows
        A result of ``who_can``, ``compare`` or ``access_matrix``.

    Returns
    -------
    MultiDiGraph
        Nodes are texts with a ``layer``. Of ``who_can``: subject to binding (``relation`` "named by", with ``scope``),
        binding to role ("refers to", with ``rule``). Of ``compare``: subject to resource, the ``relation`` being the
        change, with ``verb``, ``scope``, ``name`` and ``bindings``. Of ``access_matrix``: subject to resource ("may"),
        with ``verbs``, ``namespace`` and ``bindings``.

    Raises
    ------
    SimkitError
        For another table.

    Examples
    --------
    >>> from simkit.analysis.access.who_can import who_can
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> list(table_graph(who_can(MemorySnapshot([], captured=["*"]), "get", "pods")))
    ['group:system:masters', '(no binding)']
    """
    columns = set(rows.columns)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for row in rows.to_dict("records"):
        if {"subject", "binding_kind", "role_kind"} <= columns:
            _add_answer(graph, row)
        elif {"subject", "change", "bindings"} <= columns:
            _add_change(graph, row)
        elif {"namespace", "resource", "bindings"} <= columns:
            _add_field(graph, row, columns)
        else:
            raise SimkitError("this is no table of who_can, compare or access_matrix")
    return graph


def findings_graph(findings: Iterable[Finding]) -> nx.MultiDiGraph[str | int]:
    """The graph of findings: each with the subjects, bindings and roles that it names.

    Parameters
    ----------
    findings
        The findings of an audit.

    Returns
    -------
    MultiDiGraph
        From each finding (``layer`` finding, with ``check``, ``severity`` and ``message``) to the subjects, the binding
        and the role that it names (``relation`` "about", "by", "of").
    """
    graph: nx.MultiDiGraph[str | int] = nx.MultiDiGraph()
    for number, finding in enumerate(findings):
        about = {"check": finding.check, "severity": finding.severity.word, "message": finding.message}
        graph.add_node(number, layer="finding", **about)
        for node, layer, relation in _named(finding):
            graph.add_node(node, layer=layer)
            graph.add_edge(number, node, relation=relation)
    return graph


def _named(finding: Finding) -> Iterator[tuple[str, str, str]]:
    yield from ((text_of(subject), "subject", "about") for subject in finding.subjects)
    if finding.binding is not None:
        yield display_name(finding.binding), "binding", "by"
    if finding.role is not None:
        yield display_name(finding.role), "role", "of"


def _add_answer(graph: nx.MultiDiGraph[str], row: Mapping[Any, Any]) -> None:
    subject = row["subject"]
    local = f"{row['scope']}/" if row["binding_kind"] == "RoleBinding" else ""
    binding = f"{row['binding_kind']} {local}{row['binding']}".strip()
    graph.add_node(subject, layer="subject")
    graph.add_node(binding, layer="binding")
    graph.add_edge(subject, binding, relation="named by", scope=row["scope"])
    if row["role"]:
        owned = local if row["role_kind"] == "Role" else ""
        role = f"{row['role_kind']} {owned}{row['role']}"
        graph.add_node(role, layer="role")
        if not graph.has_edge(binding, role):
            graph.add_edge(binding, role, relation="refers to", rule=row["rule"])


def _add_change(graph: nx.MultiDiGraph[str], row: Mapping[Any, Any]) -> None:
    subject = row["subject"]
    what = row["url"] or str(GroupResource(row["api_group"], row["resource"]))
    graph.add_node(subject, layer="subject")
    graph.add_node(what, layer="resource")
    details = {name: row[name] for name in ("verb", "scope", "name", "bindings")}
    graph.add_edge(subject, what, relation=row["change"], **details)


def _add_field(graph: nx.MultiDiGraph[str], row: Mapping[Any, Any], columns: set[Any]) -> None:
    graph.add_node(row["subject"], layer="subject")
    graph.add_node(row["resource"], layer="resource")
    fixed = {"subject", "namespace", "resource", "bindings"}
    verbs = tuple(str(name) for name in row if name in columns - fixed and row[name] is True)
    details = {"verbs": verbs, "namespace": row["namespace"], "bindings": row["bindings"]}
    graph.add_edge(row["subject"], row["resource"], relation="may", **details)
