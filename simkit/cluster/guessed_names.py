"""Names that people guess who know kubectl, pandas and networkx, and what simkit calls the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from simkit.meta.wrong_names import with_explained_calls

METHODS: Final[Mapping[str, str]] = {
    "help": "help(cluster), or dir(cluster) for the names",
    "what_can": "permissions(subject)",
    "can_i": "can(subject, verb, resource)",
    "rules_of": "permissions(subject)",
    "grants": "bindings(), or permissions(subject)",
    "holders": "bindings(), which has the columns role and subject",
    "cluster_admins": "who_can('*', '*'), or bindings().query(\"role == 'cluster-admin'\")",
    "graph": "access_graph(), or escalations(...).to_networkx()",
    "to_networkx": "access_graph(), or escalations(...).to_networkx()",
    "escalation_graph": "escalations(...).to_networkx()",
    "paths": "escalations(subject, goal)",
    "paths_to": "escalations(goal=...)",
    "report": "audit().to_html(path); the command simkit audit --html writes one with causes, plan and proofs",
    "upgrade": "upgrade_report('1.36')",
    "namespaces": "list('namespaces')",
    "stale": "audit(checks=['unused-role', 'missing-role', ...]), or the command simkit audit --stale",
    "shortest_path": "escalations(subject, goal)[0]",
    "prove": "escalations(...)[0].prove()",
    "diff": "compare(before=...)",
    "copy": "fork(), or what_if()",
    "impact": "what_if(), whose compare() and compare_paths() tell the effect of a change",
    "effect_of_removing": "what_if(), whose compare() and compare_paths() tell the effect of a change",
    "removed": "removal_report('1.32')",
    "removals": "removal_report('1.32')",
    "removed_in": "removal_report('1.32')",
    "deprecated": "removal_report('1.32')",
    "deprecations": "removal_report('1.32')",
    "unused": "unused_grants(cluster.usage(audit_log))",
    "unused_permissions": "unused_grants(cluster.usage(audit_log))",
    "plot": "exposure().plot(), escalations().plot(), findings().plot() or causes().plot()",
    "plot_access": "exposure().plot(), or access_matrix(...).plot()",
    "plot_bindings": "simkit.analysis.plots.binding_graph(cluster.access_graph())",
    "heatmap": "exposure().plot()",
    "access": "access_matrix()",
    "matrix": "access_matrix()",
    "check_expectations": "check(file)",
    "expect": "check(file)",
    "patch": "apply(manifest), or perform(Request.of('PATCH', path, patch))",
    "update": "apply(manifest)",
    "replace": "apply(manifest)",
    "from_dump": "simkit.load(path)",
    "save": "the command simkit save",
}
"""Methods of a cluster."""

ARGUMENTS: Final[Mapping[str, str]] = {
    "ns": "namespace",
    "all_namespaces": "leave namespace out for any namespace, or write namespace='*' for the whole cluster",
    "shortest": "the first path is the shortest",
    "to": "goal",
    "target": "goal",
    "source": "subject",
    "sources": "subject",
    "user": "subject",
    "who": "subject",
    "principal": "subject",
    "min_severity": "severity",
    "level": "severity",
    "group": "groups",
    "log": "audit_log",
    "dry_run": "try it on a fork: with cluster.what_if() as trial",
    "delete": "change the fork: with cluster.what_if() as trial, then trial.delete(...)",
}
"""Arguments of methods of a cluster."""

Class = TypeVar("Class", bound=type)


def explains_wrong_calls(cls: Class) -> Class:
    """The class, whose public methods tell the right arguments where they are called with wrong ones."""
    for name in dir(cls):
        if not name.startswith("_") and _is_method(cls, name):
            setattr(cls, name, with_explained_calls(getattr(cls, name), ARGUMENTS))
    return cls


def _is_method(cls: type, name: str) -> bool:
    """True for a method that is written out; questions explain wrong calls themselves."""
    found = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return isinstance(found, Callable) and not isinstance(found, type | staticmethod | classmethod)  # type: ignore[arg-type]
