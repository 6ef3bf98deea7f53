"""Audit backends: the file of the log, and requests that must be recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cli import main
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.audit.backends import BackendError, LogBackend
from simkit.engine.pipeline.audit.events import Event
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from simkit.meta.message import Request


class Kept:
    """A backend in memory, which fails when told to."""

    name, strict, fails = "log", True, False

    def __init__(self) -> None:
        self.events: list[Event] = []

    def take(self, event: Event) -> None:
        if self.fails:
            raise BackendError("no room")
        self.events.append(event)

    def close(self) -> None:
        """No effect."""


def test_a_file_goes_on(tmp_path: Path) -> None:
    """A server that starts again appends to the file, which nobody else may read."""
    path = tmp_path / "audit.log"
    for name in "ab":
        writer = LogBackend(path)
        writer.take({"auditID": name})
        writer.close()
    assert path.read_bytes() == b'{"auditID":"a"}\n{"auditID":"b"}\n'
    assert path.stat().st_mode & 0o777 == 0o600


def recorded(policy: str = "Metadata", **options: Any) -> Cluster:
    return Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=policy, **options))


def test_strict_recording() -> None:
    """With strict recording, a request whose arrival cannot be recorded is refused before it does anything."""
    cluster = recorded()
    kept = Kept()
    audit = cluster.engine.audit
    assert audit is not None
    audit.policy = type(audit.policy).model_validate({"rules": [{"level": "Metadata"}]})
    audit.sinks = (kept,)
    root = Identity("root", ("system:masters",))
    body = {"metadata": {"name": "team"}}
    kept.fails = True
    answer = cluster.perform(Request.of("POST", "/api/v1/namespaces", body), identity=root)
    assert (answer.status, answer.body) == (
        500,
        b'Internal Server Error: "/api/v1/namespaces": failed to store audit event\n',
    )
    assert cluster.engine.metrics.counts["apiserver_audit_error_total"]["log",] == 2
    kept.fails = False
    assert cluster.perform(Request.of("POST", "/api/v1/namespaces", body), identity=root).status == 201
    assert [event["stage"] for event in kept.events] == ["RequestReceived", "ResponseComplete"]


def test_json_form(tmp_path: Path) -> None:
    """Each line is one event."""
    path = tmp_path / "audit.log"
    cluster = recorded(audit_log_path=path, audit_log_strict=True)
    cluster.perform(Request.of("GET", "/version"))
    audit = cluster.engine.audit
    assert audit is not None
    audit.close()
    assert orjson.loads(path.read_bytes().splitlines()[-1])["requestURI"] == "/version"


@pytest.mark.parametrize("mode", ["sometimes", ""])
def test_wrong_flags(capsys: pytest.CaptureFixture[str], tmp_path: Path, mode: str) -> None:
    """A server whose audit log cannot work does not start."""
    assert main(["serve", "--cert-dir", str(tmp_path), "--audit-log-mode", mode]) == 2
    assert f"invalid choice: {mode!r}" in capsys.readouterr().err
