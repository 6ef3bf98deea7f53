"""Panels answer through their traits, try changes on forks, and send a browser no more than a page."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pandas as pd
import pytest

import simkit
from simkit.notebook import Panel, WhatIfPanel, panel, what_if_panel
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


def test_the_limits_of_an_answer_stand_above_it() -> None:
    """A managed cluster grants access elsewhere, which the panel says with and without a kernel."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"eks.amazonaws.com/nodegroup": "a"}},
    }
    pages = Pages(simkit.load([*READERS, node], captured=["*"]).who_can("get", "secrets"))
    [note] = pages.notes
    assert note.startswith("Lower bound:")
    assert note in pages.static_html()


def test_ten_thousand_rows_stay_a_page() -> None:
    """Of many rows only a page is sent; pages turn, the last one is short, and the filter goes over all rows."""
    pages = Pages(pd.DataFrame({"number": range(10_010), "text": [f"<row {number}>" for number in range(10_010)]}))
    assert len(pages.cells) == PAGE
    assert pages.cells[0] == [{"text": "0", "number": True}, {"text": "<row 0>"}]
    pages.page = 2
    assert pages.cells[0][1] == {"text": f"<row {PAGE}>"}
    pages.page = 999
    assert pages.page == pages.pages
    assert len(pages.cells) == 10_010 % PAGE
    pages.filter = "ROW 1000"
    assert pages.rows["number"].tolist() == [1000, *range(10_000, 10_010)]
    assert pages.page == pages.pages == 1
    pages.filter = "nothing like it"
    assert pages.cells == []
    assert pages.static_html() == "<p><i>No row holds these words.</i></p>"


def test_rows_are_sorted_and_chosen() -> None:
    """Numbers by size, texts as they are read, in both directions; the chosen row is the shown one."""
    pages = Pages(pd.DataFrame({"number": [3, 20, 100], "text": ["b", "<c>", "a"]}), page=2)
    told: list[dict[str, object]] = []
    pages.on_choose(told.append)
    pages.sort = "-number"
    assert pages.rows["number"].tolist() == [100, 20, 3]
    pages.choose(2)
    assert (pages.page, pages.row) == (2, {"number": 3, "text": "b"})
    pages.sort = "text"
    assert pages.row is None
    assert pages.rows["text"].tolist() == ["<c>", "a", "b"]
    assert told == [{"number": 3, "text": "b"}]
    assert "&lt;c&gt;" in pages.static_html()
    assert "2 of 3 rows" in pages.static_html()


def test_rows_that_arrive_wait_until_the_filter_is_done() -> None:
    """A table is filtered in one thread, its rows come from another: no row is looked up in the rows of before."""
    arrival = threading.Thread(target=lambda: pages.show(pd.DataFrame({"text": ["x"] * 9})))
    matching: list[int] = []

    class Interrupted:
        """A value that is written while other rows arrive."""

        def __str__(self) -> str:
            if pages.filter and not arrival.ident:
                arrival.start()
                arrival.join(0.2)
            return "x"

    pages = Pages()
    pages.show(pd.DataFrame({"text": [Interrupted(), "y"]}))
    pages.observe(lambda change: matching.append(change["new"]), "matching")
    pages.filter = "x"
    arrival.join()
    assert matching == [1, 9], "the filter is done with the rows that were there, then the others come"


def test_rows_that_are_looked_for_are_not_told_to_be_none() -> None:
    """Until they are there, the table waits."""
    pages = Pages(pd.DataFrame({"text": ["a"] * 60}), page=50)
    pages.page = 2
    assert pages.first == 50
    pages.clear()
    assert (pages.waits, len(pages.rows), pages.first) == (True, 0, 0)
    pages.show(pd.DataFrame())
    assert not pages.waits


def test_cells_of_any_length_take_bounded_room() -> None:
    """Their end is shown, since it is what tells names apart, and how much is left out."""
    [[shown]] = Pages(pd.DataFrame({"a": ["x" * 1_000_000 + "end"]})).cells
    assert len(shown["text"]) < 12_000
    assert "990,003 letters" in shown["text"]
    assert shown["text"].endswith("xend")


def test_the_panel_answers_who_can(shown: Panel) -> None:
    """The answer is that of who_can; a mistake is told, and the next question clears it."""
    shown.resource.value = "secretz"
    asked(shown)
    assert "secretz" in shown.work.told.value
    for word in ("secrets", "pods/log"):
        shown.resource.value = word
        asked(shown)
        assert shown.work.told.value == ""
        assert set(shown.answer.rows["subject"]) == {"user:ann", "group:system:masters"}
    assert shown.namespace.options == ("dev",)
    shown.answer.choose(shown.answer.rows["subject"].tolist().index("user:ann"))
    assert "ClusterRoleBinding b grants ClusterRole r, rule 0" in shown.rule.value
    assert "- pods/log" in shown.rule.value
    shown.resource.value = "/metrics"
    asked(shown)
    assert set(shown.answer.rows["subject"]) == {"group:system:masters"}


