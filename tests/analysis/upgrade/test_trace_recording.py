"""Traces recorded from a running cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from simkit import Cluster, Options
from simkit.analysis.upgrade.trace import TraceEvent
from simkit.analysis.upgrade.trace_files import read_trace, write_trace
from simkit.analysis.upgrade.trace_recording import TraceRecorder, record_trace
from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.schema.behaviour import default_behaviour
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.live_watch import ObjectChange

pytest.importorskip("kubernetes.config", reason="the official client is an extra")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    """A served cluster of a release that still has an old version of flow schemas."""
    cluster = Cluster(options=Options(release="1.30", seed=1))
    path = tmp_path / "kubeconfig"
    server = cluster.serve(kubeconfig=path)
    yield cluster, path
    server.stop()


def recorded(
    path: Path, act: Callable[[], object], until: Callable[[Any], bool], resources: Collection[str] = ()
) -> tuple[TraceEvent, ...]:
    """The trace of a cluster while something is done to it, until the recorded names meet a condition."""
    ended, problems = threading.Event(), list[str]()

    def started(objects: int) -> None:
        act()
        watched = threading.Timer(20, ended.set)
        watched.daemon = True
        watched.start()

    class Recorder(TraceRecorder):
        def add(self, change: ObjectChange) -> None:
            super().add(change)
            if until(self.trace()):
                ended.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simkit.analysis.upgrade.trace_recording.TraceRecorder", Recorder)
        live = LiveCluster(kubeconfig=path)
        trace = record_trace(live, resources, ended=ended, refused=problems.append, started=started)
    assert not problems
    return trace


def names(trace: tuple[TraceEvent, ...], *, deleted: bool = False) -> list[str]:
    every = [obj for event in trace for obj in (event.deleted if deleted else event.applied)]
    return [f"{obj['kind']} {obj['metadata']['name']}" for obj in every]


def test_writes_and_deletions(served: tuple[Cluster, Path]) -> None:
    """A recording has the first objects and each write and deletion, without values of secrets and repeated writes."""
    cluster, path = served
    cluster.create(config_map("old"))
    cluster.create({**config_map("key", a="b"), "kind": "Secret", "data": {"password": "aHVudGVyMg=="}})

    def act() -> None:
        cluster.apply(config_map("new", a="1"))
        cluster.apply(config_map("new", a="2"))
        cluster.delete("configmap", "old")

    trace = recorded(
        path,
        act,
        lambda so_far: "ConfigMap old" in names(so_far, deleted=True) and names(so_far).count("ConfigMap new") == 2,
    )
    written = names(trace)
    assert written.index("Namespace default") < written.index("ConfigMap old") < written.index("ConfigMap new")
    assert names(trace, deleted=True) == ["ConfigMap old"]
    assert "ConfigMap kube-root-ca.crt" not in written
    assert not [name for name in written if name.startswith(("ClusterRole ", "APIService ", "Event "))]
    [secret] = [obj for event in trace for obj in event.applied if obj["kind"] == "Secret"]
    assert secret["data"] == {"password": ""}
    assert not {"uid", "resourceVersion", "managedFields"} & set(secret["metadata"])


def test_objects_are_recorded_as_they_were_written(served: tuple[Cluster, Path]) -> None:
    """An object is recorded in the version of its writer, so that a replay at a later release shows what fails."""
    cluster, path = served
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1beta3",
        "kind": "FlowSchema",
        "metadata": {"name": "mine"},
        "spec": {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 500},
    }
    one = ("flowschemas.flowcontrol.apiserver.k8s.io",)
    trace = recorded(path, lambda: cluster.create(schema), lambda so_far: "FlowSchema mine" in names(so_far), one)
    [found] = [obj for event in trace for obj in event.applied if obj["metadata"]["name"] == "mine"]
    assert found["apiVersion"] == "flowcontrol.apiserver.k8s.io/v1beta3"


@pytest.mark.parametrize("name", ["a.trace", "a.json"])
def test_files(tmp_path: Path, name: str) -> None:
    """A trace is read as it was written."""
    trace = (TraceEvent(5, applied=(config_map("a"),)), TraceEvent(5, deleted=(config_map("a"),)))
    assert read_trace(write_trace(trace, tmp_path / "new" / name)) == trace


def test_command(served: tuple[Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes what it saw; a resource that nobody can watch is wrong use."""
    cluster, path = served
    cluster.create(config_map("old"))
    target = tmp_path / "a.trace"
    words = ["record", "configmaps", "--kubeconfig", str(path), "--to", str(target), "--for"]
    assert main([*words, "100ms"]) == 0
    assert "ConfigMap old" in names(read_trace(target))
    assert "recording for 0.1 seconds" in capsys.readouterr().err
    assert main(["record", "gadgets", "--kubeconfig", str(path), "--to", str(target), "--for", "1s"]) == 2
    assert "gadgets" in capsys.readouterr().err


def test_pods_keep_their_specification() -> None:
    """Fields of a scheduler are no change of the trace; objects of a controller are left out."""
    recorder = TraceRecorder(default_behaviour("1.30"), clock=lambda: 1.0)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "x"}, "spec": {"containers": []}}
    owned = {**pod, "metadata": {"name": "b", "namespace": "x", "ownerReferences": [{"controller": True}]}}
    for each in (pod, {**pod, "spec": {"containers": [], "nodeName": "n"}}, owned):
        recorder.add(ObjectChange(each))
    assert [event.applied for event in recorder.trace()] == [(pod,)]
    recorder.add(ObjectChange(pod, deleted=True))
    recorder.add(ObjectChange(owned, deleted=True))
    assert len(recorder.trace()) == 2


def test_a_server_that_refuses(served: tuple[Cluster, Path]) -> None:
    """A server that does not know a path is told in its own words."""
    live = LiveCluster(kubeconfig=served[1])
    with pytest.raises(SimkitError, match="not find"):
        live.listing("/apis/apps/v1/nothing")
