"""Notebooks in JupyterLab: written, opened, run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import Lab

FIRST_CELL = ".jp-Notebook .jp-CodeCell .cm-content"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def run_cells(lab: Lab, page: Page, name: str, sources: Sequence[str]) -> None:
    """Write a notebook, open it, and send its cells to the kernel one after the other."""
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**code, "id": f"c{number}", "source": source} for number, source in enumerate(sources)]
    made = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": KERNEL}, "cells": cells}
    (lab.folder / name).write_text(json.dumps(made))
    page.goto(lab.address(name))
    page.locator(FIRST_CELL).first.click()
    page.locator("text=/^Python 3.*Idle$|Idle/").first.wait_for(state="attached")
    for _ in sources:
        page.keyboard.press("Shift+Enter")
