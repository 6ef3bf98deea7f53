"""The report of an audit in a real browser: filters, links, both colours, and narrow windows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import simkit
from simkit.cluster.report.report import write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report of the demo cluster."""
    dump = simkit.demo().dump
    assert dump is not None
    return write_report(dump, tmp_path_factory.mktemp("report") / "report.html", name="demo").as_uri()


def test_findings_are_filtered_and_linked(page: Page, report: str) -> None:
    """By severity, words and subject; a link opens the finding that it names, whatever is filtered."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    page.goto(report)
    shown = page.locator("#shown")
    total = page.locator("[data-f]").count()
    expect(shown).to_have_text(f"{total} of {total} findings are shown")
    page.click("a[data-level=critical]")
    critical = page.locator("[data-f=critical]").count()
    expect(shown).to_have_text(f"{critical} of {total} findings are shown")
    page.click("button[type=reset]")
    page.fill("input[name=subject]", "no-such-subject")
    expect(shown).to_have_text(f"0 of {total} findings are shown")
    last = page.locator("[data-f]").last
    name = last.get_attribute("id")
    page.goto(f"{report}#{name}")
    expect(page.locator(f"[id='{name}'] > .in")).to_be_visible()
    assert faults == []


def test_places_of_pictures_lead_on(page: Page, report: str) -> None:
    """A place shows the ways through it, a point of the curve its step, a namespace of the heat map its findings."""
    page.goto(report)
    every = page.locator("#paths details[id]").count()
    page.locator("#paths > details > summary").first.click()
    page.locator("#paths > details").first.locator("button.place").first.click()
    expect(page.locator("#through")).to_contain_text(f"of {every} paths lead through")
    told = int(page.locator("#through").inner_text().split()[0])
    assert page.locator("#paths details[id]:visible").count() == told < every
    page.click("#through button")
    expect(page.locator("#through")).to_be_hidden()
    page.locator("svg.curve a circle.paths").first.click()
    expect(page.locator("#s-1 > .in")).to_be_visible()
    namespace = page.locator("#exposure a[data-namespace]").first
    name = namespace.inner_text()
    namespace.click()
    assert page.input_value("select[name=namespace]") in (name, "")


def test_links_open_what_is_folded(page: Page, report: str) -> None:
    """Causes of lower severity and later ways are folded; a link to one opens what it is in."""
    for section in ("causes", "paths"):
        page.goto("about:blank")
        page.goto(report)
        folded = page.locator(f"#{section} > .more details[id]").last
        expect(folded).to_be_hidden()
        name = folded.get_attribute("id")
        page.goto(f"{report}#{name}")
        expect(page.locator(f"[id='{name}'] > .in")).to_be_visible()


def test_it_is_readable_in_narrow_windows_and_in_the_dark(page: Page, report: str) -> None:
    """The page fits 800 pixels, and a dark scheme swaps its colours."""
    page.set_viewport_size({"width": 800, "height": 1000})
    page.goto(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    assert page.evaluate(colour) != light
