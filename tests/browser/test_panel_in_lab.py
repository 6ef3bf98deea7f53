"""The panel works in JupyterLab, in a browser, with ten thousand rows."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Lab

SETUP = """
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


def _notebook(lab: Lab, name: str, source: str) -> str:
    """The address of a new notebook with one cell."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])  # type: ignore[no-untyped-call]
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, lab.folder / name)  # type: ignore[no-untyped-call]
    return lab.address(name)


@pytest.mark.slow
def test_the_panel_answers_and_tries(lab: Lab, page: Page) -> None:
    """A question fills a page of the table, a binding taken away changes its rows, and undoing brings them back."""
    page.goto(_notebook(lab, "panel.ipynb", SETUP))
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.locator("text=/^Python 3.*Idle$|Idle/").first.wait_for(state="attached")
    page.keyboard.press("Shift+Enter")
    page.get_by_label("Resource").fill("secrets")
    page.get_by_label("Resource").press("Tab")
    page.get_by_role("button", name="Who can?").click()
    rows = page.locator(".sk-rows tbody tr")
    expect(rows).to_have_count(50)
    expect(page.get_by_text("of 201; 10,002 of 10,002 rows")).to_be_visible()
    page.get_by_role("button", name="Next").first.click()
    expect(rows.first).to_contain_text("person-00049")

    page.get_by_label("Binding").fill("ClusterRoleBinding one")
    page.get_by_label("Binding").press("Tab")
    page.get_by_role("button", name="Without it").click()
    gone = page.locator(".sk-rows tr.sk-less:visible")
    expect(gone).to_have_count(1)
    expect(gone).to_contain_text("zoe")
    expect(page.get_by_text("0 permissions gained, 1 lost")).to_be_visible()
    page.get_by_role("tab", name="Effect").click()
    expect(gone).to_contain_text("lost")

    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("tab", name="Who can").first.click()
    expect(gone).to_have_count(0)
