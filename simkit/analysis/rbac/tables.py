"""The RBAC objects of a snapshot as tables (subjects, bindings, roles, rules), and as a networkx graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.caveats import about_access
from simkit.analysis.rbac.objects import (
    SERVICE_ACCOUNTS,
    all_bindings,
    all_roles,
    captured_objects,
    display_name,
    kind_of,
)
from simkit.analysis.rbac.subject import normalize_subject, parse_subject, text_of
from simkit.analysis.rbac.unknown_names import check_namespace
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Binding, Subject
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import labels_of, name_of, namespace_of
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

PART_COLUMNS: Final = ("subject_kind", "subject_namespace", "subject_name")
SUBJECT_COLUMNS: Final = ("subject", "exists", "bindings", "cluster_wide")
BINDING_COLUMNS: Final = (
    "binding_kind",
    "namespace",
    "binding",
    "role_kind",
    "role",
    "role_exists",
    "subject",
)
ROLE_COLUMNS: Final = ("role_kind", "namespace", "role", "rules", "aggregated", "bootstrap", "bindings")
RULE_COLUMNS: Final = (
    "role_kind",
    "namespace",
    "role",
    "rule",
    "verbs",
    "api_groups",
    "resources",
    "resource_names",
    "urls",
)
SEVERITY_WORDS: Final = ("info", "low", "medium", "high", "critical")
"""The levels of ``Severity``, the least first."""
BOOTSTRAP_LABEL: Final = label("bootstrapping")
BOOTSTRAP_VALUE: Final = "rbac-defaults"


def records(rows: Iterable[tuple[Any, ...]], columns: Iterable[str]) -> list[dict[str, object]]:
    """Rows as mappings from column to value, made without pandas."""
    names = tuple(columns)
    return [dict(zip(names, row, strict=True)) for row in rows]


def table(rows: Iterable[tuple[Any, ...]], columns: tuple[str, ...]) -> pd.DataFrame:
    """A DataFrame with the given columns even if it has no rows; severities are an ordered category."""
    import pandas as pd

    from simkit.analysis.readable_frame import ReadableFrame

    made = ReadableFrame(list(rows), columns=list(columns))
    if "severity" in columns:
        made["severity"] = pd.Categorical(made["severity"], categories=list(SEVERITY_WORDS), ordered=True)
    return made


def subject_parts(rows: pd.DataFrame, *, column: str = "subject") -> pd.DataFrame:
    """The kind, namespace and name of the subjects of a table.

    Parameters
    ----------
    rows
        Any table with subjects as texts (``user:alice``, ``group:devs``, ``sa:ns/name``).
    column
        The column that holds them.

    Returns
    -------
    DataFrame
        With the index of the table, so that ``rows.join(subject_parts(rows))`` works: subject_kind (``User``,
        ``Group``, ``ServiceAccount``), subject_namespace (empty but for service accounts), subject_name. Where there is
        no subject all are empty.

    Raises
    ------
    SimkitError
        For a text that is no subject.

    Examples
    --------
    >>> import pandas as pd
    >>> subject_parts(pd.DataFrame({"subject": ["sa:ci/runner", "group:devs"]})).values.tolist()
    [['ServiceAccount', 'ci', 'runner'], ['Group', '', 'devs']]
    """
    named = [parse_subject(text) if text else Subject("", "") for text in rows[column]]
    parts = [(one.kind, one.namespace, one.name) for one in named]
    from simkit.analysis.readable_frame import ReadableFrame

    return ReadableFrame(parts, index=rows.index, columns=list(PART_COLUMNS), dtype=object)


@about_access()
def subjects(snapshot: Snapshot) -> pd.DataFrame:
    """All known subjects: service accounts, and subjects of bindings.

    Returns
    -------
    DataFrame
        One row per subject: subject (``sa:ns/name``); exists (False for a service account that
        bindings name and nobody made; None for users and groups, which the cluster does not keep, and for service
        accounts when they were not captured); bindings and cluster_wide, the number of bindings and of cluster-wide
        ones that name the subject itself.

    Raises
    ------
    IncompleteSnapshot
        Where bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.subjects()["subject"].tolist()[0]
    'group:system:authenticated'
    """
    wide: Counter[Subject] = Counter()
    local: Counter[Subject] = Counter()
    for binding in all_bindings(snapshot):
        (local if binding.namespace else wide).update(set(map(normalize_subject, binding.subjects)))
    captured = SERVICE_ACCOUNTS in snapshot.captured()
    accounts = {
        Subject(SERVICE_ACCOUNT, name_of(obj), namespace_of(obj))
        for obj in captured_objects(snapshot, SERVICE_ACCOUNTS)
    }
    rows = []
    for subject in sorted(accounts | wide.keys() | local.keys()):
        exists = subject in accounts if captured and subject.kind == SERVICE_ACCOUNT else None
        rows.append((text_of(subject), exists, wide[subject] + local[subject], wide[subject]))
    return table(rows, SUBJECT_COLUMNS)


@about_access()
def bindings(snapshot: Snapshot) -> pd.DataFrame:
    """The bindings with their subjects and roles.

    Returns
    -------
    DataFrame
        One row per binding and subject: binding_kind, namespace (empty: cluster-wide), binding, role_kind, role,
        role_exists, subject. A binding without subjects has one row whose subject is empty.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.bindings().query("binding == 'cluster-admin'")["subject"].tolist()
    ['group:system:masters']
    """
    known = {key for key, _ in all_roles(snapshot)}
    rows = []
    for binding in all_bindings(snapshot):
        key, role = binding.key, binding.role
        start = (kind_of(key), key.namespace, key.name, kind_of(role), role.name, role in known)
        named = [text_of(normalize_subject(subject)) for subject in binding.subjects] or [""]
        rows += [(*start, subject) for subject in named]
    return table(rows, BINDING_COLUMNS)


def roles(snapshot: Snapshot) -> pd.DataFrame:
    """All roles.

    Returns
    -------
    DataFrame
        One row per role: role_kind, namespace, role, rules (their number), aggregated (its rules are collected from
        other roles), bootstrap (it carries the label of the server's own defaults), bindings (how many name it).

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.roles().query("role == 'view'")["aggregated"].tolist()
    [True]
    """
    used: Counter[Key] = Counter(binding.role for binding in all_bindings(snapshot))
    rows = []
    for key, role in all_roles(snapshot):
        bootstrap = labels_of(role).get(BOOTSTRAP_LABEL) == BOOTSTRAP_VALUE
        aggregated = bool(role.get("aggregationRule"))
        count = len(role.get("rules") or ())
        rows.append((kind_of(key), key.namespace, key.name, count, aggregated, bootstrap, used[key]))
    return table(rows, ROLE_COLUMNS)


def rules(snapshot: Snapshot) -> pd.DataFrame:
    """All rules of all roles.

    Returns
    -------
    DataFrame
        One row per rule: role_kind, namespace, role, rule (its index in the role), and verbs, api_groups, resources,
        resource_names and urls as tuples of strings.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.rules().query("role == 'cluster-admin'")["verbs"].tolist()
    [('*',), ('*',)]
    """
    rows = []
    for key, role in all_roles(snapshot):
        start = (kind_of(key), key.namespace, key.name)
        for index, rule in enumerate(rules_of(role)):
            named = (rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.paths)
            rows.append((*start, index, *named))
    return table(rows, RULE_COLUMNS)


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
