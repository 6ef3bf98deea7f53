"""Servers that were made to harm whoever dumps or watches them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simkit.cli import main
from tests.security.hostile_cluster import assert_shown_as_text
from tools.make_hostile_cluster import PAYLOADS

pytestmark = pytest.mark.slow

EVIL = "\x1b]0;owned\x07\n::error::owned\u202e"
"""Taken where a name, a message or a reason is expected."""


class _Hostile(BaseHTTPRequestHandler):
    """Says of itself, and of what it serves and refuses, whatever was chosen."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        served = [{"name": text, "kind": text, "namespaced": True, "verbs": ["list", "watch"]} for text in PLURALS]
        known: dict[str, Any] = {
            "/version": {"major": "1", "minor": "30", "gitVersion": EVIL},
            "/api": {"versions": ["v1"]},
            "/apis": {"groups": []},
            "/api/v1": {"resources": served},
        }
        answer = known.get(path, {"kind": "Status", "status": "Failure", "message": EVIL, "reason": EVIL, "code": 403})
        body = json.dumps(answer).encode()
        self.send_response(200 if path in known else 403, "owned")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


PLURALS = [text for text in PAYLOADS.values() if "/" not in text and text.isprintable() and "?" not in text][:12]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """The client configuration of a hostile server on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": EVIL, "context": {"cluster": "c", "user": "u"}}],
        "current-context": EVIL,
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    yield file
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "words",
    [
        ("dump", "--to", "dump.json"),
        ("watch", "--for", "1s"),
        ("bindings", "--context", ""),
        ("dump", "--to", "dump.json", "--context", "no \x1b[2J such"),
    ],
)
def test_what_a_server_says_is_text(
    words: tuple[str, ...],
    kubeconfig: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names of resources, refusals and contexts cannot act on a terminal or a build log."""
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--kubeconfig", str(kubeconfig)]) in (1, 2)
    told = capsys.readouterr()
    assert told.err
    assert "fault of simkit" not in told.err
    assert_shown_as_text(told.out + told.err)