def test_who_needs_no_rule_is_told_in_words(shown: Panel) -> None:
    """The table says that there is no rule, and the sentence below it why; the values stay numbers."""
    shown.resource.value = "secrets"
    asked(shown)
    place = shown.answer.rows["subject"].tolist().index("group:system:masters")
    assert shown.answer.rows["rule"].tolist()[place] == -1
    assert {"text": "(no rule)"} in shown.answer.cells[place]
    shown.answer.choose(place)
    assert "system:masters can do anything" in shown.rule.value
    for told in (shown.answer.static_html(), repr(shown.answer.rows)):
        assert "(no rule)" in told
        assert "-1" not in told


def test_a_wrong_word_leaves_no_answer_to_another_question(shown: Panel) -> None:
    """The rows of the question before are gone, and the line says what may be meant."""
    for word in ("secrets", "secretz"):
        shown.resource.value = word
        shown.ask.click()
        shown.wait()
    assert "did you mean &#x27;secret" in shown.work.told.value
    assert len(shown.answer.rows) == 0
    assert shown.answer.empty == "No answer."


def test_a_namespace_that_is_not_there_is_doubted(shown: Panel) -> None:
    """The answer is that of bindings for all namespaces, and the line says so."""
    shown.resource.value, shown.namespace.value = "secrets", "dve"
    shown.ask.click()
    shown.wait()
    assert "there is no namespace &#x27;dve&#x27;; did you mean &#x27;dev&#x27;?" in shown.work.told.value
    assert len(shown.answer.rows) > 0


def test_enter_in_a_field_asks(shown: Panel) -> None:
    """As the button does; what else a field tells asks nothing."""
    shown.resource.value = "seecrets"
    shown.resource._handle_custom_msg({"event": "other"}, [])
    shown.wait()
    assert len(shown.answer.rows)
    shown.resource._handle_custom_msg({"event": "enter"}, [])
    shown.wait()
    assert not len(shown.answer.rows)


def asked(shown: Panel) -> None:
    """Ask, and wait for the answer."""
    shown.ask.click()
    shown.wait()


@pytest.fixture
def trying(cluster: simkit.Cluster) -> Iterator[WhatIfPanel]:
    """A panel of changes to it, closed afterwards."""
    made = what_if_panel(cluster)
    yield made
    made.close()


def test_changes_are_tried_on_forks(cluster: simkit.Cluster, trying: WhatIfPanel) -> None:
    """Access gained and lost is shown, steps add up and can be taken back, and the cluster stays as it was."""
    before = cluster.engine.store.revision
    trying.changes.manifests.value = EVE
    trying.changes.attempt.click()
    trying.wait()
    assert set(trying.effect.rows["subject"]) == {"user:eve"}
    assert "2 permissions gained" in trying.work.told.value
    trying.changes.binding.value = "ClusterRoleBinding b"
    trying.changes.remove.click()
    trying.wait()
    assert set(trying.effect.rows["change"]) == {"gained", "lost"}
    assert "delete ClusterRoleBinding b" in trying.changes.steps.value
    trying.changes.undo.click()
    trying.wait()
    assert set(trying.effect.rows["change"]) == {"gained"}
    trying.changes.clear.click()
    trying.wait()
    assert len(trying.effect.rows) == 0
    assert trying.changes.undo.disabled
    assert cluster.engine.store.revision == before


def test_changes_are_handed_on_as_a_plan(trying: WhatIfPanel) -> None:
    """The panel's plan is that of its changes, and the commands hold the same; nothing is left of what was undone."""
    assert not trying.plan()
    trying.trying.apply(EVE)
    trying.trying.without("ClusterRoleBinding b")
    made = {one.title: one.action for one in trying.plan().objects}
    assert made["ClusterRoleBinding b"] == "delete"
    assert "create" in made.values()
    commands = trying.trying.as_commands()
    assert commands.startswith("kubectl delete clusterrolebinding b\n")
    assert "eve" in commands.partition("kubectl apply")[2]
    trying.sections.chosen = "Plan"
    trying.wait()
    assert "ClusterRoleBinding b" in trying.as_plan.value
    assert "kubectl delete clusterrolebinding b" in trying.as_plan.value
    trying.trying.undo()
    assert "delete" not in trying.trying.as_commands()
    assert "ClusterRoleBinding b" not in {one.title for one in trying.plan().objects}


@pytest.mark.parametrize(
    ("manifests", "binding", "told"),
    [
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: 'A b', namespace: dev}}", "", "Invalid value"),
        ("", "", "no manifest"),
        ("", "RoleBinding b", "is no binding"),
        ("", "ClusterRoleBinding gone", "not found"),
    ],
)
def test_refusals_are_told(trying: WhatIfPanel, manifests: str, binding: str, told: str) -> None:
    """A change that cannot be tried is reported in the panel, and is not applied."""
    trying.changes.manifests.value, trying.changes.binding.value = manifests, binding
    (trying.changes.remove if binding else trying.changes.attempt).click()
    trying.wait()
    assert told in trying.work.told.value
    assert trying.trying.steps == ()


def test_widgets_come_when_they_are_asked_for() -> None:
    """Importing the package of notebooks imports no widgets."""
    heavy = ("ipywidgets", "anywidget", "pandas")
    code = f"import sys, simkit.notebook; assert not [name for name in {heavy} if name in sys.modules]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
