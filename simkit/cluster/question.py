"""Free functions of ``simkit.analysis`` as methods of a cluster, and what these need of it."""

from __future__ import annotations

import functools
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from importlib import import_module
from types import MethodType
from typing import Any, Final

from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.wrong_names import by_word, with_explained_calls
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump


class Question:
    """A method that asks a free function, with its signature and docstring. The function is imported when it is needed.

    Parameters
    ----------
    module
        The module of the function below ``simkit.analysis``. The function has the name of the method.
    snapshot
        The parameter that is the snapshot of the cluster; empty for none.
    cluster
        The parameter that is the cluster itself; empty for none.
    compares
        Whether the function compares the cluster with its parameter ``before``, which a trial knows by itself.
    """

    def __init__(self, module: str, *, snapshot: str = "snapshot", cluster: str = "", compares: bool = False) -> None:
        self.module, self.snapshot, self.cluster, self.compares = module, snapshot, cluster, compares
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: AnalysedCluster | None, owner: type) -> Callable[..., Any]:
        """The function of the class, or the method of a cluster."""
        return self.method if instance is None else MethodType(self.method, instance)

    @property
    def given(self) -> frozenset[str]:
        """The parameters of the function that the cluster gives."""
        return frozenset({self.snapshot, self.cluster} - {""})

    @functools.cached_property
    def method(self) -> Callable[..., Any]:
        """The function whose first parameter is the cluster."""
        asked: Callable[..., Any] = getattr(import_module(f"simkit.analysis.{self.module}"), self.name)

        @functools.wraps(asked)
        def method(cluster: AnalysedCluster, /, *arguments: Any, **named: Any) -> Any:
            if len(arguments) > len(own) and not takes_several:
                signature.bind(cluster, *arguments, **named)  # tells what is wrong with them
            if self.compares:
                origin = getattr(cluster, "before", None)  # of a trial, which compares what its changes lead to
                if origin is not None:
                    cluster.settle()
                named["before"] = named.get("before") or origin
                if named["before"] is None:
                    raise SimkitError("say what to compare with, before=..., or ask a trial: cluster.what_if()")
            given: dict[str, Any] = {self.snapshot: cluster.snapshot()} if self.snapshot else {}
            given |= {self.cluster: cluster} if self.cluster else {}
            if takes_several:
                return asked(*given.values(), *arguments, **named)
            return asked(**given, **dict(zip(own, arguments, strict=False)), **named)

        signature = _signature(asked, self.given, compares=self.compares)
        takes_several = any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
        own = [
            each.name
            for each in signature.parameters.values()
            if each.kind is each.POSITIONAL_OR_KEYWORD and each.name != "self"
        ]
        method.__signature__ = signature  # type: ignore[attr-defined]
        method.__doc__ = without_parameters(inspect.getdoc(asked) or "", self.given)
        method.__qualname__ = f"Cluster.{self.name}"
        del method.__wrapped__
        return with_explained_calls(method, ARGUMENTS)


def _signature(asked: Callable[..., Any], given: Collection[str], *, compares: bool) -> inspect.Signature:
    """The signature of the method: without what the cluster gives, with ``self``, and ``before`` by name only."""
    whole = inspect.signature(asked)
    left = [
        each.replace(kind=each.KEYWORD_ONLY, default=None) if compares and each.name == "before" else each
        for each in whole.parameters.values()
        if each.name not in given
    ]
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return whole.replace(parameters=[first, *sorted(left, key=lambda each: each.kind)])


def without_parameters(text: str, given: Collection[str]) -> str:
    """A docstring without the parameters that are given.

    Examples
    --------
    >>> without_parameters("Says.\\n\\nParameters\\n----------\\na, b\\n    Both.\\nc\\n    One.", {"a", "c"})
    'Says.\\n\\nParameters\\n----------\\nb\\n    Both.'
    """
    head, heading, rest = text.partition("Parameters\n----------\n")
    if not heading:
        return text
    parameters, gap, tail = rest.partition("\n\n")
    kept = []
    for entry in re.split(r"\n(?=\S)", parameters):
        names, _, told = entry.partition("\n")
        left = [name for name in names.split(", ") if name not in given]
        kept += [f"{', '.join(left)}\n{told}"] if left else []
    return f"{head}{heading}{chr(10).join(kept)}{gap}{tail}" if kept else f"{head}{tail}".rstrip()


