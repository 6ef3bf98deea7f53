"""Requests as no client of Kubernetes sends them, as data: none reads a secret, and none is read as two."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.identity import MASTERS, Identity

SECRET = "/api/v1/namespaces/default/secrets/s"
ANN, ROOT = "authorization: Bearer ann\r\n", "authorization: Bearer root\r\n"
WEBSOCKET = (
    "upgrade: websocket\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n"
    "sec-websocket-protocol: base64url.bearer.authorization.k8s.io.cm9vdA"
)


def _asked(target: str, headers: str = ANN, *, method: str = "GET", body: str = "") -> str:
    return f"{method} {target} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\n\r\n{body}"


REQUESTS: dict[str, tuple[str, list[str]]] = {
    "two credentials, the first of which counts": (_asked(SECRET, ANN + ROOT), ["403"]),
    "two credentials in one header": (_asked(SECRET, "authorization: Bearer ann, Bearer root\r\n"), ["401"]),
    "a credential on a folded line": (_asked(SECRET, "authorization: Bearer ann\r\n Bearer root\r\n"), ["400"]),
    "a name with a space behind it": (_asked(SECRET, "authorization : Bearer root\r\n"), ["400"]),
    "identities with underscores": (_asked(SECRET, ANN + "x_remote_user: root\r\nimpersonate_user: root\r\n"), ["403"]),
    "another method in a header": (_asked(SECRET, ANN + "x-http-method-override: POST\r\n"), ["403"]),
    "another path in a header": (_asked("/version", ANN + f"x-original-url: {SECRET}\r\nx-rewrite-url: {SECRET}\r\n"), ["200"]),
    "a target with a host": (_asked(f"http://evil{SECRET}"), ["403"]),
    "a target that is a host": (_asked("evil:80", ROOT, method="CONNECT"), ["400"]),
    "a length with many zeros before it": (_asked("/version", ANN + f"content-length: {'0' * 5000}2\r\n", body="{}"), ["200"]),
    "a fragment": (_asked(f"{SECRET}#/version"), ["403"]),
    "a path in too many bytes": (_asked("/api/v1/namespaces/default/configmaps/%c0%ae%c0%ae/secrets/s"), ["403"]),
    "escapes of another language": (_asked("/api/v1/namespaces/default/secrets/%u0073", ROOT), ["400"]),
    "HTTP/2 without being asked": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", ["400"]),
    "HTTP/2 by an upgrade": (_asked("/version", ANN + "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n"), ["200"]),
    "an unknown expectation": (_asked("/version", ANN + "expect: 200-maybe\r\n"), ["417"]),
    "many ranges": (_asked("/version", ANN + "range: bytes=" + "0-0," * 5000 + "0-0\r\n"), ["200"]),
    "a credential behind the body": (
        _asked(SECRET, ANN + "transfer-encoding: chunked\r\n", body=f"0\r\n{ROOT}\r\n"),
        ["403"],
    ),
    "a line feed in the extension of a chunk": (
        _asked("/version", ANN + "transfer-encoding: chunked\r\n", body="2;\n{}\r\n0\r\n\r\n"),
        ["400"],
    ),
    "a request in a body": (_asked("/version", ANN + "content-length: 99\r\n", body=_asked(SECRET, ROOT)[:99]), ["200"]),
    "a request behind the last": (_asked("/version") + _asked(SECRET, ROOT), ["200"]),
    "a token in the query": (_asked(f"{SECRET}?access_token=root&token=root", ""), ["403"]),
    "a token of a subprotocol alone": (_asked(SECRET, WEBSOCKET + "\r\n"), ["403"]),
    "a place of another kind in a continue token": (
        _asked("/api/v1/namespaces/default/configmaps?limit=1&continue="
               "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi9zZWNyZXRzL2RlZmF1bHQvYSJ9", ROOT),
        ["400"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cluster with a secret, which ann may not read."""
    known = StaticTokens({"root": Identity("root", (MASTERS,)), "ann": Identity("ann")})
    cluster = Cluster(options=Options(seed=1, authenticators=(known,)))
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "VE9QU0VDUkVU"}})
    folder: Path = tmp_path_factory.mktemp("served")
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=folder)
    with Server(APIServerHandler(cluster.engine), serving) as running:
        yield running


@pytest.mark.parametrize("name", REQUESTS)
def test_a_strange_request(server: Server, name: str) -> None:
    """It gets its one answer, and the secret is in none."""
    text, expected = REQUESTS[name]
    answers = b""
    with socket.create_connection(("127.0.0.1", int(str(server.insecure_url).rpartition(":")[2])), timeout=60) as link:
        link.sendall(text.encode("latin-1"))
        while piece := link.recv(65536):
            answers += piece
    lines = [line.decode() for line in answers.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert [line.split()[1] for line in lines] == expected
    assert b"VE9QU0VDUkVU" not in answers
