"""Events of a watch are posted once, again after failures, and never lost without a word."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import orjson
import pytest

from simkit.cli import watch
from simkit.cli.watch import EventWebhook, webhook_url


class Hook(BaseHTTPRequestHandler):
    """Answers with the statuses that are left, then with 204, and keeps what it was sent."""

    statuses: list[int]
    received: list[tuple[str, Any]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, orjson.loads(body)))
        self.send_response(self.statuses.pop(0) if self.statuses else 204)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[tuple[str, type[Hook]]]:
    kind = type("OneHook", (Hook,), {"statuses": [], "received": []})
    server = HTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook?key=a", kind
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_PAUSES", (0.01, 0.01, 0.01))


def posted(url: str, count: int) -> tuple[list[str], int]:
    """The complaints after so many events, and how many were lost."""
    told = list[str]()
    webhook = EventWebhook(url, told.append)
    for number in range(count):
        webhook.post({"number": number})
    webhook.close()
    return told, webhook.lost


@pytest.mark.parametrize(
    ("statuses", "attempts", "lost"),
    [([], 1, 0), ([503, 429], 3, 0), ([500] * 4, 4, 1), ([404], 1, 1), ([302], 1, 1)],
    ids=["taken", "patient", "never", "refused", "redirected"],
)
def test_attempts(hook: tuple[str, type[Hook]], statuses: list[int], attempts: int, lost: int) -> None:
    """A server that asks for patience is asked again, four times at most; refusals and redirects are final."""
    url, kind = hook
    kind.statuses.extend(statuses)
    told, count = posted(url, 1)
    assert kind.received == [("/hook?key=a", {"number": 0})] * attempts
    assert (count, len(told)) == (lost, 2 * lost)
    assert all("key=a" not in text for text in told)


def test_events_come_in_order(hook: tuple[str, type[Hook]]) -> None:
    """Also when one has to be posted again."""
    url, kind = hook
    kind.statuses.append(500)
    assert posted(url, 5) == ([], 0)
    assert [event["number"] for _, event in kind.received] == [0, 0, 1, 2, 3, 4]


def test_what_waits_has_a_bound(hook: tuple[str, type[Hook]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Events beyond it are counted as lost."""
    url, kind = hook
    monkeypatch.setattr(watch, "_MOST_WAITING", 1)
    told, lost = posted(url, 50)
    assert lost == 50 - len(kind.received)
    assert len(told) == lost + bool(lost)


def test_nobody_answers() -> None:
    """The reason is told."""
    told, lost = posted("http://127.0.0.1:1/hook", 1)
    assert lost == 1
    assert "refused" in told[0]


@pytest.mark.parametrize(
    "text",
    ["ftp://a", "http://example.com/", "https://", "https://u:p@example.com", "https://a:x/", "https://a/\n", "a", ""],
)
def test_urls_that_are_none(text: str) -> None:
    """Only https, and http on the machine itself; credentials do not belong into a URL."""
    with pytest.raises(argparse.ArgumentTypeError):
        webhook_url(text)
    assert webhook_url("https://example.com:8443/a?b=c")
    assert webhook_url("http://[::1]:80/")
