"""Traces replayed on forks at two releases, on a simulated clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import orjson
import pytest

from simkit import Cluster, Options, SimulatedClock
from simkit.analysis.upgrade.trace import TraceEvent
from simkit.analysis.upgrade.trace_files import read_trace
from simkit.cli import main
from simkit.cluster.trace_replay import replay_on_forks
from simkit.meta.errors import SimkitError


def deployment(api_version: str = "apps/v1") -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {
        "apiVersion": api_version,
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    }


def budget() -> dict[str, Any]:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    return {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    }


def cluster_and_clock() -> tuple[Cluster, SimulatedClock]:
    clock = SimulatedClock()
    return Cluster(options=Options(release="1.24", clock=clock, seed=1)), clock


def test_traces_that_end_differently() -> None:
    """A write in a version that goes fails on the later server, and its object is missing in the end."""
    cluster, clock = cluster_and_clock()
    start = clock.now()
    trace = [TraceEvent(100, (deployment(),)), TraceEvent(160, (budget(),))]
    outcome = replay_on_forks(cluster, trace, "1.25", clock)
    assert [(row.what, row.difference) for row in outcome.rows] == [
        ("PodDisruptionBudget default/a", "answer"),
        ("poddisruptionbudgets.policy default/a", "missing"),
    ]
    assert clock.now() - start == 60
    assert replay_on_forks(cluster, trace[:1], "1.25", clock)


@pytest.mark.parametrize("packed", [True, False])
def test_files_of_simkube(tmp_path: Path, packed: bool) -> None:
    """Trace files are read as they are, and as JSON."""
    events = [
        {"ts": 9, "applied_objs": [], "deleted_objs": [deployment()]},
        {"ts": 5, "applied_objs": [deployment()], "deleted_objs": []},
    ]
    value: dict[str, Any] = {"version": 2, "config": {}, "events": events, "index": {}}
    file = tmp_path / "trace"
    file.write_bytes(msgpack.packb({**value, "pod_lifecycles": {("a", "b"): {}}}) if packed else orjson.dumps(value))
    found = read_trace(file)
    assert [(event.time, len(event.applied), len(event.deleted)) for event in found] == [(5, 1, 0), (9, 0, 1)]
    file.write_bytes(orjson.dumps({**value, "version": 1}))
    with pytest.raises(SimkitError, match="version 1"):
        read_trace(file)
    file.write_bytes(b"\x00nothing")
    with pytest.raises(SimkitError, match="no trace"):
        read_trace(file)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace is replayed on the command line, and what differs shows."""
    events = [{"ts": 5, "applied_objs": [budget()], "deleted_objs": []}]
    (tmp_path / "trace.json").write_bytes(orjson.dumps({"version": 2, "config": {}, "events": events, "index": {}}))
    command = ["upgrade", "--from", "1.24", "--to", "1.25", "--trace", str(tmp_path / "trace.json")]
    assert main([*command, "-o", "csv"]) == 1
    assert "PodDisruptionBudget default/a,answer,201," in capsys.readouterr().out
