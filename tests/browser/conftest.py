"""JupyterLab in a real browser: a server in a folder of its own, and a page of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FIREFOX = Path("/usr/bin/firefox-esr")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"),
)
_EXTENSIONS = str(distribution("jupyterlab_widgets").locate_file("../../../share/jupyter"))
"""Where the widgets of JupyterLab are installed, perhaps in another environment than the one that runs the tests."""
START_SECONDS = 60
PATIENCE = 60_000
"""Milliseconds that a page may take on a machine that does other things too."""
expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: where it listens, its token, and the folder that it shows."""

    url: str
    token: str
    folder: Path

    def address(self, notebook: str) -> str:
        """The address that shows a notebook of the folder, without the other parts of the page."""
        return f"{self.url}doc/tree/{notebook}?token={self.token}"

    def notebook_7_address(self, notebook: str) -> str:
        """The address that shows a notebook of the folder in Notebook 7, which the same server runs."""
        return f"{self.url}notebooks/{notebook}?token={self.token}"


@pytest.fixture(scope="module")
def context(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser with a fresh profile, Chromium or what a test's parameter names; without it the test is skipped.

    It ends with its module: as long as the driver runs, no other test can start an event loop in this thread.
    """
    browser: Path = getattr(request, "param", CHROMIUM)
    if not browser.exists():
        pytest.skip(f"there is no browser at {browser} (apt-get install {browser.name})")
    profile, window = tmp_path_factory.mktemp("profile"), ViewportSize(width=1500, height=1100)
    with sync_playwright() as driver:
        if browser == FIREFOX:
            opened = driver.firefox.launch_persistent_context(
                profile, channel="moz-firefox", executable_path=browser, viewport=window
            )
        else:
            opened = driver.chromium.launch_persistent_context(
                profile, executable_path=browser, args=list(FLAGS), viewport=window
            )
        opened.set_default_timeout(PATIENCE)
        yield opened
        opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """An empty page."""
    opened = context.new_page()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def lab(context: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port of this machine; it ends with the tests of the module."""
    folder, own = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("jupyter")
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR")
    environment = {**os.environ, **{name: str(own / name.lower()) for name in places}, "JUPYTER_PATH": _EXTENSIONS}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    command += [
        "--ServerApp.port_retries=50",
        f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=",
        "--log-level=WARN",
    ]
    _set(own, "@jupyter-widgets/jupyterlab-manager/plugin", saveState=True)  # "Save Widget State Automatically"
    _set(own, "@jupyterlab/notebook-extension/tracker", windowingMode="none")  # cells out of sight stay in the page
    with (own / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield _started(server, own, folder)
        finally:
            server.terminate()
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:  # it waits for kernels on a busy machine
                server.kill()
                server.wait()


def _set(own: Path, plugin: str, **settings: object) -> None:
    """Write settings of a user as JupyterLab's menu does."""
    file = own / "jupyterlab_settings_dir" / f"{plugin}.jupyterlab-settings"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))


def _started(server: subprocess.Popen[bytes], own: Path, folder: Path) -> Lab:
    """The server once it has written down where it listens."""
    for _ in range(START_SECONDS * 10):
        written = list((own / "jupyter_runtime_dir").glob("jpserver-*.json"))
        if written and (text := written[0].read_text()):
            told = json.loads(text)
            return Lab(told["url"], told["token"], folder)
        if server.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start: {(own / 'log').read_text()[-2000:]}")
