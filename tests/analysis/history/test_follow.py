"""What writes to a running cluster change for access, as somebody watches."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit import Cluster
from simkit.analysis import escalations
from simkit.analysis.access.expectations import Suite
from simkit.analysis.history import follow as following
from simkit.analysis.history.follow import AccessEvent, AccessFollower, follow
from simkit.analysis.history.recorded import WriteAuthors
from simkit.cli import main
from simkit.cluster.options import Options
from simkit.meta import datasets
from simkit.meta.clock import SimulatedClock
from simkit.meta.domain import RBAC_GROUP as API_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.caveats import Caveat
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.live_watch import ObjectChange, ResourceWatch
from tests.analysis.worlds import account, binding, namespace, role, rule

CAPTURED = ("roles", "clusterroles", "rolebindings", "clusterrolebindings", "serviceaccounts", "namespaces", "pods")
WORLD = [
    *(namespace("dev"), account("dev", "app"), account("dev", "boss")),
    *(role("all", rule("*", "*", groups="*")), role("pods", rule("create", "pods"))),
    binding("admins", "all", "sa:dev/boss"),
]


def _follower(*objects: Object, **more: Any) -> AccessFollower:
    return AccessFollower([*WORLD, *objects], "1.30", CAPTURED, **more)


def _told(events: list[AccessEvent]) -> set[tuple[str, str]]:
    return {(one.kind, one.subject) for one in events}


def test_a_binding_that_opens_a_path_and_goes_again() -> None:
    """Who gets what, the path that it opens, who wrote it and how to take it back; the deletion closes the path."""
    opened = binding("makers", "pods", "user:ann", namespace="dev")
    opened["metadata"]["managedFields"] = [{"manager": "kubectl", "time": "2026-03-03T00:00:00Z"}]
    follower = _follower()
    events = follower.take([ObjectChange(opened)])
    assert _told(events) == {("granted", "user:ann"), ("path opened", "user:ann")}
    assert {one.author for one in events} == {"kubectl"}
    assert {one.undo for one in events} == {("kubectl delete rolebindings makers --namespace dev",)}
    assert follower.take([ObjectChange({**opened, "metadata": {**opened["metadata"], "resourceVersion": "9"}})]) == []
    closed = follower.take([ObjectChange(opened, deleted=True)])
    assert _told(closed) == {("taken away", "user:ann"), ("path closed", "user:ann")}
    assert {one.severity for one in closed} == {"info"}
    assert "makers" in closed[0].undo[0]


def test_an_audit_log_names_the_author(tmp_path: Path) -> None:
    """The user of each write since the last look, also in the file that follows after a rotation; else the manager."""
    log = tmp_path / "audit.log"
    log.write_bytes(b"")

    def event(user: str, verb: str = "create") -> bytes:
        reference = {"resource": "rolebindings", "apiGroup": API_GROUP, "namespace": "dev", "name": "makers"}
        told = {"verb": verb, "stage": "ResponseComplete", "auditID": user, "objectRef": reference}
        times = {"stageTimestamp": "2026-03-03T00:00:00Z", "responseStatus": {"code": 200}}
        return orjson.dumps({**told, **times, "user": {"username": user}}) + b"\n"

    authors = WriteAuthors(log, following.FOLLOWED)
    follower = _follower(authors=authors)
    opened = ObjectChange(binding("makers", "pods", "user:ann", namespace="dev"))
    log.write_bytes(b"no event\n" + event("mallory")[:-9])
    log.write_bytes(b"no event\n" + event("mallory"))
    assert {one.author for one in follower.take([opened])} == {"user:mallory"}
    log.rename(tmp_path / "audit-1.log")
    log.write_bytes(event("root", "delete"))
    assert {one.author for one in follower.take([opened._replace(deleted=True)])} == {"user:root"}
    assert {one.author for one in follower.take([opened])} == {""}
    authors.close()
    with pytest.raises(SimkitError, match="cannot be read"):
        WriteAuthors(tmp_path / "none", ())


def test_changes_that_come_together_are_told_apart() -> None:
    """Those that change nothing cost one step with others; the one that opens a path is told alone."""
    maps = [ObjectChange(namespace(f"n{number}")) for number in range(7)]
    guilty = ObjectChange(binding("makers", "pods", "user:ann", namespace="dev"))
    events = _follower().take([*maps[:3], guilty, *maps[3:]], apart=True)
    assert {one.objects for one in events} == {("RoleBinding dev/makers",)}
    parts = list(following._parts([*maps[:3], guilty, *maps[3:], maps[6]]))
    assert [len(part) for part in parts] == [3, 1, 4, 1]


def test_a_status_and_a_repeated_object_are_no_news() -> None:
    """After a gap all objects come again, most of them as they were."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "dev"}, "spec": {}}
    follower = _follower(pod)
    ready = {**pod, "status": {"phase": "Running"}}
    assert follower.take([*map(ObjectChange, WORLD), ObjectChange(ready)]) == []


