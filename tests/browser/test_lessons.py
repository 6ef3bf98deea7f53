"""The course in real browsers: lessons with their solutions, a panel, kubectl, what is kept, and what is loaded."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import BrowserContext, Page, expect

from simkit.meta import datasets
from tests.browser.conftest import CHROMIUM, FIREFOX
from tests.browser.test_playground import Site, build
from tests.notebooks.execution import cells, tags
from tools.course import FOLDER, KERNEL, sources
from tools.playground.lessons import PICTURE, TARGET

pytestmark = pytest.mark.slow

BROWSERS = {"Chromium": CHROMIUM, "Firefox": FIREFOX}
in_both = pytest.mark.parametrize("context", BROWSERS.values(), ids=BROWSERS, indirect=True, scope="module")
LESSONS = [path.stem for path in sources()]
HALVES = {"first-half": LESSONS[:7], "second-half": LESSONS[7:]}
"""Lessons that run one after the other in one kernel, whose start takes longer than most of them."""
CLASS = {
    "panel": "import simkit\nfrom simkit.notebook import explore\n\nexplore(simkit.load('dump.json'))",
    "kubectl": "import simkit\n\n%load_ext simkit\ncluster = simkit.demo()\n%kubectl get namespace billing -o name",
    "index": "import micropip\n\nawait micropip.install('requests')",
}
"""Notebooks of a class, of one cell each."""
METADATA = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
PROMPTS = "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(each => each.textContent.trim())"
FINISHED = f"() => {{ const all = ({PROMPTS})(); return all.some(one => /\\d/.test(one)) && !all.includes('[*]:'); }}"
"""True where some cell has run, and none is running or waiting."""
ERRORS = '.jp-RenderedText[data-mime-type$=".stderr"], .jp-RenderedText[data-mime-type$=".error"]'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The course, served, with a class that has its solutions."""
    folder = tmp_path_factory.mktemp("class")
    for name, code in CLASS.items():
        notebook = new_notebook(cells=[new_code_cell(code)], metadata=METADATA)  # type: ignore[no-untyped-call]
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook))
    for name, lessons in HALVES.items():
        notebook = new_notebook(cells=list(solved_cells(lessons)), metadata=METADATA)  # type: ignore[no-untyped-call]
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook))
    (folder / "dump.json").write_bytes(gzip.decompress(datasets.path(datasets.DEMO).read_bytes()))
    build("tools.playground.lessons", "--class", str(folder))
    served = Site(TARGET)
    yield served
    served.stop()


def solved_cells(lessons: Iterable[str]) -> Iterator[Any]:
    """The code of lessons with their solutions, each with no names of the one before; pictures are drawn elsewhere."""
    for lesson in lessons:
        yield new_code_cell("%reset -f")  # type: ignore[no-untyped-call]
        for cell in cells(FOLDER / "solutions" / f"{lesson}.ipynb"):
            if cell["cell_type"] == "code" and PICTURE not in tags(cell):
                yield new_code_cell(cell["source"])  # type: ignore[no-untyped-call]


def run(page: Page, site: Site, notebook: str) -> None:
    """Open a notebook, and run all of its cells."""
    page.goto(f"{site.url}notebooks/index.html?path={notebook}.ipynb")
    expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(FINISHED, timeout=300_000)


@in_both
@pytest.mark.parametrize("half", HALVES)
def test_the_lessons_pass_with_their_solutions(page: Page, context: BrowserContext, site: Site, half: str) -> None:
    """All exercises are done, and nothing was asked of another place."""
    assert outcomes(page, context, site, f"class/{half}") == [True] * len(HALVES[half])


def test_a_lesson_runs_to_its_end_before_anything_is_solved(page: Page, context: BrowserContext, site: Site) -> None:
    """What a student meets first: the lesson's own notebook, which says that exercises are open."""
    assert outcomes(page, context, site, f"course/{LESSONS[0]}") == [False]


def outcomes(page: Page, context: BrowserContext, site: Site, notebook: str) -> list[bool]:
    """For each lesson in a notebook whether all exercises are done; no cell fails, and no other place is asked."""
    elsewhere: list[str] = []
    own = (site.url, "data:", "blob:", "attachment:")
    context.on("request", lambda one: None if one.url.startswith(own) else elsewhere.append(one.url))
    run(page, site, notebook)
    assert "".join(page.locator(ERRORS).all_inner_texts()) == ""  # progress that is cleared leaves an empty one
    assert elsewhere == []
    told = "\n".join(page.locator(".jp-OutputArea-output").all_inner_texts())
    done = re.findall(r"exercises done: (\d+) of (\d+)", told)
    return [some == every for some, every in done]


@in_both
def test_a_panel_shows_a_dump_of_the_class(page: Page, site: Site) -> None:
    """A link opens a notebook with the cluster that lies beside it."""
    run(page, site, "class/panel")
    expect(page.locator(".jp-OutputArea-output").get_by_text("ClusterRoleBinding").first).to_be_visible()


@in_both
def test_kubectl_has_its_small_core(page: Page, site: Site) -> None:
    """Without the program, commands run in the kernel."""
    run(page, site, "class/kubectl")
    expect(page.locator(".jp-OutputArea-output")).to_contain_text("namespace/billing")


@in_both
def test_what_one_writes_is_kept_and_no_package_index_is_asked(page: Page, site: Site) -> None:
    """A changed notebook is the same after the page is opened anew."""
    run(page, site, "class/index")
    expect(page.locator(ERRORS).first).to_contain_text("these lessons have no package index")
    page.locator(".jp-CodeCell .cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("mine = 1")
    page.keyboard.press("Control+S")
    expect(page.locator(".jp-NotebookCheckpoint")).to_contain_text("seconds ago")
    page.reload()
    expect(page.locator(".jp-CodeCell .cm-content")).to_have_text("mine = 1")
