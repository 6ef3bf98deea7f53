"""The end of a server: health checks report it, then it stops gently, and at once on the second signal."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.listeners import GracefulShutdown, ShutdownOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.free_port import free_port
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from tests.cli.test_serve import asked
from tests.engine.http.echo import trusting

pytestmark = pytest.mark.slow


class Watched:
    """An engine that notes what it is told, in order; it is busy until it has been asked twice."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.over = threading.Event()
        self._asked = 0

    @property
    def busy(self) -> bool:
        self._asked += 1
        return self._asked < 3

    def prepare(self) -> None:
        self.told.append("prepare")

    def refuse(self) -> None:
        self.told.append("refuse")

    def end_streams(self, seconds: float) -> None:
        self.told.append("end watches")

    def stop(self) -> None:
        self.told.append("stop")
        self.over.set()

    def leave(self, farewell: ShutdownOptions) -> GracefulShutdown:
        return GracefulShutdown(farewell, self, self.end_streams, self.stop)


@pytest.mark.parametrize(
    ("farewell", "told"),
    [
        (ShutdownOptions(), ["prepare", "stop"]),
        (ShutdownOptions(send_retry_after=True), ["prepare", "refuse", "stop"]),
        (ShutdownOptions(watches=0.01), ["prepare", "end watches", "stop"]),
        (ShutdownOptions(0.01, True, 0.01), ["prepare", "refuse", "end watches", "stop"]),
    ],
)
def test_order(farewell: ShutdownOptions, told: Sequence[str]) -> None:
    """First it is not ready, then it refuses and waits for what is under way, then watches end, then all."""
    watched = Watched()
    watched.leave(farewell).begin()
    assert watched.over.wait(10)
    assert watched.told == told


def test_told_twice() -> None:
    """A second signal does not wait for the delay."""
    watched = Watched()
    leaving = watched.leave(ShutdownOptions(delay=3600))
    leaving.begin()
    leaving.begin()
    assert watched.over.is_set()


def test_a_refusing_engine() -> None:
    """New requests are told to come again, before anybody looks at who asks; health checks are answered."""
    handler = APIServerHandler(Cluster(seed=1).engine)
    handler.prepare()
    handler.refuse()
    answer = handler.answer(Request.of("GET", "/api/v1/secrets"))
    assert isinstance(answer, Response)
    assert (answer.status, answer.body) == (429, b"The apiserver is shutting down, please try again later.\n")
    assert {("Retry-After", "5"), ("Connection", "close")} <= set(answer.headers)
    health = handler.answer(Request.of("GET", "/livez"))
    assert isinstance(health, Response)
    assert health.status == 200


def test_busy() -> None:
    """An engine is busy as long as a request is under way."""
    handler = APIServerHandler(engine := Cluster(seed=1).engine)
    held = RequestContext(Request.of("GET", "/version"), parse_request_info("GET", "/version", {}), Identity("ann"))
    engine.limits.enter(held)
    assert handler.busy
    engine.limits.leave(held)
    assert not handler.busy


def test_a_process_with_a_delay(tmp_path: Path) -> None:
    """After the signal a process still serves, unready, until its delay is over."""
    port = free_port()
    flags = ["--secure-port", str(port), "--cert-dir", str(tmp_path), "--shutdown-delay-duration", "6s"]
    process = subprocess.Popen([sys.executable, "-m", "simkit.cli", "serve", *flags], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    client = http.client.HTTPSConnection("localhost", port, context=trusting(tmp_path / "ca.crt"), timeout=10)
    assert asked(client, "/readyz") == (200, b"ok")
    process.send_signal(signal.SIGTERM)
    while (ready := asked(client, "/readyz?verbose"))[0] == 200:
        assert ready[1].endswith(b"readyz check passed\n")
    assert ready[0] == 500
    assert b"[-]shutdown failed" in ready[1]
    assert asked(client, "/livez")[0] == asked(client, "/version")[0] == 200
    client.close()
    assert process.wait(30) == 0
    process.stdout.close()
