"""Notebooks in JupyterLab: written, opened, run."""

from __future__ import annotations

from collections.abc import Sequence

import nbformat
from playwright.sync_api import Page

from tests.browser.conftest import Lab

FIRST_CELL = ".jp-Notebook .jp-CodeCell .cm-content"


def run_cells(lab: Lab, page: Page, name: str, sources: Sequence[str]) -> None:
    """Write a notebook, open it, and send its cells to the kernel one after the other."""
    cells = [nbformat.v4.new_code_cell(each) for each in sources]  # type: ignore[no-untyped-call]
    made = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, lab.folder / name)  # type: ignore[no-untyped-call]
    page.goto(lab.address(name))
    page.locator(FIRST_CELL).first.click()
    page.locator("text=/^Python 3.*Idle$|Idle/").first.wait_for(state="attached")
    for _ in sources:
        page.keyboard.press("Shift+Enter")
