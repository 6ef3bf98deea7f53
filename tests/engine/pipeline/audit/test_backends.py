"""Audit backends: files that rotate, two formats, limits of size, requests that must be recorded."""

from __future__ import annotations

import gzip
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
    RotatingFile,
    TruncatingWriter,
)
from simkit.engine.pipeline.audit.events import Event, fitted, legacy_line
from simkit.engine.pipeline.audit.settings import Batching, LogSettings, Mode, Truncation, WebhookSettings
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from simkit.meta.message import Request

MEGABYTE = b"x" * (1024 * 1024 - 1) + b"\n"


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


def test_rotation(tmp_path: Path) -> None:
    """A full file gets the name of its moment; only so many old ones stay, and nobody else may read them."""
    clock = SimulatedClock()
    path = tmp_path / "audit.log"
    file = RotatingFile(path, clock, max_size=1, max_backup=2)
    for _ in range(4):
        file.write(MEGABYTE)
        clock.advance(1.5)
    file.close()
    assert [each.name for each in file.old()] == [
        "audit-2024-04-17T00-00-04.500.log",
        "audit-2024-04-17T00-00-03.000.log",
    ]
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    assert all(each.read_bytes() == MEGABYTE for each in (path, *file.old()))


def test_lines_stay_whole(tmp_path: Path) -> None:
    """A line that does not fit begins the next file; one that is larger than a file has one of its own."""
    file = RotatingFile(tmp_path / "a.log", SimulatedClock(), max_size=1)
    file.write(b"short\n")
    file.write(MEGABYTE * 2)
    file.close()
    assert (tmp_path / "a.log").read_bytes() == MEGABYTE * 2
    assert [each.read_bytes() for each in file.old()] == [b"short\n"]


def test_old_files_age(tmp_path: Path) -> None:
    """Files that are too old go when the next is full; the others are kept in gzip form; others' files are let be."""
    clock = SimulatedClock()
    other = tmp_path / "audit-notes.log"
    other.write_text("mine")
    file = RotatingFile(tmp_path / "audit.log", clock, max_size=1, max_age=2, compress=True)
    for _ in range(5):
        file.write(MEGABYTE)
        clock.advance(days=1)
    file.close()
    assert [each.name for each in file.old()] == [f"audit-2024-04-{day}T00-00-00.000.log.gz" for day in (21, 20, 19)]
    assert gzip.decompress(file.old()[0].read_bytes()) == MEGABYTE
    assert other.read_text() == "mine"


def test_a_file_goes_on(tmp_path: Path) -> None:
    """A server that starts again appends to the file, whose size counts."""
    path = tmp_path / "audit.log"
    for _ in range(2):
        file = RotatingFile(path, SimulatedClock(), max_size=1)
        file.write(MEGABYTE)
        file.close()
    assert len(file.old()) == 1


SERVICE = {
    "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [{"name": "a", "user": {"token": "secret"}}],
    "current-context": "a",
}
"""A client configuration of a service that nobody calls."""


def recorded(policy: str = "Metadata", **options: Any) -> Cluster:
    return Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=policy, **options))


def test_legacy_form(tmp_path: Path) -> None:
    """The older form has one line of words for each event."""
    path = tmp_path / "audit.log"
    cluster = recorded(audit_log_path=path, audit_log=LogSettings(form="legacy"))
    before = len(path.read_bytes().splitlines())
    acting = {"impersonate-user": "ann", "impersonate-group": "devs"}
    request = Request.of("GET", '/api/v1/namespaces/x/pods?labelSelector="', headers={"user-agent": "k", **acting})
    cluster.perform(request, identity=Identity("root", ("system:masters",)))
    assert cluster.engine.audit is not None
    cluster.engine.audit.close()
    [line] = path.read_text().splitlines()[before:]
    assert line.startswith("2024-04-17T00:00:00.000000Z AUDIT: id=")
    assert 'stage="ResponseComplete" ip="127.0.0.1" method="list" user="root" groups="\\"system:masters\\""' in line
    assert 'as="ann" asgroups="\\"devs\\",\\"system:authenticated\\"" user-agent="k" namespace="x"' in line
    assert line.endswith('uri="/api/v1/namespaces/x/pods?labelSelector=%22" response="403"')
    assert b'response="<deferred>"' in legacy_line({"stage": "RequestReceived"})


def test_large_events_are_shortened() -> None:
    """An event that is too large loses its objects and says so; one that is too large even then is lost."""
    limits = Truncation(True, 200, 450)
    large = {"auditID": "a", "requestObject": {"x": "y" * 300}, "responseObject": {}, "annotations": {"k": "v"}}
    endless, small = {"auditID": "b", "requestURI": "/" + "x" * 300}, {"auditID": "c", "requestURI": "/" + "x" * 100}
    batches, lost = fitted([large, endless, small, small, small, small], limits)
    assert lost == 1
    first = batches[0][0]
    assert first == {"auditID": "a", "annotations": {"k": "v", "audit.k8s.io/truncated": "true"}}
    assert [len(batch) for batch in batches] == [3, 2]
    assert large["responseObject"] == {}


def test_fitting_tells_of_losses() -> None:
    """Events that fit are written; the number of the others is reported."""
    kept = Kept()
    sink = BlockingBackend("log", TruncatingWriter(kept, Truncation(True, 50, 50)))
    with pytest.raises(BackendError, match="1 events are too large"):
        sink.take({"requestURI": "/" + "x" * 100})
    sink.take({"auditID": "a"})
    sink.close()
    assert kept.batches == [[{"auditID": "a"}]]
    assert kept.closed


def test_batches_without_waiting() -> None:
    """Without a longest wait each event goes as soon as it comes."""
    kept = Kept()
    sink = BatchingBackend("log", kept, Batching(max_size=10, max_wait=0, throttle=False), lambda lost: None)
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
        (["--audit-log-maxage", "-1"], "--audit-log-maxage -1 can't be a negative number"),
        (["--audit-webhook-batch-max-size", "0"], "invalid audit batch max batch size 0, must be a positive number"),
        (["--audit-webhook-batch-throttle-qps", "0"], "invalid audit batch throttle QPS 0"),
        (["--audit-log-mode", "sometimes"], "invalid choice: 'sometimes'"),
        (["--audit-log-truncate-max-batch-size", "5"], "audit event (102400) can't be larger than the batch (5)"),
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