def test_names_of_a_hostile_server_cannot_act_on_a_terminal() -> None:
    """What cannot be seen is written out."""
    opened = binding("makers", "pods", "user:a\x1b[2Jn")
    opened["metadata"]["managedFields"] = [{"manager": "k\x9b", "time": "2026-03-03T00:00:00Z"}]
    for event in _follower().take([ObjectChange(opened)]):
        assert str(event).isprintable()
        assert orjson.dumps(event.to_dict()).decode().isprintable()


def test_access_that_a_provider_grants_is_not_forgotten() -> None:
    """On a managed cluster every event says that access besides its objects was not read."""
    labels = {"eks.amazonaws.com/nodegroup": "a"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}, "spec": {}}
    follower = AccessFollower([*WORLD, node], "1.30", (*CAPTURED, "nodes"))
    events = follower.take([ObjectChange(binding("makers", "pods", "user:ann"))])
    assert events
    for event in events:
        assert any("EKS" in text for text in event.caveats)
        assert event.to_dict()["caveats"] == list(event.caveats)


def test_an_export_counts_where_a_cluster_is_followed(served: tuple[Cluster, Path]) -> None:
    """A running cluster with an export, and one in process that has one, know what the provider grants."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    _, path = served
    ended, said = threading.Event(), list[str]()
    export = datasets.path("clusters/pellowick-gke.json")

    def started(objects: int, caveats: Sequence[Caveat]) -> None:
        said.extend(one.text for one in caveats)
        ended.set()

    live = LiveCluster(kubeconfig=path)
    assert list(follow(live, ended=ended, started=started, refused=said.append, cloud=export)) == []
    assert any("may deny what IAM roles allow" in text for text in said)
    auditor = ["user:auditor@pellowick.example"]
    loaded = simkit.load(WORLD, captured=[*CAPTURED, "customresourcedefinitions"], cloud=export)
    events = loaded.follow(goals=["get pods"])
    loaded.apply(binding("makers", "pods", *auditor, namespace="dev"))
    told = list(events)
    assert ("path opened", *auditor) not in _told(told), "who may get pods by IAM has it already"
    assert ("granted", *auditor) in _told(told)


def test_a_pod_that_has_ended_opens_no_path() -> None:
    """Its phase is status, and yet decides whether somebody can run commands in it."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "dev"}}
    running = {**pod, "spec": {"serviceAccountName": "boss", "containers": []}, "status": {"phase": "Running"}}
    follower = _follower(
        running, role("exec", rule("create,get", "pods/exec")), binding("runners", "exec", "user:ann", namespace="dev")
    )
    events = follower.take([ObjectChange({**running, "status": {"phase": "Succeeded"}})])
    assert ("path closed", "user:ann") in _told(events)


def test_the_way_back_is_what_people_write() -> None:
    """A deleted object comes back without what its server counted, and a Secret without values does not come back."""
    gone = binding("makers", "pods", "user:ann", namespace="dev")
    gone["metadata"] |= {"resourceVersion": "7", "uid": "u"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "dev"},
        "data": {"a": "Yg=="},
    }
    follower = AccessFollower([*WORLD, gone, secret], "1.30", (*CAPTURED, "secrets"))
    events = follower.take([ObjectChange(gone, deleted=True), ObjectChange(secret, deleted=True)])
    (undo,) = {one.undo for one in events}
    assert len(undo) == 1
    assert undo[0].startswith("kubectl apply")
    assert "resourceVersion" not in undo[0]
    assert "uid" not in undo[0]


def test_an_expectation_breaks_once() -> None:
    """It is told when it breaks, and not again while it stays broken."""
    cannot = {"subject": "user:ann", "verb": "create", "resource": "pods", "namespace": "dev"}
    follower = _follower(expectations=Suite.model_validate({"expectations": [{"name": "few", "cannot": cannot}]}))
    first = follower.take([ObjectChange(binding("makers", "pods", "user:ann"))])
    assert [one.what for one in first if one.kind == "expectation broken"] == ["few"]
    again = follower.take([ObjectChange(binding("more", "pods", "user:bob"))])
    assert "expectation broken" not in {one.kind for one in again}


