"""Audit backends: files that rotate, two formats, limits of size, requests that must be recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cli import main
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.audit.backends import (
    BackendError,
    BatchingBackend,
    BlockingBackend,
    LogWriter,
)
from simkit.engine.pipeline.audit.events import Event
from simkit.engine.pipeline.audit.settings import Batching, LogSettings, Mode, WebhookSettings
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from simkit.meta.message import Request


class Kept:
    """A backend in memory, which fails when told to."""

    leaves_process = False

    def __init__(self) -> None:
        self.batches: list[list[Event]] = []
        self.fails = self.closed = False

    def write(self, events: Sequence[Event]) -> None:
        if self.fails:
            raise BackendError("no room")
        self.batches.append(list(events))

    def close(self) -> None:
        self.closed = True


def test_a_file_goes_on(tmp_path: Path) -> None:
    """A server that starts again appends to the file, which nobody else may read."""
    path = tmp_path / "audit.log"
    for name in "ab":
        writer = LogWriter(path)
        writer.write([{"auditID": name}])
        writer.close()
    assert path.read_bytes() == b'{"auditID":"a"}\n{"auditID":"b"}\n'
    assert path.stat().st_mode & 0o777 == 0o600


SERVICE = {
    "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [{"name": "a", "user": {"token": "secret"}}],
    "current-context": "a",
}
"""A client configuration of a service that nobody calls."""


def recorded(policy: str = "Metadata", **options: Any) -> Cluster:
    return Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=policy, **options))


def test_batches_without_waiting() -> None:
    """Without a longest wait each event goes as soon as it comes."""
    kept = Kept()
    sink = BatchingBackend("log", kept, Batching(max_size=10, max_wait=0), lambda lost: None)
    sink.take({"auditID": "a"})
    while not kept.batches:
        pass
    sink.close()
    assert kept.batches == [[{"auditID": "a"}]]


def test_strict_recording() -> None:
    """With strict recording, a request whose arrival cannot be recorded is refused before it does anything."""
    policy = {"rules": [{"level": "Metadata"}]}
    cluster = recorded()
    kept = Kept()
    audit = cluster.engine.audit
    assert audit is not None
    audit.policy = type(audit.policy).model_validate(policy)
    audit.sinks = (BlockingBackend("log", kept, strict=True),)
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
    assert [event["stage"] for [event] in kept.batches] == ["RequestReceived", "ResponseComplete"]


def test_json_form(tmp_path: Path) -> None:
    """Each line is one event, in batches too."""
    path = tmp_path / "audit.log"
    settings = LogSettings(mode="batch", batching=Batching(max_size=50, max_wait=5))
    cluster = recorded(audit_log_path=path, audit_log=settings)
    cluster.perform(Request.of("GET", "/version"))
    audit = cluster.engine.audit
    assert audit is not None
    audit.close()
    assert orjson.loads(path.read_bytes().splitlines()[-1])["requestURI"] == "/version"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--audit-webhook-batch-max-size", "0"], "invalid audit batch max batch size 0, must be a positive number"),
        (["--audit-log-mode", "sometimes"], "invalid choice: 'sometimes'"),
    ],
)
def test_wrong_flags(capsys: pytest.CaptureFixture[str], tmp_path: Path, flags: list[str], message: str) -> None:
    """A server whose audit log cannot work does not start."""
    assert main(["serve", "--cert-dir", str(tmp_path), *flags]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("mode", "waits"), [("batch", False), ("blocking", True), ("blocking-strict", True)])
def test_a_request_waits_for_a_service_only_in_the_blocking_modes(tmp_path: Path, mode: Mode, waits: bool) -> None:
    """The server then runs its requests on worker threads; a file or a batch never needs that."""
    config = tmp_path / "kubeconfig"
    config.write_text(orjson.dumps(SERVICE).decode())
    webhook = WebhookSettings(mode=mode)
    served = recorded(audit_webhook_config_file=config, audit_webhook=webhook, audit_log_path=str(tmp_path / "log"))
    assert served.engine.chain_leaves_process is waits
    assert served.engine.audit is not None
    served.engine.audit.close()
