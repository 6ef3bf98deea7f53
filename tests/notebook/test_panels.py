"""Changes, proofs, requests and releases in panels, through their traits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import simkit
from simkit.notebook import explore, inspect_request, panel, path_graph, what_if_panel
from simkit.notebook.sections import PanelBox
from tests.analysis.worlds import account, binding, namespace, role, rule

WORLD = [
    *(namespace("dev"), account("dev", "app")),
    role("r", rule("get", "secrets")),
    binding("readers", "r", "user:ann", namespace="dev"),
    role("admin", rule("*", "*", groups="*")),
    binding("admins", "admin", "sa:dev/app"),
    role("tokens", rule("create", "serviceaccounts/token")),
    binding("tokens", "tokens", "user:eve"),
]


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster in which eve can issue herself a token of an administrator."""
    return simkit.load(WORLD, captured=["*"])


def test_a_binding_is_taken_away_and_given_back(cluster: simkit.Cluster) -> None:
    """Enter on a binding removes it from the list and tells who lost what; paths are compared on demand."""
    shown = what_if_panel(cluster)
    shown.wait()
    names = shown.bindings.rows["binding"].tolist()
    assert sorted(names) == ["admins", "readers", "tokens"]
    shown.bindings.choose(names.index("tokens"))
    assert shown.changes.binding.value == "ClusterRoleBinding tokens"
    shown.bindings.activated += 1
    shown.wait()
    assert shown.effect.rows[["change", "subject", "verbs", "resources"]].values.tolist() == [
        ["lost", "user:eve", ("create",), ("serviceaccounts/token",)],
    ]
    assert "tokens" not in shown.bindings.rows["binding"].tolist()
    assert "user:eve" in shown.paths.rows.query("change == 'closed'")["subject"].tolist()
    shown.changes.undo.click()
    shown.wait()
    assert sorted(shown.bindings.rows["binding"]) == sorted(names)
    assert len(shown.effect.rows) == 0


def test_bindings_that_are_not_in_the_dump_are_told() -> None:
    """The panel does not wait for what it cannot find out."""
    shown = what_if_panel(simkit.load([namespace("dev")]))
    shown.wait()
    assert "simkit dump" in shown.work.told.value
    assert not shown.bindings.waits
    assert shown.bindings.empty == "No answer."


def test_a_path_of_the_graph_is_proven(cluster: simkit.Cluster) -> None:
    """The browser asks for a proof; the path is executed on a fork, and the requests come back."""
    before = cluster.engine.store.revision
    shown = path_graph(cluster, "user:eve")
    shown.wait()
    assert [shown.view.graph["nodes"][number][0] for number in shown.view.graph["starts"]] == ["user:eve"]
    told: list[dict[str, Any]] = []
    shown.view.send = told.append  # what goes to the browser
    shown.view._handle_custom_msg({"prove": [0, "cluster-admin"]}, [])
    shown.wait()
    assert told[0]["proof"]["verdict"].startswith("proven")
    assert told[0]["proof"]["requests"]
    assert cluster.engine.store.revision == before


@pytest.mark.parametrize("show", [panel, what_if_panel, path_graph, inspect_request, explore])
def test_a_panel_is_one_widget(cluster: simkit.Cluster, show: Callable[[simkit.Cluster], PanelBox]) -> None:
    """marimo shows single widgets, in a shadow root of its own, where the colours have to be defined too."""
    shown = show(cluster)
    shown.wait()
    assert ":root, :host {--sk-ink" in str(shown._css)
    assert {part._model_name for part in shown.children} == {"WidgetModel"}


def test_a_plan_for_other_goals_is_told(cluster: simkit.Cluster) -> None:
    """Its paths cannot be drawn among those to one goal; among all of them they are."""
    plan = cluster.remediation_plan(best=1)
    wrong = path_graph(cluster, goal="cluster-admin", plan=plan)
    wrong.wait()
    assert "the plan is for other goals: " in wrong.work.told.value
    shown = path_graph(cluster, plan=plan)
    shown.wait()
    assert len(shown.view.graph["plan"][0][1]) == plan[0].closes


def test_a_goal_that_nobody_knows_is_told(cluster: simkit.Cluster) -> None:
    """A mistake stands in the panel."""
    shown = path_graph(cluster, goal="world peace")
    shown.wait()
    assert "world peace" in shown.work.told.value


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("user:nobody", "no binding names user:nobody"),
        ("user:anne", "no binding names user:anne; did you mean user:ann?"),
        ("group:devs", "no binding names group:devs"),
        ("sa:dev/ap", "there is no service account sa:dev/ap; did you mean sa:dev/app?"),
        ("user:eve", ""),
        ("group:system:authenticated", ""),
        ("sa:dev/app", ""),
    ],
)
def test_a_subject_that_nothing_names_is_doubted(cluster: simkit.Cluster, subject: str, told: str) -> None:
    """The answer is there, and the line says that no binding names whom somebody typed, with who may be meant."""
    shown = path_graph(cluster, subject)
    shown.wait()
    assert re.sub("<.*?>", "", shown.work.told.value) == told


def test_a_subject_of_a_request_that_nothing_names_is_doubted(cluster: simkit.Cluster) -> None:
    """The request is sent all the same; without roles and bindings nobody is doubted."""
    for source, told in ((cluster, "no binding names user:nobody"), (simkit.load([namespace("dev")]), "")):
        shown = inspect_request(source)
        shown.wait()
        shown.subject.value = "user:nobody"
        shown.run.click()
        shown.wait()
        assert ">403<" in shown.answer.value
        assert re.sub("<.*?>", "", shown.work.told.value) == told


def test_a_request_is_inspected(cluster: simkit.Cluster) -> None:
    """The stage that refused is chosen at once; details show changed fields as YAML; the cluster stays as it is."""
    shown = inspect_request(cluster)
    shown.wait()
    shown.subject.value, shown.path.value = "user:ann", "/api/v1/namespaces/dev/pods"
    shown.run.click()
    shown.wait()
    assert "refused at authorization" in shown.answer.value
    assert "authorization" in shown.detail.value
    shown.subject.value, shown.method.value = "", "POST"
    shown.body.value = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"
    shown.path.value = "/api/v1/namespaces/dev/configmaps"
    shown.run.click()
    shown.wait()
    assert ">201<" in shown.answer.value
    shown.steps.choose(shown.steps.rows["outcome"].tolist().index("changed"))
    assert "metadata.uid:\n  +" in shown.detail.value
    assert [each["metadata"]["name"] for each in cluster.list("configmaps", "dev")] == []


@pytest.mark.parametrize("body", ["a: b: c", "{", "- : ["])
def test_a_body_that_cannot_be_read_is_told(cluster: simkit.Cluster, body: str) -> None:
    """A mistake stands in the panel, and nothing is sent."""
    shown = inspect_request(cluster)
    shown.method.value, shown.body.value = " post", body  # as somebody types it
    shown.run.click()
    shown.wait()
    assert "the body is no YAML: line " in shown.work.told.value
    assert shown.traced is None


def test_panels_open_with_an_answer(cluster: simkit.Cluster) -> None:
    """A sensible first question is answered before anybody asks."""
    asked, inspected, graph = panel(cluster), inspect_request(cluster), path_graph(cluster)
    for shown in (asked, inspected, graph):
        shown.wait()
    assert len(asked.answer.rows)
    assert inspected.steps.rows["stage"].tolist()[-1] == "answer"
    assert "user:eve" in graph.static_html()
