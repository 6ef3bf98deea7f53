"""The panel answers through its traits, tries changes on forks, and sends a browser no more than a page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pandas as pd
import pytest

import simkit
from simkit.notebook import Panel, panel
from simkit.notebook.access_panel import OFFERED
from simkit.notebook.pages import PAGE, Pages
from tests.analysis.worlds import binding, namespace, role, rule

READERS = [role("r", rule("get", "secrets,pods/log")), binding("b", "r", "user:ann"), namespace("dev")]
EVE = """
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: eve}, roleRef:
  {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: eve}]}"""


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster in which ann reads secrets, loaded as it is."""
    return simkit.load(READERS, captured=["*"])


@pytest.fixture
def shown(cluster: simkit.Cluster) -> Iterator[Panel]:
    """A panel over it, closed afterwards."""
    made = panel(cluster)
    yield made
    made.close()


def test_ten_thousand_rows_stay_a_page() -> None:
    """Of many rows only a page is rendered; pages turn, the last one is short, and the filter goes over all rows."""
    rows = pd.DataFrame({"number": range(10_010), "text": [f"<row {number}>" for number in range(10_010)]})
    pages = Pages(rows)
    assert pages.shown.value.count("<tr>") == PAGE + 1
    assert "&lt;row 0&gt;" in pages.shown.value
    assert len(pages.shown.value) < 10_000
    pages.next.click()
    assert f"&lt;row {PAGE}&gt;" in pages.shown.value
    pages.page.value = pages.page.max
    pages.next.click()
    assert pages.shown.value.count("<tr>") == 10_010 % PAGE + 1
    pages.filter.value = "ROW 1000"
    assert pages.rows["number"].tolist() == [1000, *range(10_000, 10_010)]
    assert pages.page.value == pages.page.max == 1
    pages.filter.value = "nothing like it"
    assert pages.shown.value == "<p>Nothing.</p>"


def test_cells_of_any_length_take_bounded_room() -> None:
    """Their end is shown, since it is what tells names apart, and how much is left out."""
    shown = Pages(pd.DataFrame({"a": ["x" * 1_000_000 + "end"]})).shown.value
    assert len(shown) < 12_000
    assert "990,003 letters" in shown
    assert "xend</td>" in shown


def test_who_can_is_asked(shown: Panel) -> None:
    """The answer is that of who_can; a mistake is told, and the next question clears it."""
    shown.resource.value = "secretz"
    shown.ask.click()
    assert "secretz" in shown.told.value
    for word in ("secrets", "pods/log"):
        shown.resource.value = word
        shown.ask.click()
        assert shown.told.value == ""
        assert set(shown.answer.rows["subject"]) == {"user:ann", "group:system:masters"}
    assert shown.binding.options == ("ClusterRoleBinding b",)
    assert shown.namespace.options == ("dev",)
    shown.resource.value = "/metrics"
    shown.ask.click()
    assert set(shown.answer.rows["subject"]) == {"group:system:masters"}


def test_changes_are_tried_on_forks(cluster: simkit.Cluster, shown: Panel) -> None:
    """Rows tell what is new and gone, steps add up and can be taken back, and the cluster stays as it was."""
    before = cluster.engine.store.revision
    shown.resource.value = "secrets"
    shown.ask.click()
    shown.manifests.value = EVE
    shown.attempt.click()
    assert shown.answer.rows[["change", "subject"]].values.tolist()[0] == ["new", "user:eve"]
    assert "2 permissions gained, 0 lost" in shown.told.value
    shown.binding.value = shown.binding.options[-1]
    shown.remove.click()
    assert dict(zip(shown.answer.rows["subject"], shown.answer.rows["change"])) == {
        "user:ann": "gone",
        "user:eve": "new",
        "group:system:masters": "",
    }
    assert set(shown.effect.rows["change"]) == {"gained", "lost"}
    assert "without ClusterRoleBinding b" in shown.steps.value
    shown.undo.click()
    assert "gone" not in set(shown.answer.rows["change"])
    shown.clear.click()
    assert "change" not in shown.answer.rows
    assert shown.undo.disabled
    assert cluster.engine.store.revision == before


@pytest.mark.parametrize(
    ("manifests", "binding", "told"),
    [
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: 'A b', namespace: dev}}", "", "Invalid value"),
        ("", "", "no manifest"),
        ("", "RoleBinding b", "is no binding"),
        ("", "ClusterRoleBinding gone", "not found"),
    ],
)
def test_refusals_are_told(shown: Panel, manifests: str, binding: str, told: str) -> None:
    """What cannot be tried is told in the panel, and counts as no change."""
    shown.manifests.value, shown.binding.value = manifests, binding
    (shown.remove if binding else shown.attempt).click()
    assert told in shown.told.value
    assert shown.trying.steps == ()


def test_few_bindings_are_offered() -> None:
    """However many bindings an answer has, the field offers no more than it can list."""
    many = [binding(f"b{number}", "r", "user:ann") for number in range(OFFERED + 20)]
    made = panel(simkit.load([READERS[0], *many], captured=["*"]))
    made.resource.value = "secrets"
    made.ask.click()
    assert len(made.answer.rows) == OFFERED + 21
    assert len(made.binding.options) == OFFERED


def test_widgets_come_when_they_are_asked_for() -> None:
    """Importing the package of notebooks imports no widgets."""
    code = "import sys, simkit.notebook; assert 'ipywidgets' not in sys.modules; assert 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
