"""The keys of panels stay in the panels in Notebook 7, which hears keys before the page does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Lab
from tests.browser.notebooks import run_cells_in_notebook_7

pytestmark = pytest.mark.slow

CELLS = ("import simkit\nfrom simkit.notebook import *\ncluster = simkit.demo()\nwhat_if_panel(cluster)",)


@pytest.fixture(scope="module")
def shown(lab: Lab, context: BrowserContext) -> Iterator[Page]:
    """The page with the notebook in command mode, its cells sent to the kernel."""
    page = context.new_page()
    run_cells_in_notebook_7(lab, page, "panels.ipynb", CELLS)
    page.keyboard.press("Escape")
    yield page
    page.close()


def _rows(page: Page, grid: str) -> Locator:
    return page.get_by_role("grid", name=grid).locator("tbody tr")


def _in_command_mode(page: Page) -> None:
    """In command mode the notebook has keys of its own: without it a test would prove nothing."""
    expect(page.locator(".jp-Notebook.jp-mod-commandMode:not(.jp-mod-readWrite)")).to_be_visible()


def test_arrows_choose_a_binding_and_enter_takes_it_away(shown: Page) -> None:
    """The notebook stays at its cell: arrows go through the rows, Enter acts on one, Undo brings it back."""
    bindings = _rows(shown, "bindings")
    bindings.first.focus()
    _in_command_mode(shown)
    for key, number in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
        shown.keyboard.press(key)
        expect(bindings.nth(number)).to_be_focused()
        expect(bindings.nth(number)).to_have_attribute("aria-selected", "true")
    name = bindings.nth(1).locator("td").nth(2).inner_text()
    shown.keyboard.press("Enter")
    expect(shown.locator(".sk-panel").get_by_text(re.compile(r"\d permissions? (gained|lost)"))).to_be_visible()
    expect(shown.locator(".sk-panel li", has_text=name)).to_be_visible()
    expect(_rows(shown, "who gains and loses").first).to_contain_text("lost")
    shown.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(bindings.first).to_be_visible()
