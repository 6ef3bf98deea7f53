"""The panels are used by keyboard in JupyterLab, and a saved notebook keeps what they show."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Lab
from tests.browser.notebooks import run_cell
from tests.shared import SHARED

DUMP = SHARED / "datasets" / "operators-and-teams.json.gz"
"""A dump of 2,920 objects; the cluster that comes with simkit where it is absent."""
SETUP = f"""
import simkit
from simkit.notebook import *
cluster = simkit.load({str(DUMP)!r}) if {DUMP.exists()} else simkit.demo()
"""
MANY_ROWS = """
import simkit
from simkit.notebook import panel

ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "readers"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}

def bound(name, subjects):
    return {"apiVersion": ROLE["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers"},
            "subjects": [{"kind": "User", "name": each, "apiGroup": "rbac.authorization.k8s.io"} for each in subjects]}

many = bound("many", [f"person-{number:05}" for number in range(10_000)])
cluster = simkit.load([ROLE, many, bound("one", ["zoe"])], captured=["*"])
panel(cluster)
"""


def _rows(page: Page, grid: str) -> Locator:
    return page.get_by_role("grid", name=grid).locator("tbody tr")


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


@pytest.mark.slow
def test_a_cluster_is_explored_by_keyboard(lab: Lab, page: Page) -> None:
    """Tab reaches the kinds, arrows go through kinds and pages of objects, Enter follows an owner. A reader without a
    kernel sees the panel as it was saved."""
    run_cell(lab, page, "explore.ipynb", f"{SETUP}explore(cluster)")
    kinds, objects = _rows(page, "kinds"), _rows(page, "objects: pods")
    kinds.filter(has_text="Pod").filter(has_text="pods").first.focus()
    page.keyboard.press("Home")
    while "pods" not in _focused(page) or "Disruption" in _focused(page):
        page.keyboard.press("ArrowDown")
    expect(objects).to_have_count(50)
    objects.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = _focused(page)
    name = page.locator(".sk-rows tr:focus td").nth(1).inner_text()
    expect(page.locator(f"b:has-text('Pod {name}')")).to_be_visible()
    page.keyboard.press("PageDown")
    expect(page.get_by_text("of 4; ").or_(page.get_by_text("of 2; ")).or_(page.get_by_text("of 3; "))).to_be_visible()
    expect(objects.first).not_to_contain_text(second[:30])
    page.keyboard.press("PageUp")
    page.get_by_role("button", name="Owners").press("Enter")
    owners = _rows(page, "owners")
    expect(owners.first).to_contain_text("owner")
    kind = owners.first.locator("td").nth(1).inner_text()
    owners.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"b:has-text('{kind} ')")).to_be_visible()
    with page.expect_response(lambda answer: "explore.ipynb" in answer.url and answer.request.method == "PUT"):
        page.locator("[data-command='docmanager:save']").first.click()
    saved = json.loads((lab.folder / "explore.ipynb").read_text())
    assert "Pod" in "".join(saved["cells"][0]["outputs"][0]["data"]["text/html"])
    sessions = f"{lab.url}api/sessions"
    asked = {"Authorization": f"token {lab.token}"}
    for session in page.request.get(sessions, headers=asked).json():
        page.request.delete(f"{sessions}/{session['id']}", headers=asked)
    page.goto(lab.address("explore.ipynb"))
    expect(page.locator(f"b:has-text('{kind} ')")).to_be_visible()
    expect(objects).to_have_count(50)


@pytest.mark.slow
def test_the_other_panels_answer_to_keys(lab: Lab, page: Page) -> None:
    """Enter on a path proves it, arrows step through its requests; a refused request shows the stage that refused.

    Enter takes a binding away and Undo gives it back; arrows move the release, with the table following.
    """
    shown = "escalation_viewer(cluster), inspect_request(cluster), what_if_panel(cluster), timeline_panel()"
    run_cell(lab, page, "panels.ipynb", f"{SETUP}display({shown})")
    page.get_by_role("button", name="Find paths").press("Enter")
    paths, requests = _rows(page, "paths"), _rows(page, "requests of the proof")
    paths.first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Request 1 of")).to_be_visible()
    requests.first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Request 2 of")).to_be_visible()

    page.get_by_label("As", exact=True).fill("user:nobody")
    page.get_by_label("Path", exact=True).fill("/api/v1/secrets")
    page.get_by_label("Path", exact=True).press("Tab")
    page.get_by_role("button", name="Send to a fork").press("Enter")
    expect(page.get_by_text("refused at authorization")).to_be_visible()
    expect(_rows(page, "stages").filter(has_text="denied")).to_have_attribute("aria-selected", "true")

    bindings = _rows(page, "bindings")
    bindings.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("permissions gained, ")).to_be_visible()
    expect(_rows(page, "who gains and loses").first).to_contain_text("lost")
    page.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(bindings.first).to_be_visible()

    slider = page.get_by_role("slider", name="release")
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "1.25")
    expect(_rows(page, "versions at 1.25").filter(has_text="no longer served").first).to_be_visible()


@pytest.mark.slow
def test_the_panel_answers_and_tries(lab: Lab, page: Page) -> None:
    """A question fills a page of the table, a binding taken away changes its rows, and undoing brings them back."""
    run_cell(lab, page, "panel.ipynb", MANY_ROWS)
    page.get_by_label("Resource").fill("secrets")
    page.get_by_label("Resource").press("Tab")
    page.get_by_role("button", name="Who can?").click()
    rows = page.locator(".sk-rows tbody tr:visible")
    expect(rows).to_have_count(50)
    expect(page.get_by_text("of 201; 10,002 of 10,002 rows")).to_be_visible()
    page.get_by_role("button", name="Next").first.click()
    expect(rows.first).to_contain_text("person-00049")

    page.get_by_role("button", name="What if").click()
    page.get_by_label("Binding").fill("ClusterRoleBinding one")
    page.get_by_label("Binding").press("Tab")
    page.get_by_role("button", name="Without it").click()
    gone = page.locator(".sk-rows tr.sk-less:visible")
    expect(gone).to_have_count(1)
    expect(gone).to_contain_text("zoe")
    expect(page.get_by_text("0 permissions gained, 1 lost")).to_be_visible()
    page.get_by_role("button", name="Effect").click()
    expect(gone).to_contain_text("lost")

    page.get_by_role("button", name="What if").click()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("button", name="Who can", exact=True).click()
    expect(gone).to_have_count(0)
