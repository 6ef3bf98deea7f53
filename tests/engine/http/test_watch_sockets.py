"""Watches over WebSockets: what kube-apiserver 1.30 answered to the same bytes, and each event as one message."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import orjson
import pytest
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.server import Server
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request

MAP: Final = "/api/v1/namespaces/default/configmaps/a"
PATH: Final = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=a"
KEY: Final = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
VERSION: Final = "Sec-WebSocket-Version: 13"
UPGRADE: Final = ["Upgrade: WebSocket", "Connection: keep-alive, Upgrade"]
ORIGIN: Final = "Origin: https://console.example"
TOKEN: Final = "Authorization: Bearer t"
IN_PROTOCOL: Final = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"t").decode().rstrip("=")
SWITCHED: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster(options=Options(seed=1, authenticators=(StaticTokens({"t": Identity("root", (MASTERS,))}),)))
    made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"step": "0"}})
    return made


@pytest.fixture(scope="module")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with cluster.serve(kubeconfig=tmp_path_factory.mktemp("served") / Path("kubeconfig")) as server:
        yield server


class Watching:
    """A client that asks for a watch as a WebSocket; ``head`` is what it was answered."""

    def __init__(self, server: Server, *headers: str, path: str = PATH) -> None:
        host, _, port = server.url.rpartition("//")[2].partition(":")
        plain = socket.create_connection((host, int(port)), timeout=20)
        self.connection = ssl._create_unverified_context().wrap_socket(plain)
        lines = [f"GET {path} HTTP/1.1", "Host: x", *UPGRADE, *headers, "", ""]
        self.connection.sendall("\r\n".join(lines).encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += self.connection.recv(4096)
        self.head, _, rest = received.partition(b"\r\n\r\n")
        self.head += b"\r\n"
        self.begun = rest
        self.socket = Connection(ConnectionType.CLIENT)
        if b" 101 " in self.head:
            self.socket.receive_data(rest)
        self.events = self._events()

    def _events(self) -> Iterator[object]:
        while True:
            for event in self.socket.events():
                yield event
                if isinstance(event, CloseConnection):
                    return
            self.socket.receive_data(self.connection.recv(4096) or None)

    def rest(self) -> bytes:
        """All that comes before the connection is closed, after a refusal."""
        return self.begun + b"".join(iter(lambda: self.connection.recv(4096), b""))


Watch = Callable[..., Watching]


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    """Makes clients, whose connections are closed after the test."""
    with contextlib.ExitStack() as opened:

        def made(*headers: str, path: str = PATH) -> Watching:
            client = Watching(server, *headers, path=path)
            opened.callback(client.connection.close)
            return client

        yield made


def test_each_event_is_a_message(watch: Watch, cluster: Cluster) -> None:
    """Present objects, later changes, and answers to a client that asks whether we are there."""
    watching = watch(KEY, VERSION, ORIGIN, TOKEN)
    assert watching.head == SWITCHED
    told = []
    for step in range(1, 4):
        event = next(watching.events)
        assert isinstance(event, TextMessage)
        assert event.data.endswith("}\n")
        told.append((orjson.loads(event.data)["type"], orjson.loads(event.data)["object"]["data"]["step"]))
        written = Request.of("PATCH", MAP, {"data": {"step": str(step)}}, content_type="application/merge-patch+json")
        assert cluster.perform(written).status == 200
    assert told == [("ADDED", "0"), ("MODIFIED", "1"), ("MODIFIED", "2")]
    assert isinstance(next(watching.events), TextMessage)
    watching.connection.sendall(watching.socket.send(Ping(b"there?")))
    answer = next(watching.events)
    assert isinstance(answer, Pong)
    assert answer.payload == b"there?"
    watching.connection.sendall(watching.socket.send(CloseConnection(1000)))
    assert isinstance(next(watching.events), CloseConnection)


@pytest.mark.slow
def test_protobuf_comes_without_lengths_and_the_end_is_said(watch: Watch) -> None:
    """A binary message is an event by itself; a watch that is over ends in a normal close."""
    accept = "Accept: application/vnd.kubernetes.protobuf;stream=watch"
    watching = watch(KEY, VERSION, ORIGIN, TOKEN, accept, path=f"{PATH}&timeoutSeconds=1")
    event, end = watching.events
    assert isinstance(event, BytesMessage)
    assert event.data[:7] == b"\n\x05ADDED"
    assert isinstance(end, CloseConnection)
    assert end.code == 1000


@pytest.mark.parametrize(
    ("headers", "head", "body"),
    [
        ((KEY, VERSION), b"HTTP/1.1 403 Forbidden\r\n", b""),
        ((KEY, VERSION, "Origin: null"), b"HTTP/1.1 403 Forbidden\r\n", b""),
        ((VERSION, ORIGIN), b"HTTP/1.1 400 Bad Request\r\n", b"mismatch challenge/response"),
        (
            (KEY, ORIGIN, "Sec-WebSocket-Version: 8"),
            b"HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n",
            b"missing or bad WebSocket Version",
        ),
        ((KEY, VERSION, ORIGIN, "Sec-WebSocket-Protocol: a, b"), b"HTTP/1.1 400 Bad Request\r\n", b""),
    ],
)
def test_refusals(watch: Watch, headers: tuple[str, ...], head: bytes, body: bytes) -> None:
    """They have the form of kube-apiserver's library, and the connection is closed."""
    watching = watch(*headers, TOKEN)
    assert watching.head == head
    assert watching.rest() == body


def test_protocols(watch: Watch) -> None:
    """One protocol is agreed to, whatever it is; a token among the protocols is none."""
    one = watch(KEY, VERSION, ORIGIN, TOKEN, "Sec-WebSocket-Protocol: anything")
    assert one.head == SWITCHED + b"Sec-WebSocket-Protocol: anything\r\n"
    other = watch(KEY, VERSION, ORIGIN, TOKEN, "Sec-WebSocket-Protocol: \u20ac")
    assert other.head == SWITCHED + "Sec-WebSocket-Protocol: \u20ac\r\n".encode()
    token = watch(KEY, VERSION, ORIGIN, f"Sec-WebSocket-Protocol: {IN_PROTOCOL}, base64.binary.k8s.io")
    assert token.head == SWITCHED + b"Sec-WebSocket-Protocol: base64.binary.k8s.io\r\n"
    assert isinstance(next(token.events), TextMessage)


def test_other_answers_are_as_ever(watch: Watch) -> None:
    """Errors, and what is no watch, are answered over HTTP."""
    assert b"500 Internal" in watch(KEY, VERSION, ORIGIN, TOKEN, path=f"{PATH}&resourceVersion=x").head
    listed = watch(KEY, VERSION, ORIGIN, TOKEN, path="/api/v1/namespaces?limit=1")
    assert listed.head.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("length", [100, 5_000, 20_000])
def test_a_long_head_changes_the_protocol_too(server: Server, length: int) -> None:
    """Such as one with a long token: from four kilobytes on the answer was that of a request without an upgrade."""
    watching = Watching(server, KEY, VERSION, ORIGIN, TOKEN, "X-Long: " + "x" * length)
    assert watching.head.startswith(SWITCHED)
    assert isinstance(next(watching.events), TextMessage)
    watching.connection.close()
