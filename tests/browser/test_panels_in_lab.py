"""The panels are used by keyboard in JupyterLab and in Notebook 7, and a saved notebook keeps what they show.

One notebook has all panels, and one page shows it: starting servers, pages and kernels takes longer than the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Lab
from tests.browser.notebooks import run_cells
from tests.shared import SHARED

pytestmark = pytest.mark.slow

DUMP = SHARED / "datasets" / "operators-and-teams.json.gz"
"""A dump of 2,920 objects; the cluster that comes with simkit where it is absent."""
SETUP = f"""
import simkit
from simkit.notebook import *
cluster = simkit.load({str(DUMP)!r}) if {DUMP.exists()} else simkit.demo()
"""
MANY_ROWS = """
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "readers"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}

def bound(name, subjects):
    return {"apiVersion": ROLE["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers"},
            "subjects": [{"kind": "User", "name": each, "apiGroup": "rbac.authorization.k8s.io"} for each in subjects]}

many = bound("many", [f"person-{number:05}" for number in range(10_000)])
panel(simkit.load([ROLE, many, bound("one", ["zoe"])], captured=["*"]))
"""
CELLS = {
    "explore": f"{SETUP}explore(cluster)",
    "requests": "inspect_request(cluster)",
    "what if": "what_if_panel(cluster)",
    "graph": "path_graph(cluster)",
    "access": MANY_ROWS,
}
"""The cells of the notebook by what their panel shows."""
NAME = "panels.ipynb"


@pytest.fixture(scope="module")
def shown(lab: Lab, context: BrowserContext) -> Iterator[Page]:
    """The page with the notebook, its cells sent to the kernel."""
    page = context.new_page()
    run_cells(lab, page, NAME, list(CELLS.values()))
    yield page
    page.close()


def _panel(page: Page, name: str) -> Locator:
    """The panel of a cell."""
    return page.locator(".jp-Notebook .jp-CodeCell").nth(list(CELLS).index(name)).locator(".sk-panel")


def _rows(panel: Locator, grid: str) -> Locator:
    return panel.get_by_role("grid", name=grid).locator("tbody tr")


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_a_cluster_is_explored_by_keyboard(shown: Page) -> None:
    """Arrows go through kinds and pages of objects, Enter follows an owner."""
    panel = _panel(shown, "explore")
    kinds, objects = _rows(panel, "kinds"), _rows(panel, "objects: pods")
    pods = kinds.filter(has=shown.get_by_role("gridcell", name="pods", exact=True)).first
    kinds.nth(int(pods.evaluate("row => row.sectionRowIndex")) - 1).click()
    shown.keyboard.press("ArrowDown")
    expect(objects).to_have_count(50)
    objects.first.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    second = _focused(shown)
    name = panel.locator(".sk-rows tr:focus td").nth(1).inner_text()
    expect(panel.locator(f"b:has-text('Pod {name}')")).to_be_visible()
    shown.keyboard.press("PageDown")
    expect(
        panel.get_by_text("of 4; ").or_(panel.get_by_text("of 2; ")).or_(panel.get_by_text("of 3; "))
    ).to_be_visible()
    expect(objects.first).not_to_contain_text(second[:30])
    shown.keyboard.press("PageUp")
    panel.get_by_role("button", name="Owners").press("Enter")
    owners = _rows(panel, "owners")
    expect(owners.first).to_contain_text("owner")
    kind = owners.first.locator("td").nth(1).inner_text()
    owners.first.focus()
    shown.keyboard.press("Enter")
    expect(panel.locator(f"b:has-text('{kind} ')")).to_be_visible()


def test_a_path_of_the_graph_is_proven_by_the_kernel(shown: Page) -> None:
    """A path of the table is told step by step; the button executes it on a fork, and the verdict stands beside it."""
    panel = _panel(shown, "graph")
    panel.locator(".sk-open").first.press("Enter")
    panel.get_by_role("button", name="Prove it on a fork").press("Enter")
    expect(panel.locator(".sk-proof")).to_contain_text("proven")


def test_a_refused_request_shows_the_stage_that_refused(shown: Page) -> None:
    """The row of the stage is selected."""
    panel = _panel(shown, "requests")
    panel.get_by_label("As", exact=True).fill("user:nobody")
    panel.get_by_label("Path", exact=True).fill("/api/v1/secrets")
    panel.get_by_label("Path", exact=True).press("Tab")
    panel.get_by_role("button", name="Send to a fork").press("Enter")
    expect(panel.get_by_text("refused at authorization")).to_be_visible()
    expect(_rows(panel, "stages").filter(has_text="denied")).to_have_attribute("aria-selected", "true")


def test_a_binding_is_taken_away_and_given_back(shown: Page) -> None:
    """Enter takes it away and shows who loses what; Undo gives it back."""
    panel = _panel(shown, "what if")
    bindings = _rows(panel, "bindings")
    bindings.first.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    expect(panel.get_by_text(re.compile(r"\d permissions? lost"))).to_be_visible()
    expect(_rows(panel, "who gains and loses").first).to_contain_text("lost")
    panel.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(bindings.first).to_be_visible()


def test_the_panel_answers(shown: Page) -> None:
    """A question fills a page of the table, and its pages turn."""
    panel = _panel(shown, "access")
    panel.get_by_label("Resource").fill("secrets")
    panel.get_by_label("Resource").press("Tab")
    panel.get_by_role("button", name="Who can?").click()
    rows = panel.locator(".sk-rows tbody tr:visible")
    expect(rows).to_have_count(50)
    expect(panel.get_by_text("of 201; 10,002 of 10,002 rows")).to_be_visible()
    panel.get_by_role("button", name="Next").first.click()
    expect(rows.first).to_contain_text("person-00049")


def test_a_filter_that_leaves_nothing_says_so(shown: Page) -> None:
    """The table does not say that the cluster has no objects; without the words its rows come back."""
    panel = _panel(shown, "explore")
    words = panel.get_by_label("Filter").first
    words.fill("no kind has such a name")
    expect(panel.get_by_text("No row holds these words.")).to_be_visible()
    expect(panel.get_by_text("The cluster has no objects.")).to_have_count(0)
    words.fill("")
    expect(_rows(panel, "kinds").first).to_be_visible()


def test_panels_fit_a_narrow_window(shown: Page) -> None:
    """The lists of the explorer stand below each other, and chosen rows stay in sight from their first column on."""
    wide = shown.viewport_size
    shown.set_viewport_size({"width": 800, "height": 1000})
    try:
        panel = _panel(shown, "explore")
        kinds = _rows(panel, "kinds")
        kinds.nth(3).click()
        shown.keyboard.press("ArrowDown")
        objects = panel.get_by_role("grid").nth(1)
        first = _left(kinds.first)
        assert _left(kinds.nth(4).locator("td").first) == first, "the table is not moved sideways"
        expect(objects.locator("tbody tr").first).to_be_visible()
        assert _left(objects) == first, "the objects stand below the kinds"
        assert objects.evaluate(WIDER_THAN_ITS_PLACE) <= 0, "all columns are in sight"
        bindings = _panel(shown, "what if").get_by_role("grid", name="bindings")
        assert bindings.evaluate(WIDER_THAN_ITS_PLACE) <= 0, "all columns are in sight, where names are long too"
    finally:
        shown.set_viewport_size(wide or {"width": 1500, "height": 1100})


def _left(shown: Locator) -> float:
    return float(shown.evaluate("each => each.getBoundingClientRect().left"))


WIDER_THAN_ITS_PLACE = "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"


def test_a_saved_notebook_keeps_its_panels_in_both_front_ends(lab: Lab, shown: Page, page: Page) -> None:
    """Notebook 7 shows the page that was left; after the kernel has ended, JupyterLab still shows it."""
    panel = _panel(shown, "access")
    panel.get_by_role("button", name="Next").first.click()
    left = panel.locator(".sk-page").first.input_value()
    with shown.expect_response(lambda answer: NAME in answer.url and answer.request.method == "PUT"):
        shown.locator("[data-command='docmanager:save']").first.click()
    saved = json.loads((lab.folder / NAME).read_text())
    assert "Pod" in "".join(saved["cells"][0]["outputs"][0]["data"]["text/html"])

    page.goto(lab.notebook_7_address(NAME))
    expect(_panel(page, "access").locator(".sk-page").first).to_have_value(left)
    page.close()

    end_kernels(lab, shown.context)
    again = shown.context.new_page()
    again.goto(lab.address(NAME))
    expect(_panel(again, "access").locator(".sk-page").first).to_have_value(left)


def end_kernels(lab: Lab, context: BrowserContext) -> None:
    """End all kernels of the server."""
    sessions, asked = f"{lab.url}api/sessions", {"Authorization": f"token {lab.token}"}
    for session in context.request.get(sessions, headers=asked).json():
        context.request.delete(f"{sessions}/{session['id']}", headers=asked)
