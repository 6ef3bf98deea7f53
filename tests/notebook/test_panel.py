"""The panel answers through its traits, and sends a browser no more than a page."""

from __future__ import annotations

import pandas as pd
import pytest

import simkit
from simkit.notebook.panel import PAGE, Pages, WhatIf, WhoCan, panel
from tests.analysis.worlds import binding, role, rule, world


def test_ten_thousand_rows_stay_a_page() -> None:
    """Of many rows only a page is rendered; pages turn, the last one is short, and the filter goes over all rows."""
    rows = pd.DataFrame({"number": range(10_010), "text": [f"<row {number}>" for number in range(10_010)]})
    pages = Pages(rows)
    assert pages.shown.value.count("<tr>") == PAGE + 1
    assert "&lt;row 0&gt;" in pages.shown.value
    assert len(pages.shown.value) < 10_000
    pages.page.value = pages.page.max
    assert pages.shown.value.count("<tr>") == 10_010 % PAGE + 1
    pages.filter.value = "ROW 1000"
    assert pages.rows["number"].tolist() == [1000, *range(10_000, 10_010)]
    assert pages.page.value == pages.page.max == 1
    pages.filter.value = "nothing like it"
    assert pages.shown.value == "<p>Nothing.</p>"


def test_long_cells_are_cut() -> None:
    """A cell of any length takes little room."""
    assert len(Pages(pd.DataFrame({"a": ["x" * 100_000]})).shown.value) < 500


def test_who_can_is_asked() -> None:
    """The answer is that of who_can; a mistake is told, and the next question clears it."""
    asked = WhoCan(world(role("r", rule("get", "secrets,pods/log")), binding("b", "r", "user:ann")))
    asked.resource.value = "secretz"
    asked.ask.click()
    assert "secretz" in asked.told.value
    for word in ("secrets", "pods/log"):
        asked.resource.value = word
        asked.ask.click()
        assert asked.told.value == ""
        assert set(asked.answer.rows["subject"]) == {"ann", "system:masters"}


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A fresh cluster."""
    return simkit.Cluster(seed=1)


def test_what_if_is_tried_on_a_fork(cluster: simkit.Cluster) -> None:
    """What a binding would bring is shown, the cluster stays as it was, and refusals are told."""
    before = cluster.engine.store.revision
    tried = WhatIf(cluster)
    tried.manifests.value = """
    {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: eve}, roleRef:
      {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, name: eve}]}"""
    tried.attempt.click()
    assert set(tried.answer.rows["subject"]) == {"eve"}
    assert "permissions gained, 0 lost" in tried.told.value
    assert cluster.engine.store.revision == before
    tried.manifests.value = "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'A b'}}"
    tried.attempt.click()
    assert "Invalid value" in tried.told.value
    assert len(tried.answer.rows) == 0


def test_both_are_in_one_panel(cluster: simkit.Cluster) -> None:
    """The panel has a tab for each question."""
    made = panel(cluster)
    assert made.titles == ("Who can?", "What if?")
    assert [type(child) for child in made.children] == [WhoCan, WhatIf]
