"""One scenario by clicks in marimo, in a notebook that is edited and in one that is run as an app."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.slow

pytest.importorskip("marimo", reason="marimo is not installed: pip install --group dev")
NOTEBOOK = """
import marimo

app = marimo.App()

@app.cell
def _():
    import simkit
    from simkit.notebook import explore, panel, path_graph, what_if_panel
    cluster = simkit.demo()
    return cluster, explore, panel, path_graph, what_if_panel

@app.cell
def _(cluster, explore):
    explore(cluster)

@app.cell
def _(cluster, panel):
    panel(cluster)

@app.cell
def _(cluster, path_graph):
    path_graph(cluster)

@app.cell
def _(cluster, what_if_panel):
    what_if_panel(cluster)

if __name__ == "__main__":
    app.run()
"""
EXPLORER, WHO_CAN, GRAPH, WHAT_IF = range(4)


@pytest.fixture(params=["edit", "run"])
def shown(request: pytest.FixtureRequest, page: Page, tmp_path: Path) -> Iterator[Page]:
    """A page with the panels, in marimo's editor or as an app."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "marimo", request.param, "notebook.py", "--headless", "--no-token", "--port", port]
    environment = {**os.environ, "HOME": str(tmp_path), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        try:
            _open(page, server, f"http://127.0.0.1:{port}/")
            if request.param == "edit":
                expect(page.locator(".cm-content").first).to_be_visible()
                page.keyboard.press("Control+Shift+R")  # run all cells
            yield page
        finally:
            server.terminate()
            server.wait(timeout=30)


def _open(page: Page, server: subprocess.Popen[bytes], address: str) -> None:
    """Open the notebook as soon as the server listens."""
    for _ in range(PATIENCE // 200):
        assert server.poll() is None, "marimo ended"
        page.wait_for_timeout(200)
        try:
            page.request.get(address)
        except Exception:
            continue
        page.goto(address)
        return


def _rows(panel: Locator, grid: str) -> Locator:
    return panel.get_by_role("grid", name=grid).locator("tbody tr")


def test_a_cluster_is_explored_asked_attacked_and_changed(shown: Page) -> None:
    """An object is opened, a question answered, a path proven, a binding deleted and given back, all by clicks."""
    panels = shown.locator(".sk-panel")
    explorer = panels.nth(EXPLORER)
    explorer.get_by_role("gridcell", name="pods", exact=True).click()
    _rows(explorer, "objects: pods").first.click()
    explorer.get_by_role("button", name="Owners").click()
    expect(_rows(explorer, "owners and dependents").first).to_contain_text("ReplicaSet")

    who_can = panels.nth(WHO_CAN)
    who_can.get_by_label("Resource").fill("pods/exec")
    who_can.get_by_label("Verb").fill("create")
    who_can.get_by_label("Verb").press("Enter")
    on_call = _rows(who_can, "who can").filter(has_text="on-call")
    on_call.first.click()
    expect(who_can.locator("pre, code").last).to_contain_text("pods/exec")

    graph = panels.nth(GRAPH)
    graph.get_by_label("from", exact=True).fill("oidc:on-call")
    graph.locator(".sk-open").first.click()
    graph.get_by_role("button", name="Prove it on a fork").click()
    expect(graph.locator(".sk-proof")).to_contain_text("proven")

    what_if = panels.nth(WHAT_IF)
    what_if.get_by_label("Filter").first.fill("pellowick:on-call")
    expect(_rows(what_if, "bindings")).to_have_count(1)
    _rows(what_if, "bindings").first.click()
    expect(what_if.get_by_label("Binding", exact=True)).to_have_value("ClusterRoleBinding pellowick:on-call")
    what_if.get_by_role("button", name="Delete on a fork").click()
    expect(what_if.get_by_text(re.compile(r"\d permissions lost"))).to_be_visible()
    what_if.get_by_role("button", name="Escalation paths").click()
    expect(_rows(what_if, "escalation paths").first).to_contain_text("closed")
    what_if.get_by_role("button", name="Plan").click()
    expect(what_if.get_by_text("Plan: 1 to delete")).to_be_visible()
    expect(what_if.get_by_text("kubectl delete clusterrolebinding pellowick:on-call")).to_be_visible()
    what_if.get_by_role("button", name="Undo", exact=True).click()
    expect(what_if.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
