"""Notebooks with one code cell, run in JupyterLab."""

from __future__ import annotations

import nbformat
from playwright.sync_api import Page

from tests.browser.conftest import Lab


def run_cell(lab: Lab, page: Page, name: str, source: str) -> None:
    """Open a new notebook with one cell, and run it."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])  # type: ignore[no-untyped-call]
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, lab.folder / name)  # type: ignore[no-untyped-call]
    page.goto(lab.address(name))
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.locator("text=/^Python 3.*Idle$|Idle/").first.wait_for(state="attached")
    page.keyboard.press("Shift+Enter")