# Names that people guess who know kubectl, pandas and networkx, and what simkit calls the same.

METHODS: Final = by_word({
    "help": "help(cluster), or dir(cluster) for the names",
    "what_can rules_of": "permissions(subject)",
    "can_i": "can(subject, verb, resource)",
    "grants": "bindings(), or permissions(subject)",
    "holders": "bindings(), which has the columns role and subject",
    "cluster_admins": "who_can('*', '*'), or bindings().query(\"role == 'cluster-admin'\")",
    "anonymous anonymous_access": "permissions('system:anonymous')",
    "graph": "access_graph(namespace=...), which simkit.analysis.plots.subjects_by_role draws, or "
    "escalations(...).to_networkx()",
    "to_networkx": "access_graph(), or escalations(...).to_networkx()",
    "escalation_graph": "escalations(...).to_networkx()",
    "paths": "escalations(subject, goal)",
    "paths_to": "escalations(goal=...)",
    "report": "audit().to_html(path); the command simkit audit --html writes one with causes, plan and proofs",
    "upgrade": "upgrade_report('1.36')",
    "namespaces pods secrets nodes deployments": "list(KIND), such as list('pods')",
    "kubectl": "serve() for kubectl, or %kubectl in a notebook after %load_ext simkit",
    "stale stale_bindings unused_bindings unused_roles": "audit(checks='stale')",
    "without remove_subject": "what_if(), and on it remove_subject('user:alice')",
    "remove": "what_if(), and on it remove_subject('user:alice') or delete(kind, name)",
    "shortest_path": "escalations(subject, goal)[0]",
    "prove": "escalations(...)[0].prove()",
    "diff": "compare(before=...)",
    "lost": "compare(), whose rows say what is lost",
    "copy": "fork(), or what_if()",
    "impact effect_of_removing": "what_if(), whose compare() and compare_paths() tell the effect of a change",
    "removed removals removed_in deprecated deprecations": "removal_report('1.32')",
    "since since_when changes who_granted": "simkit.history(dump, audit_log=...).METHOD(...)",
    "unused unused_permissions": "unused_grants(cluster.usage(audit_log))",
    "plot": "exposure().plot(), escalations().plot(), findings().plot() or causes().plot()",
    "plot_access": "exposure().plot(), or access_matrix(...).plot()",
    "plot_bindings": "simkit.analysis.plots.subjects_by_role(cluster.access_graph())",
    "heatmap": "exposure().plot()",
    "access matrix": "access_matrix()",
    "check_expectations expect": "check(file)",
    "patch": "apply(manifest), or perform(Request.of('PATCH', path, patch))",
    "update replace": "apply(manifest)",
    "from_dump": "simkit.load(path)",
    "save": "the command simkit save",
})  # fmt: skip
"""Methods of a cluster."""

ARGUMENTS: Final = by_word({
    "ns": "namespace",
    "all_namespaces": "leave namespace out for any namespace, or write namespace='*' for the whole cluster",
    "shortest": "the first path is the shortest",
    "to target": "goal",
    "source sources user who principal": "subject",
    "min_severity level": "severity",
    "group": "groups|subject='group:VALUE'",
    "log": "audit_log",
    "best": "the best changes in order are remediation_plan(best=5)",
    "stale": "write checks='stale'",
    "exclude": "leave the subject out: with cluster.what_if() as trial, then trial.remove_subject(...)",
    "dry_run": "try it on a fork: with cluster.what_if() as trial",
    "delete": "change the fork: with cluster.what_if() as trial, then trial.delete(...)",
    "what_if()": "trial = cluster.what_if(), then trial.delete(kind, name) or trial.apply(manifest)",
    "history()": "history(kind, name) for one object, or simkit.history(dump, audit_log=...) for access",
})  # fmt: skip
"""Arguments of methods of a cluster."""


class AnalysedCluster(ABC):
    """What the methods of a cluster need of it."""

    dump: Dump | None
    """The dump that the objects came from, in their original versions; or None."""

    @property
    @abstractmethod
    def release(self) -> str:
        """The release that it behaves as."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The objects as they are now."""

    @abstractmethod
    def settle(self) -> int:
        """Let the controllers do what there is to do."""

    @abstractmethod
    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request."""
