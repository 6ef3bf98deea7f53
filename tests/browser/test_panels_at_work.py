"""Panels keep the focus of the keyboard and their place on the page, and cells run while they work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Lab
from tests.browser.notebooks import FIRST_CELL, run_cells

pytestmark = pytest.mark.slow

CELLS = (
    "import simkit\nfrom simkit.notebook import *\ncluster = simkit.demo()\nexplore(cluster)",
    "what_if_panel(cluster)",
    "panel(cluster)",
    "import pandas\nfrom simkit.notebook.pages import Pages\nfrom simkit.notebook.sections import Background, PanelBox\n"
    "rows = pandas.DataFrame({'n': range(120), 'told': 'two of 0123456789abcdef0123456789abcdef at 1.25'})\n"
    "shown = PanelBox(Pages(rows, label='numbers'))\nshown.work = Background()\nshown",
    "from pathlib import Path\nimport time\nPath('running').touch()\nwhile not Path('enough').exists(): time.sleep(0.05)",
)
EXPLORER, WHAT_IF, WHO_CAN, TABLE, LONG_CELL = range(len(CELLS))
FOLLOW_HEIGHT = """panel => {
    window.heights = [];
    const look = () => { window.heights.push(panel.getBoundingClientRect().height); requestAnimationFrame(look); };
    look();
}"""


@pytest.fixture(scope="module")
def shown(lab: Lab, context: BrowserContext) -> Iterator[Page]:
    """The page with the notebook, the cells of its panels sent to the kernel."""
    page = context.new_page()
    run_cells(lab, page, "at-work.ipynb", CELLS, sent=LONG_CELL)
    expect(_rows(_panel(page, WHAT_IF), "bindings").first).to_be_visible()
    yield page
    page.close()


def _cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def _panel(page: Page, number: int) -> Locator:
    return _cell(page, number).locator(".sk-panel")


def _rows(panel: Locator, grid: str) -> Locator:
    return panel.get_by_role("grid", name=grid).locator("tbody tr")


def _press(button: Locator) -> None:
    button.focus()
    button.press("Enter")


def test_a_head_keeps_the_focus_when_it_sorts(shown: Page) -> None:
    """Both directions are reached from one place."""
    panel = _panel(shown, WHAT_IF)
    head = panel.get_by_role("columnheader", name="binding", exact=True)
    for direction in ("ascending", "descending"):
        _press(head.get_by_role("button"))
        sorted_head = panel.locator(f"th[aria-sort='{direction}']")
        expect(sorted_head.get_by_role("button")).to_be_focused()
        head = sorted_head


def test_the_last_page_leaves_the_focus_at_the_table(shown: Page) -> None:
    """A button that has nothing left to turn hands the focus to the one beside it."""
    panel = _panel(shown, WHAT_IF)
    back, onward = (panel.get_by_role("button", name=name, exact=True) for name in ("Back", "Next"))
    pages = int(panel.locator(".sk-page").first.get_attribute("max") or 0)
    assert pages > 1
    onward.focus()
    for number in range(1, pages):
        shown.keyboard.press("Enter")
        expect(panel.locator(".sk-page").first).to_have_value(str(number + 1))
    expect(back).to_be_focused()
    for number in reversed(range(1, pages)):
        shown.keyboard.press("Enter")
        expect(panel.locator(".sk-page").first).to_have_value(str(number))
    expect(onward).to_be_focused()


def test_what_a_key_hides_or_disables_hands_the_focus_on(shown: Page) -> None:
    """The table of bindings gives way to that of losses, and with the last change undone Undo is disabled."""
    panel = _panel(shown, WHAT_IF)
    _rows(panel, "bindings").first.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    expect(_rows(panel, "who gains and loses").first).to_be_focused()
    pressed = panel.get_by_role("button", pressed=True)
    expect(pressed).to_have_text("Who loses what")
    _press(panel.get_by_role("button", name="Undo", exact=True))
    expect(panel.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    expect(pressed).to_have_text("Bindings")
    expect(pressed).to_be_focused()


def test_an_owner_is_followed_without_losing_the_focus(shown: Page) -> None:
    """Enter opens the owner, and the rows of the new object take the place of the old ones, whose room they keep."""
    panel = _panel(shown, EXPLORER)
    panel.get_by_role("gridcell", name="replicasets.apps", exact=True).click()
    objects = _rows(panel, "objects: replicasets.apps")
    objects.first.click()
    panel.get_by_role("button", name="Owners").click()
    owners = _rows(panel, "owners and dependents")
    expect(owners.first).to_be_visible()
    panel.evaluate(FOLLOW_HEIGHT)
    owners.first.focus()
    shown.keyboard.press("Enter")
    expect(panel.locator("b", has_text="ReplicaSet")).to_have_count(0)
    expect(owners.first).to_be_focused()
    heights: list[Any] = shown.evaluate("window.heights")
    assert min(heights) >= min(heights[0], heights[-1]), "nothing below moves up and down again"


def test_a_cell_runs_while_a_panel_works(lab: Lab, shown: Page) -> None:
    """What a panel has begun is shown while a cell runs. A page that is asked for meanwhile is told to wait, and comes
    when the cell has ended."""
    who_can = _panel(shown, WHO_CAN)
    who_can.get_by_label("Resource", exact=True).fill("seecrets")
    _press(who_can.get_by_role("button", name="Who can?"))
    _run_cell(shown, LONG_CELL)
    expect(who_can.get_by_text("did you mean 'secrets'")).to_be_visible()
    while not (lab.folder / "running").exists():
        shown.wait_for_timeout(50)
    table = _cell(shown, TABLE).get_by_role("group", name="numbers")
    first = _rows(table, "numbers").first
    _press(table.get_by_role("button", name="Next", exact=True))
    expect(table).to_have_attribute("aria-busy", "true")
    number, told = first.locator("td").all()
    expect(number).to_have_text("0")
    assert told.inner_html() == "two of 0123456789ab<wbr>cdef01234567<wbr>89abcdef at 1.25", (
        "long words alone are in pieces"
    )
    expect(table.get_by_text("waiting for the kernel")).to_be_visible()
    (lab.folder / "enough").touch()
    expect(first.locator("td").first).to_have_text("50")
    expect(table).not_to_have_attribute("aria-busy", "true")
    expect(table.get_by_text("of 3; 120 of 120 rows")).to_be_visible()


def _run_cell(page: Page, number: int) -> None:
    page.locator(FIRST_CELL).nth(number).click()
    page.keyboard.press("Shift+Enter")
