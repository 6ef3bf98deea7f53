"""Everything that questions, changes and requests give back shows itself as HTML in a notebook, escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import simkit
from simkit import Request, analysis
from tests.analysis.worlds import account, binding, namespace, role, rule

HOSTILE = "<img src=x>"
WORLD = [
    *(namespace("dev"), account("dev", "app")),
    role("admin", rule("*", "*", groups="*")),
    binding("admins", "admin", "sa:dev/app"),
    role("tokens", rule("create", "serviceaccounts/token")),
    binding("tokens", "tokens", f"user:{HOSTILE}"),
]
ASKED: dict[str, Callable[[simkit.Cluster], Any]] = {
    "cluster": lambda cluster: cluster,
    "trial": simkit.Trial.on,
    "who_can": lambda cluster: cluster.who_can("create", "serviceaccounts/token"),
    "can": lambda cluster: cluster.can(f"user:{HOSTILE}", "delete", "pods"),
    "permissions": lambda cluster: cluster.permissions(f"user:{HOSTILE}"),
    "compare": lambda cluster: cluster.compare(before=simkit.Cluster(seed=1)),
    "subjects": lambda cluster: cluster.subjects(),
    "findings": lambda cluster: cluster.findings(),
    "audit": lambda cluster: cluster.audit(),
    "escalations": lambda cluster: cluster.escalations(goal="cluster-admin"),
    "path": lambda cluster: cluster.escalations(f"user:{HOSTILE}", goal="cluster-admin")[0],
    "proof": lambda cluster: cluster.escalations(f"user:{HOSTILE}", goal="cluster-admin")[0].prove(),
    "proofs": lambda cluster: cluster.escalations(f"user:{HOSTILE}", goal="cluster-admin").prove(),
    "cut": lambda cluster: cluster.cut("cluster-admin"),
    "blast_radius": lambda cluster: cluster.blast_radius(f"user:{HOSTILE}"),
    "causes": lambda cluster: cluster.causes(),
    "plan": lambda cluster: cluster.plan(),
    "access_matrix": lambda cluster: cluster.access_matrix(),
    "timeline": lambda _: analysis.timeline(["batch"]),
    "upgrade_report": lambda cluster: cluster.upgrade_report("1.33"),
    "removal_report": lambda cluster: cluster.removal_report(release="1.33"),
    "cel": lambda _: simkit.cel("self == 1", self=2),
    "admit": lambda cluster: cluster.admit({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    "history": lambda cluster: cluster.history("namespace", "dev"),
    "trace_request": lambda cluster: cluster.trace_request(Request.of("GET", f"/api/v1/namespaces/{HOSTILE}/pods")),
}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with a subject whose name is markup."""
    return simkit.load(WORLD, captured=["*"])


RESULTS = [
    each
    for name in analysis.__all__
    if isinstance(each := getattr(analysis, name), type) and issubclass(each, analysis.Result)
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.__name__)
def test_every_result_has_html(result: type) -> None:
    """Each public type of a result can be shown."""
    assert hasattr(result, "_repr_html_")


@pytest.mark.parametrize("name", ASKED)
def test_it_shows_itself_as_html(cluster: simkit.Cluster, name: str) -> None:
    """There is HTML, and no name in it becomes markup."""
    html = ASKED[name](cluster)._repr_html_()
    assert html
    assert HOSTILE not in html
