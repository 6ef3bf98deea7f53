"""Many watchers of one cluster over real connections: a write reaches all, and those that do not read cost nothing."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import simkit
from simkit.engine.http.request_state import ExecutionMode
from simkit.engine.http.server import Server, ServingOptions
from simkit.engine.pipeline.verbs.watch import WatchStream
from simkit.meta.message import Request, Response
from tests.engine.http.echo import AuthorizeAll

pytestmark = pytest.mark.slow

WATCHERS = 300
SLOW = 20
WRITES = 60
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A fresh cluster."""
    return simkit.Cluster(seed=1)


@pytest.fixture
def streams() -> list[WatchStream]:
    """The watches that the server has begun."""
    return []


@pytest.fixture
def port(cluster: simkit.Cluster, streams: list[WatchStream], folder: Path, tmp_path: Path) -> Iterator[int]:
    """The plain port of a server over the cluster; whoever asks is its administrator."""
    serving = ServingOptions(insecure_port=0, certificate_folder=folder, kubeconfig=tmp_path / "kubeconfig")
    with Server(Administered(cluster, streams), serving) as running:
        yield int(str(running.insecure_url).rpartition(":")[2])


class Administered:
    """The engine of a cluster for callers who say not who they are."""

    def __init__(self, cluster: simkit.Cluster, streams: list[WatchStream]) -> None:
        self._cluster, self._streams = cluster, streams

    def enter(self, request: Request) -> AuthorizeAll:
        return AuthorizeAll(self.answer, request)

    def answer(self, request: Request) -> Response:
        response = self._cluster.perform(request)
        if isinstance(response.stream, WatchStream):
            self._streams.append(response.stream)
        return response

    def at_once(self, request: Request) -> Response | None:
        """No answer is known beforehand."""
        return None

    def refresh(self) -> None:
        """There are no other servers."""

    def execution_mode(self, request: Request) -> ExecutionMode:
        return ExecutionMode.INLINE


def watching(port: int) -> socket.socket:
    """A connection with a watch whose headers have arrived."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(f"GET {MAPS}?watch=1&resourceVersion=0 HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    until(connection, b"\r\n\r\n")
    return connection


def until(connection: socket.socket, mark: bytes) -> bytes:
    """The bytes up to a mark, and perhaps a little more."""
    seen = b""
    while mark not in seen:
        part = connection.recv(65536)
        assert part, "the server ended the watch"
        seen += part
    return seen


def create(cluster: simkit.Cluster, name: str, size: int = 1) -> None:
    """Store a config map."""
    body = {"metadata": {"name": name}, "data": {"text": "x" * size}}
    assert cluster.perform(Request.of("POST", MAPS, body)).status == 201


def test_one_write_reaches_all(cluster: simkit.Cluster, port: int) -> None:
    """Every watcher hears of a write; those that have not read for a while hear of everything, in order."""
    watchers = [watching(port) for _ in range(WATCHERS)]
    slow, quick = watchers[:SLOW], watchers[SLOW:]
    for number in range(WRITES):
        create(cluster, f"big-{number:03}", 10_000)
    create(cluster, "mark")
    for connection in quick:
        until(connection, b'"name":"mark"')
    create(cluster, "late")
    for connection in slow:
        text = until(connection, b'"name":"late"')
        assert re.findall(rb'"name":"(big-\d+|mark|late)"', text) == NAMES
    for connection in watchers:
        connection.close()


NAMES = [*(b"big-%03d" % number for number in range(WRITES)), b"mark", b"late"]


def test_a_watch_ends_with_a_bookmark(cluster: simkit.Cluster, port: int) -> None:
    """Shortly before its time is up a watch tells how far it is, also when nothing happened."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    query = f"watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion={cluster.engine.store.revision}"
    connection.sendall(f"GET {MAPS}?{query} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    text = until(connection, b"\r\n0\r\n\r\n")
    assert text.count(b'"type":"BOOKMARK"') == 1
    assert f'"resourceVersion":"{cluster.engine.store.revision}"'.encode() in text
    connection.close()


@pytest.mark.parametrize("query", ["resourceVersion=0", ""])
def test_a_client_that_does_not_read_is_cut_off(
    cluster: simkit.Cluster, port: int, streams: list[WatchStream], query: str
) -> None:
    """A watch whose client stops reading does not outlive its time, and the server lets go of it."""
    for number in range(30):
        create(cluster, f"big-{number:03}", 500_000)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.settimeout(20)
    connection.sendall(f"GET {MAPS}?watch=1&timeoutSeconds=1&{query} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    wait_until(lambda: bool(streams))
    wait_until(lambda: streams[0].closed)
    with connection:
        seen = b"".join(iter(lambda: connection.recv(65536), b""))
    assert seen.count(b'"type":"ADDED"') < 30


def wait_until(true: Callable[[], bool]) -> None:
    """Return once something is true; TimeoutError when it does not become so."""
    end = time.monotonic() + 20
    while not true():
        if time.monotonic() > end:
            raise TimeoutError("it did not come true")
        time.sleep(0.02)
