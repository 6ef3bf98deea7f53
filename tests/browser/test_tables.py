"""Long tables in a real browser: searched, sorted and copied, in JupyterLab and in a page that a notebook is exported to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

import simkit
from simkit.analysis import ReadableFrame
from simkit.present.readable_table import html_page
from tests.browser.conftest import Lab
from tests.browser.notebooks import run_cells

pytestmark = pytest.mark.slow

CELL = (
    "from simkit.analysis import ReadableFrame\n"
    "ReadableFrame({'role_kind': [f'Role-{n % 7}' for n in range(500)], 'count': range(500), 'note': ['=1+1'] * 500})"
)


def _use(page: Page, box: Locator) -> None:
    """Search, sort in both directions and back, and copy what is left."""
    rows, said = box.locator("tbody tr:visible"), box.get_by_role("status")
    expect(said).to_have_text("500 rows")
    expect(rows).to_have_count(500)
    box.get_by_role("searchbox").fill("role-3 48")
    expect(said).to_have_text("2 of 500 rows")
    head = box.get_by_role("columnheader", name="count")
    for shown in ("248", "248", "486"):
        expect(rows.first.locator("td").nth(1)).to_have_text(shown)
        head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "none")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box.get_by_role("button", name="Copy").press("Enter")
    expect(said).to_have_text(re.compile("copied 2 rows"))
    lines = str(page.evaluate("navigator.clipboard.readText()")).splitlines()
    assert lines[0] == "role_kind\tcount\tnote"
    assert lines[1] == "Role-3\t248\t'=1+1", "no spreadsheet executes a cell of a cluster"
    assert len(lines) == 3


def test_a_table_of_a_cell_is_searched_in_jupyterlab(lab: Lab, context: BrowserContext) -> None:
    """All 500 rows are reached, though a notebook without scripts shows 60."""
    page = context.new_page()
    run_cells(lab, page, "table.ipynb", [CELL])
    _use(page, page.locator(".jp-OutputArea-output").first)
    page.close()


def test_a_table_of_a_page_is_searched(page: Page, tmp_path: Path) -> None:
    """The same in a page of its own, and two tables do not disturb each other."""
    frame = ReadableFrame(
        {"role_kind": [f"Role-{n % 7}" for n in range(500)], "count": range(500), "note": ["=1+1"] * 500}
    )
    file = tmp_path / "table.html"
    file.write_text(f"<!DOCTYPE html><div id=a>{frame._repr_html_()}</div><div id=b>{frame._repr_html_()}</div>")
    page.goto(file.as_uri())
    _use(page, page.locator("#a"))
    expect(page.locator("#b").get_by_role("status")).to_have_text("500 rows")


def test_a_page_with_a_wide_table_fits_a_telephone(page: Page, tmp_path: Path) -> None:
    """The table is moved by itself, and the page is dark where its reader's others are."""
    frame = ReadableFrame(simkit.demo().escalations(goal="cluster-admin").to_frame())
    file = tmp_path / "table.html"
    file.write_text(html_page("paths", frame._repr_html_()), encoding="utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(255, 255, 255)"
