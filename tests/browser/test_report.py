"""The report of an audit in a real browser: filters, links, both colours, and narrow windows."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import simkit
from simkit.snapshot.load import load
from tests.cluster.test_report import page_of
from tests.security.hostile_cluster import HOSTILE, OURS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report of the demo cluster."""
    dump = simkit.demo().dump
    assert dump is not None
    return page_of(dump, tmp_path_factory.mktemp("report") / "report.html", "demo").as_uri()


def test_findings_are_filtered_and_linked(page: Page, report: str) -> None:
    """By severity, words and subject; a link opens the finding that it names, whatever is filtered."""
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    page.goto(report)
    shown = page.locator("#shown")
    total = page.locator("[data-f]").count()
    expect(shown).to_have_text(f"{total} of {total} findings")
    page.click("a[data-level=critical]")
    critical = page.locator("[data-f=critical]").count()
    expect(shown).to_have_text(f"{critical} of {total} findings")
    page.click("button[data-reset]")
    page.fill("input[name=subject]", "no-such-subject")
    expect(shown).to_have_text(f"0 of {total} findings")
    last = page.locator("[data-f]").last
    name = last.get_attribute("id")
    page.goto(f"{report}#{name}")
    expect(page.locator(f"[id='{name}'] > .in")).to_be_visible()
    assert faults == []


def test_places_of_pictures_lead_on(page: Page, report: str) -> None:
    """A place shows the ways through it, a step of the plan its details, a namespace of the heat map its findings."""
    page.goto(report)
    every = page.locator("#paths details[id]").count()
    page.locator("#paths > details > summary").first.click()
    page.locator("#paths > details").first.locator("button.place").first.click()
    expect(page.locator("#through")).to_contain_text(f"of {every} paths lead through")
    told = int(page.locator("#through").inner_text().split()[0])
    assert page.locator("#paths details[id]:visible").count() == told < every
    page.click("#through button")
    expect(page.locator("#through")).to_be_hidden()
    page.locator("#plan a[href='#s-1']").first.click()
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


UNREADABLE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const pixel = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => [0, 1, 2].map(at => (top[at] * top[3] + below[at] * (255 - top[3])) / 255).concat(255);
  const light = colour => colour.slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const contrast = element => {
    const grounds = [];
    for (let one = element; one; one = one.parentElement) grounds.unshift(pixel(getComputedStyle(one).backgroundColor));
    const ground = grounds.reduce((below, top) => over(top, below));
    const pair = [light(over(pixel(getComputedStyle(element).color), ground)), light(ground)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  const told = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() &&
    [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));
  const unnamed = [...document.querySelectorAll("button, a, input, select, summary")]
    .filter(one => !one.textContent.trim() && !(one.labels && one.labels.length));
  return [...told.filter(one => contrast(one) < 4.5), ...unnamed].map(one => one.outerHTML.slice(0, 90));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(page: Page, report: str, theme: str) -> None:
    """All text stands out from its ground as WCAG asks, details too, and all controls have a name."""
    page.goto(report)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    page.evaluate(
        "for (let n = 0; n < 3; n++) document.querySelectorAll('details').forEach(one => { one.open = true })"
    )
    page.wait_for_function("!document.querySelector('[data-f]:not(:has(> .in))')")
    assert page.evaluate(UNREADABLE) == []


def test_it_is_readable_in_narrow_windows_and_in_the_dark(page: Page, report: str) -> None:
    """The page fits a telephone, and a dark scheme swaps its colours."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    assert page.evaluate(colour) != light


def test_a_printed_page_cuts_no_table(page: Page, report: str) -> None:
    """Where a screen scrolls, paper has the width of all columns: that of A4 within its margins."""
    page.set_viewport_size({"width": 718, "height": 1000})
    page.goto(report)
    page.emulate_media(media="print")
    wide = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.evaluate(wide) == 0
    page.emulate_media(media="screen")


def test_words_find_what_findings_are_about(page: Page, report: str) -> None:
    """Not what advice says: ``exec`` finds a message, name or rule with a word that begins so, and tells which."""
    page.goto(report)
    page.fill("input[name=words]", "exec")
    lines = page.locator("[data-f]:visible > summary").all_inner_texts()
    assert lines
    assert all("exec" in line.replace("/", " ").split(" ", 1)[1] for line in lines)
    expect(page.locator("#shown")).to_contain_text(f"{len(lines)} of")


def test_findings_are_grouped_and_saved(page: Page, report: str) -> None:
    """By team and so on without losing one; a table for spreadsheets has those that are shown."""
    page.goto(report)
    total = page.locator("[data-f]").count()
    for by in ("namespace", "team", "product", "subject"):
        page.select_option("select[name=group]", by)
        assert page.locator(".group [data-f]").count() == total
    page.click("a[data-level=critical]")
    with page.expect_download() as saved:
        page.click("button[data-save=csv]")
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8"))))
    assert len(rows) == page.locator("[data-f=critical]").count()
    assert {row["severity"] for row in rows} == {"critical"}


def test_hostile_names_stay_text_when_details_open(page: Page, tmp_path: Path) -> None:
    """All details of a cluster whose names an attacker chose: no element but ours, no script, no formula saved."""
    target = page_of(load(HOSTILE, captured=["*"]), tmp_path / "report.html", "<script>alert(1)</script>")
    page.goto(target.as_uri())
    page.evaluate(
        "for (let n = 0; n < 3; n++) document.querySelectorAll('details').forEach(one => { one.open = true })"
    )
    page.wait_for_function(
        "document.querySelectorAll('[data-f] > .in').length === document.querySelectorAll('[data-f]').length"
    )
    names = page.evaluate("[...new Set([...document.querySelectorAll('main details *')].map(one => one.localName))]")
    assert set(names) <= {
        *OURS,
        "summary",
        "div",
        "span",
        "a",
        "button",
        "dl",
        "dt",
        "dd",
        "ol",
        "br",
        "caption",
        "label",
        "input",
        "small",
    }
    with page.expect_download() as saved:
        page.click("button[data-save=csv]")
    cells = [cell for row in csv.reader(io.StringIO(saved.value.path().read_text(encoding="utf-8"))) for cell in row]
    assert not [cell for cell in cells if cell.lstrip(" ")[:1] in tuple("=+-@\t\r\n")]
