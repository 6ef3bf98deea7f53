"""The widgets by the contract of anywidget alone, in a frame of a foreign origin, as VS Code and Colab show outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import FrameLocator, Page, expect

import simkit
from simkit.notebook.escalation_graph import PathGraph, PathGraphView
from simkit.notebook.pages import Pages

pytestmark = pytest.mark.slow

HOST = """
const { state, code } = JSON.parse(document.getElementById("given").textContent), heard = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; for (const tell of heard[`change:${name}`] || []) tell(); },
  save_changes: () => { document.body.dataset.saved = JSON.stringify(state.page ?? ""); },
  send: (content) => { document.body.dataset.sent = JSON.stringify(content); },
  on: (name, tell) => { (heard[name] ||= []).push(tell); },
  off: (name, tell) => { heard[name] = (heard[name] || []).filter((one) => one !== tell); },
};
const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
await module.default.render({ model, el: document.getElementById("here") });
"""
"""A host that knows what anywidget documents of a model, and nothing else."""


def _framed(page: Page, folder: Path, widget: Pages | PathGraphView) -> FrameLocator:
    """The widget in a frame that may run scripts and has no origin, no parent and no network to rely on."""
    names = [name for name in widget.keys if not name.startswith("_") and name not in ("layout", "tabbable", "tooltip")]
    given = json.dumps({"state": {name: getattr(widget, name) for name in names}, "code": str(widget._esm)})
    inner = (
        f"<!DOCTYPE html><meta charset=utf-8><style>{widget._css}</style><div id=here></div>"
        f'<script id=given type="application/json">{given.replace("<", chr(92) + "u003c")}</script>'
        f"<script type=module>{HOST}</script>"
    )
    (folder / "inner.html").write_text(inner, encoding="utf-8")
    (folder / "outer.html").write_text(
        '<!DOCTYPE html><iframe sandbox="allow-scripts" src="inner.html" width=1200 height=900></iframe>'
    )
    page.goto((folder / "outer.html").as_uri())
    return page.frame_locator("iframe")


def test_a_table_needs_the_model_alone(page: Page, tmp_path: Path) -> None:
    """Rows are shown, and a turned page is written to the model, which saves it."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    frame = _framed(page, tmp_path, Pages(pd.DataFrame({"number": range(120)}), label="numbers"))
    expect(frame.get_by_role("grid", name="numbers").locator("tbody tr")).to_have_count(50)
    frame.get_by_role("button", name="Next").press("Enter")
    expect(frame.locator("body")).to_have_attribute("data-saved", "2")
    assert faults == []


def test_the_graph_needs_the_model_alone(page: Page, tmp_path: Path) -> None:
    """The picture is drawn, a path is told, and its proof is asked for by a message of the model."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    panel = PathGraph(simkit.demo())
    panel.wait()
    frame = _framed(page, tmp_path, panel.view)
    expect(frame.locator(".sk-canvas canvas").first).to_be_visible()
    frame.locator(".sk-open").first.press("Enter")
    frame.get_by_role("button", name="Prove it on a fork").press("Enter")
    expect(frame.locator("body")).to_have_attribute("data-sent", '{"prove":[0,"cluster-admin"]}')
    assert faults == []
