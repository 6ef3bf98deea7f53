"""Everything that questions, changes and requests give back shows itself as HTML in a notebook, escaped."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import simkit
from simkit import Request, analysis
from simkit.analysis import Suite, identity_of
from simkit.meta.attributes import Attributes
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.security.hostile_cluster import assert_visible

HOSTILE = "<img src=x>\u202e\u200b\N{HANGUL FILLER}\x1b[2J"
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
    "plan": lambda cluster: cluster.remediation_plan(),
    "access_matrix": lambda cluster: cluster.access_matrix(),
    "timeline": lambda _: analysis.timeline(["batch"]),
    "upgrade_report": lambda cluster: cluster.upgrade_report("1.33"),
    "removal_report": lambda cluster: cluster.removal_report(release="1.33"),
    "cel": lambda _: simkit.cel("self == 1", self=2),
    "admit": lambda cluster: cluster.admit({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    "history": lambda cluster: cluster.history("namespace", "dev"),
    "perform": lambda cluster: cluster.perform(Request.of("GET", f"/api/v1/namespaces/{HOSTILE}")),
    "perform a watch": lambda cluster: cluster.perform(Request.of("GET", "/api/v1/pods?watch=1&timeoutSeconds=1")),
    "authorize": lambda cluster: cluster.authorize(
        Attributes(identity_of(f"user:{HOSTILE}"), "create", resource="serviceaccounts", subresource="token")
    ),
    "finding": lambda cluster: next(iter(cluster.audit().findings)),
    "cause": lambda cluster: cluster.causes()[0],
    "goal": lambda _: analysis.permission_goal("get", "secrets", namespace="dev"),
    "suite": lambda _: Suite.model_validate(
        {"expectations": [{"name": HOSTILE, "cannot": {"subject": "user:ann", "verb": "get", "resource": "pods"}}]}
    ),
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


HANDED_ON = {
    *("Clock", "ControlPlane", "EgressPolicy", "Engine", "Fault", "RecordedRequests", "Server", "Snapshot"),
    *("Identity", "Request", "Subject", "Rule", "Key", "GroupResource", "AccessRequest", "Check"),
    *("Diagram", "Severity", "Evidence", "GrantSource", "AttackState", "Change", "MigratedFile", "ResultDict"),
}
"""What is handed on to other calls rather than looked at: parts of the server, names, entries of a result. A diagram
shows itself as SVG."""


def _returned() -> Iterator[tuple[str, str]]:
    """Each public method of a cluster and function of analysis, with each name of simkit's in what it gives back."""
    asked = [(f"Cluster.{name}", each) for name, each in inspect.getmembers(simkit.Cluster) if not name.startswith("_")]
    asked += [(name, getattr(analysis, name)) for name in analysis.__all__]
    for name, each in asked:
        call = each.fget if isinstance(each, property) else each
        if inspect.isfunction(call):
            for word in re.findall(r"[A-Z]\w+", str(inspect.signature(call).return_annotation)):
                yield name, word


def _types() -> dict[str, set[type]]:
    """The classes of simkit that its modules hold, by name; few share one."""
    found: dict[str, set[type]] = {}
    for module in [each for name, each in list(sys.modules.items()) if name.startswith("simkit.")]:
        for held in filter(_is_own, vars(module).values()):
            found.setdefault(held.__name__, set()).add(held)
    return found


def _is_own(each: object) -> bool:
    return isinstance(each, type) and each.__module__.startswith("simkit.")


def test_whatever_a_call_gives_back_has_html(cluster: simkit.Cluster) -> None:
    """Of the classes that public calls give back, all that is looked at shows itself."""
    for ask in ASKED.values():  # imports what calls give back
        ask(cluster)
    own = _types()
    mute = {
        (name, word)
        for name, word in _returned()
        if word in own and word not in HANDED_ON and not any(hasattr(each, "_repr_html_") for each in own[word])
    }
    assert mute == set()


@pytest.mark.parametrize("name", ASKED)
def test_it_shows_itself_as_html(cluster: simkit.Cluster, name: str) -> None:
    """There is HTML, no name in it becomes markup, and none turns or hides what stands beside it. Tables are those of
    simkit, whose cells are not Python and keep their distance."""
    html = ASKED[name](cluster)._repr_html_()
    assert html
    assert "<img" not in html
    assert 'class="dataframe"' not in html
    assert_visible(html)


def _shown(result: Any) -> str:
    return re.sub(r"<(style|script).*?</\1>", "", result._repr_html_(), flags=re.DOTALL)


def test_reports_without_rows_say_so_in_words() -> None:
    """No heads of an empty table stand there, no angle brackets, and no number of nothing."""
    empty = simkit.Cluster(seed=1)
    report = empty.upgrade_report("1.31")
    assert _shown(report) == (
        "<p><b>1.30 -&gt; 1.31: nothing breaks; callers are not known without an audit log</b></p>"
    )
    assert "1.30 -&gt; 1.31: no steps; nothing blocks</b>" in _shown(report.plan())
    assert "No rows of" not in _shown(report.plan())
    assert _shown(empty.escalations("user:ann")).startswith("<p><b>no path was found</b></p>")


def test_steps_keep_their_numbers_and_details_stand_below_them(cluster: simkit.Cluster) -> None:
    """A numbered list has no bullets, and what belongs to a step is no step."""
    path = cluster.escalations(f"user:{HOSTILE}", goal="cluster-admin")[0]
    shown = _shown(path)
    assert shown.count("<li>") == len(path.steps)
    assert "list-style:none" in shown
    assert "<div style='padding-left:2em'>by ClusterRoleBinding tokens" in shown


def test_an_operation_has_a_head() -> None:
    """Its name, and whether it came to its end."""
    cluster = simkit.Cluster(seed=1)
    cluster.add_nodes(2)
    assert "<b>drain of node-0: came to its end in " in _shown(cluster.drain_nodes("node-0"))
