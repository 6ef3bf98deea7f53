"""Bytes on a real connection: whatever comes, the server answers in HTTP or hangs up, and goes on serving."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simkit
from simkit.engine.http.request_state import ExecutionMode
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.message import Request, Response
from tests.engine.http.echo import AuthorizeAll

pytestmark = pytest.mark.slow

METHODS = st.sampled_from([b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"BREW", b"get", b""])
PATHS = st.sampled_from(
    [
        b"/api/v1/namespaces/default/configmaps",
        b"/api/v1/namespaces/default/configmaps/a",
        b"/api/v1/namespaces/default/pods/a/log",
        b"/apis/apps/v1/deployments",
        b"/openapi/v3/api/v1",
        b"/healthz",
        b"*",
        b"http://elsewhere/api",
        b"//..//%2e%2e/%00",
        b"/\xff\xfe",
    ]
)
QUERIES = st.sampled_from([b"", b"?limit=-1", b"?a=%zz&=&&", b"?fieldSelector=%ff", b"?" + b"x" * 9000, b"?\xe4=1"])
TEXT = st.binary(max_size=40).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b""))
NAMES = st.sampled_from(
    b"accept content-type authorization impersonate-user content-length transfer-encoding expect connection "
    b"upgrade accept-encoding if-none-match x\xff audit-id host".split()
)
VALUES = TEXT | st.sampled_from(
    b"application/json application/merge-patch+json application/json;as=Table;v=v1 chunked 0 5 -1 99999999999 gzip "
    b"100-continue close websocket Bearer".split()
)
BODIES = st.binary(max_size=60) | st.sampled_from(
    [b'{"metadata":{"name":"a"}}', b"5\r\nhello\r\n0\r\n\r\n", b"fffffffff\r\n", b"k8s\x00\xff", b"[" * 5000]
)
ANSWER = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) [^\r\n]*\r\n")
BROKEN = re.compile(rb'"reason":"InternalError"')


class Administered:
    """The engine of a cluster for callers who say not who they are. Watches are begun and ended."""

    def __init__(self, cluster: simkit.Cluster) -> None:
        self._cluster = cluster

    def enter(self, request: Request) -> AuthorizeAll:
        return AuthorizeAll(self.answer, request)

    def answer(self, request: Request) -> Response:
        response = self._cluster.perform(request)
        if response.stream is None:
            return response
        response.stream.close()
        return Response(200, b"{}")

    def at_once(self, request: Request) -> Response | None:
        """No answer is known beforehand."""
        return None

    def refresh(self) -> None:
        """There are no other servers."""

    def execution_mode(self, request: Request) -> ExecutionMode:
        return ExecutionMode.INLINE


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The plain port of a served cluster."""
    folder: Path = tmp_path_factory.mktemp("wire")
    serving = ServingOptions(insecure_port=0, certificate_folder=folder, kubeconfig=folder / "kubeconfig")
    with Server(Administered(simkit.Cluster(seed=1)), serving) as running:
        yield int(str(running.insecure_url).rpartition(":")[2])


def sent(port: int, raw: bytes) -> bytes:
    """All that comes back for some bytes, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:  # it hung up before it had read everything
            pass
    return b"".join(parts)


def request(data: st.DataObject) -> bytes:
    """A request, or something that begins like one."""
    line = b" ".join([data.draw(METHODS), data.draw(PATHS) + data.draw(QUERIES), b"HTTP/1.1"])
    headers = data.draw(st.lists(st.tuples(NAMES, VALUES), max_size=5))
    lines = [b"host: x", *(name + b": " + value for name, value in headers)]
    body = data.draw(BODIES)
    if data.draw(st.booleans()):
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([line, *lines, b"", body])


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_connection_is_answered_or_ended(
    port: int, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    """Odd lines, headers and bodies: an answer in HTTP or none, no error of ours, and the next client is served."""
    raw = data.draw(st.binary(max_size=200)) if data.draw(st.integers(0, 9)) == 0 else request(data)
    with caplog.at_level(logging.ERROR):
        answer = sent(port, raw)
    assert not caplog.records, (raw, caplog.text)
    assert not answer or ANSWER.match(answer), (raw, answer)
    assert not BROKEN.search(answer), (raw, answer)
    assert sent(port, b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").endswith(b"\r\n\r\nok")