@given(seed=st.integers(0, 10_000))
def test_it_knows_what_a_new_look_would_find(seed: int) -> None:
    """After any changes the paths are those of the objects that are there, and events lead from the old to the new."""
    random, there = Random(seed), {"admins": binding("admins", "all", "sa:dev/boss")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "_LAYERS", 3)
        follower = _follower()
        known = {
            (one.subject, one.goal.name) for one in escalations(follower.snapshot, direct=True, include_defaults=True)
        }
        for step in range(8):
            name = random.choice(("admins", "a", "b", "c"))
            if name in there and random.random() < 0.4:
                change = ObjectChange(there.pop(name), deleted=True)
            else:
                who = random.choice(("user:ann", "sa:dev/app", "group:devs"))
                there[name] = binding(name, random.choice(("all", "pods")), who)
                change = ObjectChange(there[name])
            events = follower.take([change], float(step))
            fresh = AccessFollower([*WORLD[:-1], *there.values()], "1.30", CAPTURED).snapshot
            now = {(one.subject, one.goal.name) for one in escalations(fresh, direct=True, include_defaults=True)}
            assert now == {
                (one.subject, one.goal.name)
                for one in escalations(follower.snapshot, direct=True, include_defaults=True)
            }
            assert {one.subject for one in events if one.kind == "path opened"} >= {who for who, _ in now - known}
            known = now


@pytest.mark.slow
def test_memory_does_not_grow_with_what_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many writes came, only the objects that are there are kept, and a bounded number of earlier states."""
    monkeypatch.setattr(following, "_LAYERS", 4)
    follower, held = _follower(), list[int]()

    def churn(count: int) -> None:
        for number in range(count):
            made = binding(f"b{number % 8}", "pods", f"user:u{number % 8}", namespace="dev")
            follower.take([ObjectChange(made, deleted=number % 16 >= 8)], float(number))
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])

    churn(16)  # what is computed once for all
    tracemalloc.start()
    churn(16)
    churn(80)
    tracemalloc.stop()
    assert held[2] - held[1] < 300_000


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Cluster, Path]]:
    """A served cluster with somebody who may create pods once a binding says so."""
    cluster = Cluster(seed=1)
    for obj in WORLD:
        cluster.apply(obj)
    path = tmp_path / "kubeconfig"
    server = cluster.serve(kubeconfig=path)
    yield cluster, path
    server.stop()


def test_a_running_cluster_is_followed(served: tuple[Cluster, Path]) -> None:
    """A write through the server is told with its consequences; those who follow can stop."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    cluster, path = served
    ended, refused = threading.Event(), list[str]()

    def started(objects: int, caveats: Sequence[Caveat]) -> None:
        assert objects > len(WORLD)
        cluster.apply(binding("makers", "pods", "user:ann", namespace="dev"))

    kinds = set[str]()
    for event in follow(LiveCluster(kubeconfig=path), ended=ended, started=started, refused=refused.append):
        kinds.add(event.kind)
        if kinds >= {"granted", "path opened"}:
            ended.set()
    assert refused == []


