"""The RBAC objects of a snapshot as a networkx graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from simkit.analysis.rbac.objects import all_bindings, all_roles, display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import Binding
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.names import Key
from simkit.snapshot.protocol import Snapshot


def access_graph(snapshot: Snapshot, *, rules: bool = True) -> nx.MultiDiGraph[Any]:
    """Return the RBAC objects of a snapshot as a networkx graph.

    Parameters
    ----------
    rules
        Whether the rules are nodes too; without them the graph ends at the roles.

    Returns
    -------
    MultiDiGraph
        Nodes are subjects (``Subject``), bindings and roles (``Key``) and rules (``(Key, index)``). Each has
        ``layer`` (subject, binding, role or rule) and ``text``; subjects have ``kind``, bindings and roles
        ``namespace``, roles ``exists``, rules their ``rule``. Edges go subject to binding (``relation`` "named by"),
        binding to role ("refers to") and role to rule ("holds").

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    O(subjects of all bindings + rules of all roles). Implied groups are not drawn: who belongs to
    ``system:authenticated`` is everybody.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.access_graph(rules=False).number_of_edges() > 50
    True
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    for key, role in all_roles(snapshot):
        _add_role(graph, key, exists=True)
        if rules:
            _add_rules(graph, key, rules_of(role))
    for binding in all_bindings(snapshot):
        _add_binding(graph, binding)
    return graph


def _add_role(graph: nx.MultiDiGraph[Any], key: Key, *, exists: bool) -> None:
    graph.add_node(key, layer="role", text=display_name(key), namespace=key.namespace, exists=exists)


def _add_rules(graph: nx.MultiDiGraph[Any], key: Key, rules: Iterable[Rule]) -> None:
    for index, rule in enumerate(rules):
        graph.add_node((key, index), layer="rule", text=rule_text(rule), rule=rule)
        graph.add_edge(key, (key, index), relation="holds")


def _add_binding(graph: nx.MultiDiGraph[Any], binding: Binding) -> None:
    if binding.role not in graph:
        _add_role(graph, binding.role, exists=False)
    graph.add_node(binding.key, layer="binding", text=display_name(binding.key), namespace=binding.namespace)
    graph.add_edge(binding.key, binding.role, relation="refers to")
    for subject in binding.subjects:
        graph.add_node(subject, layer="subject", text=text_of(subject), kind=subject.kind)
        graph.add_edge(subject, binding.key, relation="named by")


def rule_text(rule: Rule) -> str:
    """A rule as one line.

    Examples
    --------
    >>> rule_text(Rule(("get",), ("apps",), ("deployments",), ("web",)))
    'get deployments.apps named web'
    >>> rule_text(Rule(("get",), paths=("/healthz",)))
    'get /healthz'
    """
    verbs = ",".join(rule.verbs)
    if rule.paths:
        return f"{verbs} {','.join(rule.paths)}"
    what = ",".join(_of_group(resource, rule.api_groups) for resource in rule.resources)
    return f"{verbs} {what}" + (f" named {','.join(rule.resource_names)}" if rule.resource_names else "")


def _of_group(resource: str, groups: Iterable[str]) -> str:
    text = "|".join(groups)
    return f"{resource}.{text}" if text else resource
