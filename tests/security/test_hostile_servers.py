"""Servers that were made to harm whoever dumps or watches them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest

from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.load import load
from tests.security.hostile_cluster import assert_shown_as_text
from tests.security.places import places, put
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


RBAC = "/apis/rbac.authorization.k8s.io/v1"
_EVENT = {"type": "ADDED", "object": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {}}}
_BAD = {**_EVENT, "object": {**_EVENT["object"], "metadata": {"name": "a", "namespace": "b"}, "rules": "x"}}  # type: ignore[dict-item]
RBAC_LIST = {"kind": "RoleList", "apiVersion": RBAC[6:], "metadata": {"resourceVersion": "7"}, "items": []}
LIES: dict[str, bytes] = {
    "no JSON": b"hello\n",
    "half of an event": b'{"type": "ADDED", "object": {"apiV',
    "no object": b'{"type": "ADDED"}\n[]\n17\nnull\n',
    "an object without a name": json.dumps(_EVENT).encode() + b"\n",
    "an object of wrong types": json.dumps(_BAD).encode() + b"\n",
    "an error without words": b'{"type": "ERROR", "object": {"code": 500}}\n',
    "too old, again and again": b'{"type": "ERROR", "object": {"code": 410}}\n',
    "nothing": b"",
    "a line without an end": b"x" * 20_000_000,
}
"""What a watch is answered."""


class _Lying(_Hostile):
    """Lists nothing but grants, and tells lies in its watches, of which it counts the requests."""

    watches: ClassVar[dict[str, int]] = {}
    lie = b""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        plurals = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
        kinds = [{"name": name, "kind": name, "verbs": ["list", "watch"]} for name in plurals]
        group = {"name": "rbac.authorization.k8s.io", "preferredVersion": {"groupVersion": RBAC[6:]}}
        known: dict[str, Any] = {
            "/version": {"major": "1", "minor": "30"},
            "/api": {"versions": []},
            "/apis": {"groups": [group]},
            RBAC: {"resources": kinds},
        }
        lists = RBAC_LIST
        body = json.dumps(known.get(path, lists)).encode()
        if "watch=true" in query:
            self.watches[path] = self.watches.get(path, 0) + 1
            body = self.lie
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)


PLURALS = [text for text in PAYLOADS.values() if "/" not in text and text.isprintable() and "?" not in text][:12]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """The client configuration of a hostile server on loopback."""
    with _served(_Hostile, tmp_path) as file:
        yield file


@contextmanager
def _served(handler: type[_Hostile], tmp_path: Path) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
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


@pytest.mark.parametrize("kind", LIES)
def test_a_watch_that_lies(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says which resource is not watched, asks again at leisure, and does not look like a quiet cluster."""

    class Handler(_Lying):
        watches: ClassVar = {}
        lie = LIES[kind]

    with _served(Handler, tmp_path) as file:
        assert main(["watch", "--for", "3s", "--kubeconfig", str(file)]) == 0
    told = capsys.readouterr().err
    assert "fault of simkit" not in told
    if kind == "an object of wrong types":
        assert "Role a was left out: rules is text, not a list" in told
    elif kind not in ("nothing", "half of an event", "an error without words", "too old, again and again"):
        assert f"{RBAC}/roles is not watched at the moment, and is asked for again: " in told
        assert told.count("roles is not watched") == 2  # of roles and of cluster roles, once each
    assert all(1 <= count <= 8 for count in Handler.watches.values())


@pytest.mark.parametrize("page", [{"metadata": {"continue": "x"}, "items": []}, {"items": {"a": 1}}, {"items": [7]}])
def test_a_list_that_lies(
    page: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages without an end, and items that are no objects, are told and leave the list out."""
    monkeypatch.setattr("tests.security.test_hostile_servers.RBAC_LIST", page)
    with _served(_Lying, tmp_path) as file:
        assert main(["who-can", "get", "secrets", "--context", "", "--kubeconfig", str(file)]) == 2
    assert "fault of simkit" not in capsys.readouterr().err


DISCOVERY: dict[str, Any] = {
    "/version": {"major": "1", "minor": "30"},
    "/api": {"versions": ["v1"]},
    "/apis": {"groups": [{"name": "a.example", "preferredVersion": {"groupVersion": "a.example/v1"}}]},
    "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "verbs": ["list", "watch"]}]},
    "/apis/a.example/v1": {"resources": [{"name": "things", "kind": "Thing", "verbs": ["list", "watch"]}]},
    "/api/v1/pods": {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a", "namespace": "b"}}]},
}


class _Client:
    """The client of a cluster that answers with some documents."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self._documents = documents

    def request(self, method: str, path: str, **_: Any) -> Mock:
        return Mock(data=json.dumps(self._documents.get(path, {"kind": "Status", "message": "none"})).encode())


def test_discovery_that_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents of wrong types are told; a group whose server lies, as of an extension, does not hide the others."""
    monkeypatch.setattr(LiveCluster, "__init__", lambda *_: None)
    live = LiveCluster()
    live.server = "https://x"
    for path, document in DISCOVERY.items():
        for place in places(document):
            for value in (None, 7, "a", [], ["a"], {}, {"a": 1}, [None], [[1]]):
                live._client = _Client({**DISCOVERY, path: put(document, place, value)})
                with suppress(SimkitError):
                    live.watchable()
                with suppress(SimkitError):
                    pods = load(live.pieces(), release="1.30")
                    assert pods.keyed or "a.example" not in path
    live._client = _Client({**DISCOVERY, "/apis/a.example/v1": {"resources": 7}})
    assert ["lists no resources" in str(problem) for problem in load(live.pieces(), release="1.30").lost] == [True]