def test_writes_at_the_same_time_are_told_apart(served: tuple[Cluster, Path]) -> None:
    """Each has its own objects, and its own way back."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    cluster, path = served
    ended, undone = threading.Event(), dict[str, tuple[str, ...]]()

    def started(objects: int, caveats: Sequence[Caveat]) -> None:
        for who in ("ann", "bob", "zoe"):
            cluster.apply(binding(who, "pods", f"user:{who}", namespace="dev"))

    for event in follow(LiveCluster(kubeconfig=path), ended=ended, started=started, refused=print):
        if event.kind == "granted":
            undone[event.subject] = event.undo
        if len(undone) == 3:
            ended.set()
    for who in ("ann", "bob", "zoe"):
        assert undone[f"user:{who}"] == (f"kubectl delete rolebindings {who} --namespace dev",)


def test_the_command_writes_a_line_for_each_event(
    served: tuple[Cluster, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JSON and as Detection Findings of OCSF; the exit code tells whether something was granted."""
    event = AccessEvent(
        1.5, "granted", "user:ann", "get secrets everywhere", ("ClusterRoleBinding a",), "kubectl", ("x",)
    )
    monkeypatch.setattr(following, "follow", lambda *args, **named: iter([event]))
    _, path = served
    assert main(["watch", "--kubeconfig", str(path), "-o", "json"]) == 1
    assert orjson.loads(capsys.readouterr().out) == event.to_dict()
    assert main(["watch", "--kubeconfig", str(path), "-o", "ocsf"]) == 1
    told = orjson.loads(capsys.readouterr().out)
    assert (told["class_uid"], told["type_uid"], told["severity_id"], told["time"]) == (2004, 200401, 4, 1500)
    assert main(["watch", "--kubeconfig", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" ClusterRoleBinding a, written by kubectl")
    assert lines[1:] == ["  undo: x", "  granted: user:ann: get secrets everywhere"]


def test_a_server_that_refuses(served: tuple[Cluster, Path]) -> None:
    """A server that does not know a path is told in its own words."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    live = LiveCluster(kubeconfig=served[1])
    with pytest.raises(SimkitError, match="not find"):
        live.listing("/apis/apps/v1/nothing")


class _Told:
    """A server whose list is empty, and which then says some lines."""

    def __init__(self, *events: object) -> None:
        self._lines = [orjson.dumps(event) for event in events]

    def listing(self, path: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": []}

    def stream(self, path: str, query: object) -> tuple[Iterator[bytes], Any]:
        return iter(self._lines), lambda: None


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ERROR", "object": {"code": 500, "message": "boom"}},
        {"type": "ERROR", "object": {"reason": ["x"], "code": "410"}},
        *(
            {"type": "ADDED", "object": {"apiVersion": "v1", "kind": kind, "metadata": metadata}}
            for kind, metadata in (
                ("Pod", {"name": ["a"]}),
                ("Pod", {"name": "a", "namespace": ["x"]}),
                ("Pod", {}),
                ("Pod", "x"),
                ("Secret", {"name": "a"}),
                ("", {"name": "a"}),
            )
        ),
    ],
)
def test_events_that_are_none(event: object) -> None:
    """They are told, and the resource is listed and watched again."""
    ended, lost = threading.Event(), list[str]()
    watch = ResourceWatch(_Told(event), "/api/v1/pods", GroupResource("", "pods"), ended)  # type: ignore[arg-type]
    assert list(watch.listed()) == []

    def tell(text: str) -> None:
        lost.append(text)
        ended.set()

    assert list(watch.changes(tell)) == []
    assert "is asked for again" in lost[0]


def test_a_cluster_in_process_is_followed() -> None:
    """Each iteration tells what was written since the last one, on a fork as on any cluster, at the cluster's time."""
    cluster = Cluster(options=Options(seed=1, clock=SimulatedClock(1000.0)))
    for obj in WORLD:
        cluster.apply(obj)
    fork = cluster.fork()
    events, others = fork.follow(), cluster.follow()
    assert list(events) == []
    fork.apply(binding("makers", "pods", "user:ann", namespace="dev"))
    told = list(events)
    assert _told(told) == {("granted", "user:ann"), ("path opened", "user:ann")}
    assert {one.time for one in told} == {fork.clock.now()}
    assert list(events) == list(others) == []
    fork.delete("rolebinding", "makers", "dev")
    assert _told(list(events)) == {("taken away", "user:ann"), ("path closed", "user:ann")}


def test_a_cluster_whose_history_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state after the gap is told."""
    cluster = Cluster(seed=1)
    for obj in (*WORLD, binding("old", "pods", "user:bob", namespace="dev")):
        cluster.apply(obj)
    events = cluster.follow()
    cluster.apply(binding("makers", "pods", "user:ann", namespace="dev"))
    cluster.delete("rolebinding", "old", "dev")
    store = cluster._control_plane.store
    store.compact(through=store.revision)
    assert {one for one in _told(list(events)) if "path" not in one[0]} == {
        ("granted", "user:ann"),
        ("taken away", "user:bob"),
    }
    assert list(events) == []


def test_a_running_cluster_is_followed_in_python(served: tuple[Cluster, Path]) -> None:
    """It ends after the given time, or when the caller has seen enough."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    cluster, path = served
    assert list(simkit.follow(kubeconfig=path, seconds=0.1)) == []
    writer = threading.Timer(1, lambda: cluster.apply(binding("makers", "pods", "user:ann", namespace="dev")))
    writer.start()
    for event in simkit.follow(kubeconfig=path, seconds=30):
        assert event.subject == "user:ann"
        break
    writer.join()
