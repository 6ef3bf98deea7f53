"""What requests leave behind in memory."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson
import pytest
import uvicorn
from uvicorn.server import ServerState

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.asgi import Application
from simkit.engine.http.protocol import HTTPConnection
from simkit.engine.http.serving import new_loop
from simkit.meta.identity import MASTERS, Identity

_HEADERS: Final = b"Host: a\r\nAuthorization: Bearer t\r\n"
_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_DATA: Final = {f"key-{line}": f"{line}" * 140 for line in range(6)}


class Wire:
    """A transport that counts answers."""

    def __init__(self) -> None:
        self.answers = 0

    def write(self, data: bytes) -> None:
        assert not data.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), data
        self.answers += data.startswith(b"HTTP/1.1 2")

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else None

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    resume_reading = pause_reading

    def close(self) -> None:
        raise AssertionError("the connection was closed")

    abort = close


def create() -> Iterator[bytes]:
    """Objects of 1 KB with names of their own."""
    for number in range(10_000, 99_999):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}, "data": _DATA}
        yield _post(_MAPS, obj)


def churn() -> Iterator[bytes]:
    """Objects that are made, changed and deleted, so that hardly a path comes again."""
    for number in range(10_000, 99_999):
        name = f"c-{number}"
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        yield _post(_MAPS, obj)
        yield _post(f"{_MAPS}/{name}", {**obj, "data": {"key": "1"}}, method="PUT")
        yield f"DELETE {_MAPS}/{name} HTTP/1.1\r\n".encode() + _HEADERS + b"\r\n"


def review() -> Iterator[bytes]:
    """Access reviews about users of their own."""
    group = "authorization.k8s.io"
    for number in range(10_000, 99_999):
        attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
        spec = {"user": f"u{number}", "resourceAttributes": attributes}
        obj = {"apiVersion": f"{group}/v1", "kind": "SubjectAccessReview", "spec": spec}
        yield _post(f"/apis/{group}/v1/subjectaccessreviews", obj)


def _post(path: str, obj: object, method: str = "POST") -> bytes:
    body = orjson.dumps(obj)
    head = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return f"{method} {path} HTTP/1.1\r\n".encode() + _HEADERS + head + body


def application() -> Application:
    """A server with default roles and one config map."""
    tokens = StaticTokens({"t": Identity("root", (MASTERS,))})
    cluster = Cluster(options=Options(authenticators=(tokens,)))
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}, "data": _DATA}
    cluster.create(obj)
    return Application(APIServerHandler(cluster.engine))


class Line:
    """A connection to an application, driven by hand."""

    def __init__(self, app: Application) -> None:
        config = uvicorn.Config(
            app,
            http=HTTPConnection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        config.load()
        self.wire = Wire()
        self._protocol = HTTPConnection(config, ServerState(), {}, asyncio.get_running_loop())
        self._protocol.connection_made(self.wire)  # type: ignore[arg-type]

    async def send(self, requests: Iterator[bytes], count: int) -> None:
        """Send requests, each when the one before is answered."""
        for _ in range(count):
            wanted = self.wire.answers + 1
            self._protocol.data_received(next(requests))
            while self.wire.answers < wanted:
                await asyncio.sleep(0)


async def garbage(kind: Callable[[], Iterator[bytes]], count: int) -> int:
    """Objects in circles that requests leave behind, which only a collection of all objects finds."""
    ours, requests = Line(application()), kind()
    await ours.send(requests, 100)
    gc.collect()
    await ours.send(requests, count)
    return gc.collect()


def _in_loop(work: Any) -> Any:
    loop = new_loop()
    gc.disable()
    try:
        return loop.run_until_complete(work)
    finally:
        gc.enable()
        loop.close()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [(create, 1_000), (review, 10_000), (churn, 13_000)])
def test_requests_leave_no_circles_behind(kind: Callable[[], Iterator[bytes]], count: int) -> None:
    """A server looks seldom for garbage in circles: it would grow by what is kept of requests, and forgotten again."""
    assert _in_loop(garbage(kind, count)) < 500
