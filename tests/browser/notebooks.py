"""Notebooks in JupyterLab and in Notebook 7: written, opened, run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Error, Page

from tests.browser.conftest import PATIENCE, Lab

FIRST_CELL = ".jp-Notebook .jp-CodeCell .cm-content"
TRIES = 6
_TAKEN = re.compile(r"\[(\*|\d+)\]")
"""The number of a cell that the kernel runs or has run."""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def run_cells(lab: Lab, page: Page, name: str, sources: Sequence[str], *, sent: int | None = None) -> None:
    """Write a notebook, open it in JupyterLab, and send its cells, or the first ones, to the kernel in their order."""
    _write(lab, name, sources)
    _run(page, lab.address(name), "text=/^Python 3.*Idle$|Idle/", len(sources) if sent is None else sent)


def run_cells_in_notebook_7(lab: Lab, page: Page, name: str, sources: Sequence[str]) -> None:
    """Write a notebook, open it in Notebook 7, and send its cells to the kernel one after the other."""
    _write(lab, name, sources)
    _run(page, lab.notebook_7_address(name), ".jp-Notebook-ExecutionIndicator[data-status='idle']", len(sources))


def _write(lab: Lab, name: str, sources: Sequence[str]) -> None:
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**code, "id": f"c{number}", "source": source} for number, source in enumerate(sources)]
    made = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": KERNEL}, "cells": cells}
    (lab.folder / name).write_text(json.dumps(made))


def _run(page: Page, address: str, idle: str, cells: int) -> None:
    """Open a notebook, wait until its kernel is idle, and send its cells."""
    page.goto(address)
    page.locator(idle).first.wait_for(state="attached")
    _run_first(page)
    for _ in range(cells - 1):
        page.keyboard.press("Shift+Enter")


def _run_first(page: Page) -> None:
    """Run the first cell, again if need be: a page that still connects does not run it, or asks for a kernel first."""
    taken = page.locator(".jp-Notebook .jp-CodeCell").first.locator(".jp-InputPrompt").filter(has_text=_TAKEN)
    asked, patience = page.locator("dialog .jp-mod-accept"), PATIENCE / TRIES
    for _ in range(TRIES):
        try:
            if asked.is_visible():
                asked.click(timeout=patience)
            page.locator(FIRST_CELL).first.click(timeout=patience)
            page.keyboard.press("Shift+Enter")
            taken.wait_for(timeout=patience)
        except Error:
            continue
        return
    taken.wait_for()
