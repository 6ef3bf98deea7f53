"""However a stream of requests is cut into pieces, each request gets its own answer, in order."""

from __future__ import annotations

import contextlib
import gc
import re
import socket
import time
import weakref
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.identity import MASTERS, Identity

TOKENS = StaticTokens({"ann": Identity("ann"), "root": Identity("root", (MASTERS,))})
POST = b"POST /api/v1/namespaces HTTP/1.1\r\nhost: x\r\n"
UPGRADE = b"connection: upgrade\r\nupgrade: websocket\r\n"
ROOT, ANN, NOBODY = (b"authorization: Bearer %s\r\n" % token for token in (b"root", b"ann", b"none"))
SMALL, LARGE = b'{"metadata":{}}', b"x" * 70_000


def measured(body: bytes) -> bytes:
    return b"content-length: %d\r\n\r\n%s" % (len(body), body)


def chunked(body: bytes) -> bytes:
    return b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


REQUESTS = (
    (b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n", b"200"),
    (b"GET /version HTTP/1.1\r\nhost: x\r\n" + UPGRADE + b"\r\n", b"200"),
    (b"GET /livez HTTP/1.1\r\nhost: x\r\n" + measured(SMALL), b"200"),
    (POST + ROOT + measured(SMALL), b"422"),
    (POST + ROOT + chunked(SMALL), b"422"),
    (POST + ROOT + UPGRADE + measured(SMALL), b"422"),
    (POST + ROOT + measured(LARGE), b"400"),
    (POST + ANN + measured(SMALL), b"403"),
    (POST + ANN + UPGRADE + measured(LARGE), b"403"),
    (POST + ANN + UPGRADE + chunked(LARGE), b"403"),
    (POST + NOBODY + measured(LARGE), b"401"),
)
LAST = (b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"200")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The plain port of a served cluster."""
    cluster = Cluster(options=Options(seed=1, authenticators=(TOKENS,)))
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path_factory.mktemp("certificates"))
    with Server(APIServerHandler(cluster.engine), serving) as running:
        yield int(str(running.insecure_url).rpartition(":")[2])


def answers(port: int, pieces: Sequence[bytes]) -> list[bytes]:
    """The codes of what comes back when these pieces are sent one after the other."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.001)
        while part := connection.recv(65536):
            found += part
    return re.findall(rb"HTTP/1.1 (\d+)", found)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=6), st.lists(st.floats(0, 1), max_size=8))
def test_pieces(port: int, requests: list[tuple[bytes, bytes]], cuts: list[float]) -> None:
    """Bodies, refused or not, chunked or not, and wishes for other protocols: none shifts what stands behind it."""
    stream = b"".join(request for request, _ in (*requests, LAST))
    places = [0, *sorted(int(cut * len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(places)]
    assert answers(port, pieces) == [code for _, code in (*requests, LAST)]


def test_many_requests_behind_one_that_takes_longer(port: int) -> None:
    """They are read when the answers before them are written, and none is lost."""
    stream = REQUESTS[6][0] + REQUESTS[0][0] * 2000 + REQUESTS[6][0] + REQUESTS[0][0] * 200 + LAST[0]
    assert answers(port, [stream]) == [b"400", *[b"200"] * 2000, b"400", *[b"200"] * 201]


@pytest.mark.slow
def test_requests_of_a_client_that_reads_nothing(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of them are taken apart, and nothing of them is left when the connection has ended."""
    kept, make = weakref.WeakSet[RequestResponseCycle](), RequestResponseCycle.__init__

    def noted(cycle: RequestResponseCycle, *given: Any, **named: Any) -> None:
        make(cycle, *given, **named)
        kept.add(cycle)

    monkeypatch.setattr(RequestResponseCycle, "__init__", noted)
    gc.disable()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                while True:
                    connection.sendall(b"GET /openapi/v3 HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
            most = len(kept)
        end = time.monotonic() + 10
        while len(kept) > 1 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(kept) <= 1  # the last one refers to the connection
    finally:
        gc.enable()
    assert 0 < most < 200
