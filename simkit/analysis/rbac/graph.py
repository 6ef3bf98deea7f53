"""The RBAC objects of a snapshot as a networkx graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simkit.analysis.caveats import about_access
from simkit.analysis.rbac.objects import all_bindings, all_roles, display_name, kind_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.unknown_names import check_namespace
from simkit.logic.rbac.binding import Binding, Subject
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx as nx


@about_access()
def access_graph(snapshot: Snapshot, *, rules: bool = True, namespace: str | None = None) -> nx.MultiDiGraph[str]:
    """The RBAC objects of a snapshot as a networkx graph.

    Parameters
    ----------
    rules
        Whether the rules are nodes too; without them the graph ends at the roles.
    namespace
        Only the RoleBindings of this namespace, and the ClusterRoleBindings, which apply in it too, with their subjects
        and roles. None: all.

    Returns
    -------
    MultiDiGraph
        Nodes are texts, as in tables: subjects (``sa:ci/runner``), bindings (``RoleBinding ci/runners``), roles
        (``ClusterRole view``) and rules (``ClusterRole view rule 0``). Each has ``layer`` (subject, binding, role or
        rule) and ``text``, what to show; all but rules have ``kind``, ``name`` and ``namespace``, roles ``exists``,
        rules their ``rule``. Edges go subject to binding (``relation`` "named by"), binding to role ("refers to") and
        role to rule ("holds").

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.
    SimkitError
        For an empty namespace.

    Notes
    -----
    O(subjects of all bindings + rules of all roles). Implied groups are not drawn: who belongs to
    ``system:authenticated`` is everybody.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> graph = cluster.access_graph(rules=False)
    >>> list(graph.successors("group:system:masters"))
    ['ClusterRoleBinding cluster-admin']
    """
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    check_namespace(snapshot, namespace)
    for key, role in all_roles(snapshot):
        _add_role(graph, key, exists=True)
        if rules:
            _add_rules(graph, key, rules_of(role))
    for binding in all_bindings(snapshot):
        if namespace is None or binding.key.namespace in ("", namespace):
            _add_binding(graph, binding)
    if namespace is not None:
        bindings = [node for node, data in graph.nodes(data=True) if data["layer"] == "binding"]
        kept = {*bindings, *(near for node in bindings for near in (*graph.pred[node], *nx.descendants(graph, node)))}
        graph.remove_nodes_from([node for node in graph if node not in kept])
    return graph


def _add_role(graph: nx.MultiDiGraph[str], key: Key, *, exists: bool) -> None:
    _add(graph, display_name(key), "role", kind_of(key), key, exists=exists)


def _add_rules(graph: nx.MultiDiGraph[str], key: Key, rules: Iterable[Rule]) -> None:
    for index, rule in enumerate(rules):
        role, node = display_name(key), f"{display_name(key)} rule {index}"
        graph.add_node(node, layer="rule", text=rule_text(rule), rule=rule)
        graph.add_edge(role, node, relation="holds")


def _add_binding(graph: nx.MultiDiGraph[str], binding: Binding) -> None:
    name, role = display_name(binding.key), display_name(binding.role)
    if role not in graph:
        _add_role(graph, binding.role, exists=False)
    _add(graph, name, "binding", kind_of(binding.key), binding.key)
    graph.add_edge(name, role, relation="refers to")
    for subject in map(normalize_subject, binding.subjects):
        _add(graph, text_of(subject), "subject", subject.kind, subject)
        graph.add_edge(text_of(subject), name, relation="named by")


def _add(graph: nx.MultiDiGraph[str], node: str, layer: str, kind: str, of: Key | Subject, **more: bool) -> None:
    graph.add_node(node, layer=layer, text=node, kind=kind, name=of.name, namespace=of.namespace, **more)


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
