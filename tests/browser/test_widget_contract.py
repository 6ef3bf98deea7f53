"""Panels by the contract of anywidget alone, in a frame of a foreign origin, as VS Code and Colab show outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

import simkit
from simkit.notebook import explore, inspect_request, panel, path_graph, what_if_panel
from simkit.notebook.parts import Part
from simkit.notebook.sections import PanelBox

pytestmark = pytest.mark.slow

HOST = """
const { states, code, panel } = JSON.parse(document.getElementById("given").textContent), sent = [];
const models = Object.fromEntries(Object.entries(states).map(([id, state]) => {
  const heard = {};
  return [id, {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; for (const tell of heard[`change:${name}`] || []) tell(); },
    save_changes: () => { document.body.dataset.saved = JSON.stringify(state.page ?? ""); },
    send: (content) => { document.body.dataset.sent = JSON.stringify(content); },
    on: (name, tell) => { (heard[name] ||= []).push(tell); },
    off: (name, tell) => { heard[name] = (heard[name] || []).filter((one) => one !== tell); },
    widget_manager: { get_model: async (name) => models[name] },
  }];
}));
const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
await module.default.render({ model: models[panel], el: document.getElementById("here") });
"""
"""A host that knows what anywidget documents of a model, and nothing else."""


def _models(part: PanelBox | Part) -> Iterator[PanelBox | Part]:
    yield part
    for one in getattr(part, "children", ()):
        yield from _models(one)


def _framed(page: Page, folder: Path, shown: PanelBox) -> FrameLocator:
    """The panel in a frame that may run scripts and has no origin, no parent and no network to rely on."""
    shown.wait()
    states = {one.model_id: {**one.get_state(), "_esm": "", "_css": ""} for one in _models(shown)}
    given = json.dumps({"states": states, "code": str(shown._esm), "panel": shown.model_id}, default=str)
    inner = (
        f"<!DOCTYPE html><meta charset=utf-8><style>{shown._css}</style><div id=here></div>"
        f'<script id=given type="application/json">{given.replace("<", chr(92) + "u003c")}</script>'
        f"<script type=module>{HOST}</script>"
    )
    (folder / "inner.html").write_text(inner, encoding="utf-8")
    (folder / "outer.html").write_text(
        '<!DOCTYPE html><iframe sandbox="allow-scripts" src="inner.html" width=1200 height=900></iframe>'
    )
    page.goto((folder / "outer.html").as_uri())
    return page.frame_locator("iframe")


@pytest.mark.parametrize("show", [explore, inspect_request, panel, path_graph, what_if_panel])
def test_a_panel_needs_the_model_alone(page: Page, tmp_path: Path, show: Callable[[simkit.Cluster], Any]) -> None:
    """It is drawn without a fault, and its controls can be used."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    frame = _framed(page, tmp_path, show(simkit.demo()))
    expect(frame.locator(".sk-panel > *")).to_have_count(len(show(simkit.Cluster()).children))
    expect(frame.locator(":is(.sk-rows tbody tr, .sk-canvas canvas)").first).to_be_visible()
    assert faults == []


def test_what_is_done_in_a_panel_goes_to_the_models(page: Page, tmp_path: Path) -> None:
    """A turned page is saved, and a button sends that it was clicked."""
    frame = _framed(page, tmp_path, what_if_panel(simkit.demo()))
    frame.get_by_role("button", name="Next").first.press("Enter")
    expect(frame.locator("body")).to_have_attribute("data-saved", "2")
    frame.get_by_role("button", name="Delete on a fork").press("Enter")
    expect(frame.locator("body")).to_have_attribute("data-sent", '{"event":"click","values":[]}')


def test_a_proof_is_asked_for_by_a_message(page: Page, tmp_path: Path) -> None:
    """The graph tells its path, and asks the kernel."""
    frame = _framed(page, tmp_path, path_graph(simkit.demo()))
    frame.locator(".sk-open").first.press("Enter")
    frame.get_by_role("button", name="Prove it on a fork").press("Enter")
    expect(frame.locator("body")).to_have_attribute("data-sent", '{"prove":[0,"cluster-admin"]}')
