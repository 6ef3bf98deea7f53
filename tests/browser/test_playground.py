"""The playground in a real browser: its answers, what it loads, and dumps whose names an attacker chose."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from simkit.analysis import escalations, who_can
from simkit.cluster.loading import demo
from simkit.meta import datasets
from tests.browser.test_report import UNREADABLE
from tests.security.hostile_cluster import HOSTILE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REGISTRIES = (
    ["npm", "view", "pyodide", "version"],
    [sys.executable, "-m", "pip", "index", "versions", "pydantic-core"],
)


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, uid: a}\n"
DROP = """text => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], "role.yaml"));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}"""
REFUSED = "url => fetch(url).then(() => 'answered', () => 'refused')"


class Site:
    """The playground on a free port, and the paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                super().do_GET()

            def log_message(self, *words: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer nothing any more."""
        self.server.shutdown()
        self.server.server_close()


def build(*command: str) -> None:
    """Build a site. Without node, or where the registries cannot be reached, the tests are skipped."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode and any(subprocess.run(one, capture_output=True).returncode for one in REGISTRIES):
        pytest.skip("npm or pip cannot reach its registry")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built() -> Path:
    """The built site."""
    build("tools.playground")
    return ROOT / "build/playground"


@pytest.fixture
def site(built: Path) -> Iterator[Site]:
    """The site, served."""
    served = Site(built)
    yield served
    served.stop()


def answered(page: Page, tab: str) -> None:
    """Wait for the answer of a tab."""
    expect(page.locator("#error")).to_be_hidden()
    expect(page.locator(f"#{tab} .answer > *").first).to_be_attached()


def shown_subjects(page: Page) -> list[str]:
    """The first column of the answer."""
    return page.locator("#who tbody td:first-child").all_inner_texts()


def test_it_answers_as_python_does_and_asks_its_own_folder_alone(
    page: Page, context: BrowserContext, site: Site
) -> None:
    """Each tab about the demo cluster and a dropped dump; then no request is made, and a second visit needs no server."""
    faults: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    context.on(
        "request", lambda one: None if one.url.startswith((site.url, "data:", "blob:")) else elsewhere.append(one.url)
    )
    page.goto(site.url)
    answered(page, "who")
    snapshot = demo().snapshot()
    holders = who_can(snapshot, "get", "secrets")
    assert set(shown_subjects(page)) <= set(holders["subject"])
    assert len(shown_subjects(page)) > len(holders) / 2  # those of unmodified defaults are left out
    page.click("#tab-causes")
    answered(page, "causes")
    paths = escalations(snapshot)
    expect(page.locator("#causes .verdict")).to_contain_text(f"{len(paths)} escalation paths")
    loaded = len(site.asked)
    page.click("#tab-graph")
    answered(page, "graph")
    expect(page.locator("#graph .sk-said").first).to_contain_text(f"{len(paths)} paths")
    page.click("#tab-report")
    expect(page.frame_locator("#report iframe").locator("h1").first).to_contain_text(f"{len(paths)} escalation paths")
    page.click("#tab-change")
    page.fill("#change [name=delete]", "clusterrolebindings/pellowick:helpdesk-read-only")
    page.click("#change [type=submit]")
    expect(page.locator("#change tbody tr").first).to_contain_text("group:oidc:helpdesk")

    page.set_input_files("#file", datasets.path(datasets.DEMO))
    expect(page.locator("#about")).to_contain_text("pellowick.json.gz: 902 objects")
    page.evaluate(DROP, NAMESPACE)
    expect(page.locator("#about")).to_contain_text("role.yaml: 1 object")
    page.click("#tab-who")
    expect(page.locator("#error")).to_contain_text("the snapshot does not hold clusterrolebindings")
    page.fill("#who [name=verb]", "gte")
    page.click("#demo")
    expect(page.locator("#error")).to_contain_text("did you mean 'get'?")
    assert [path for path in site.asked[loaded:] if path != "/service-worker.js"] == []
    assert (faults, elsewhere) == ([], [])

    site.stop()
    again = context.new_page()
    again.goto(f"{site.url}#ask=who&verb=delete&resource=pods&namespace=billing")
    expect(again.locator("#who .verdict")).to_contain_text("can delete pods in namespace billing")
    expected = set(who_can(snapshot, "delete", "pods", namespace="billing")["subject"])
    assert set(shown_subjects(again)) <= expected
    assert "verb=delete" in again.evaluate("location.hash")
    again.close()


def test_requests_to_another_place_are_refused(page: Page, site: Site, built: Path) -> None:
    """Of the page by its policy, of the thread in which Python runs by the service worker."""
    other = Site(built)
    page.goto(site.url)
    answered(page, "who")
    assert page.evaluate(REFUSED, other.url) == "refused"
    assert [worker.evaluate(REFUSED, other.url) for worker in page.workers] == ["refused"]
    other.stop()
    assert other.asked == []


def test_hostile_names_stay_text(page: Page, site: Site) -> None:
    """Of a dump in which an attacker chose every name, no element gets onto the page, and nothing is executed."""
    page.goto(site.url)
    answered(page, "who")
    page.set_input_files("#file", HOSTILE)
    expect(page.locator("#about")).to_contain_text("hostile.json")
    for tab in ("causes", "graph", "report", "who"):
        page.click(f"#tab-{tab}")
        answered(page, tab)
    found = page.evaluate("[...new Set([...document.querySelectorAll('main .answer *')].map(one => one.localName))]")
    assert not {"script", "img", "svg", "object", "embed", "link", "style", "form"} & set(found)


def test_a_dump_that_ends_python_is_told_and_the_page_goes_on(page: Page, site: Site, tmp_path: Path) -> None:
    """The stack of a browser overflows at depths for which Python has an error."""
    page.goto(site.url)
    answered(page, "who")
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    page.set_input_files("#file", deep)
    expect(page.locator("#error")).to_be_visible()
    expect(page.locator("#about")).to_have_text("No cluster is open.")
    page.click("#demo")
    expect(page.locator("#about")).to_contain_text("demo cluster: 902 objects")
    answered(page, "who")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_and_fits_a_telephone(page: Page, site: Site, scheme: str) -> None:
    """All text stands out from its ground, all controls have a name, and nothing is wider than the window."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site.url)
    answered(page, "who")
    for tab in ("who", "causes", "change"):
        page.click(f"#tab-{tab}")
        answered(page, tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(UNREADABLE) == []
