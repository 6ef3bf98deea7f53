"""Access in the past is reconstructed as it was, and what the log does not tell is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit import Cluster, SimkitError
from simkit.analysis.access.can import can
from simkit.analysis.access.who_can import who_can
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.history.access_history import AccessHistory
from simkit.analysis.history.reconstruction import history
from simkit.analysis.rbac.objects import RBAC
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock, timestamp
from simkit.meta.errors import StatusError, UnknownSubject
from simkit.meta.identity import Identity
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.sources import Source
from tests.analysis.worlds import binding, role, rule

START = 1_772_500_000.0
ADMIN = Identity("root", ("system:masters", "system:authenticated"))
USERS = ("user:ann", "user:bob", "sa:dev/app")
ASKED = [(user, verb, resource) for user in USERS for verb in ("get", "delete") for resource in ("pods", "secrets")]


@cache
def settled(level: str) -> Cluster:
    """A cluster with one namespace whose account is there."""
    cluster = Cluster(options=Options(seed=1, clock=SimulatedClock(START), audit_policy=level))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev"}}, identity=ADMIN)
    cluster.settle()
    return cluster


def recorded(level: str, seed: int, steps: int) -> tuple[Cluster, list[tuple[float, Snapshot]]]:
    """A cluster with a log of this level after random changes of access, and its states after each."""
    cluster = settled(level).fork()
    clock = cluster.clock
    assert isinstance(clock, SimulatedClock)
    states, random = [(clock.now(), state_of(cluster))], Random(seed)
    for _ in range(steps):
        clock.advance(60)
        change(cluster, random)
        states.append((clock.now(), state_of(cluster)))
    clock.advance(60)
    cluster.get("namespace", "dev")
    return cluster, states


def state_of(cluster: Cluster) -> Snapshot:
    """The roles and bindings as they are now, whatever the cluster forgets later."""
    snapshot = cluster.snapshot()
    return MemorySnapshot([obj for resource in RBAC for obj in snapshot.scan(resource)], captured=RBAC)


def change(cluster: Cluster, random: Random) -> None:
    """Create, replace, patch or delete a role or a binding."""
    name, who = random.choice("xy"), random.choice(USERS)
    rules = [rule(random.choice(("get", "get,delete", "list")), random.choice(("pods", "secrets", "pods,secrets")))]
    word, namespace, made = random.choice(
        (
            ("clusterrole", None, role(name, *rules)),
            ("role", "dev", role(name, *rules, namespace="dev")),
            ("clusterrolebinding", None, binding(name, name, who)),
            ("rolebinding", "dev", binding(name, name, who, namespace="dev", local=random.random() < 0.5)),
        )
    )
    with suppress(StatusError):  # it is not there, or its roleRef cannot change
        if random.random() < 0.3:
            cluster.delete(word, name, namespace, identity=ADMIN)
        else:
            cluster.apply([made], identity=ADMIN)


def answers(snapshot: Snapshot) -> Iterator[bool]:
    for subject, verb, resource in ASKED:
        yield can(snapshot, subject, verb, resource, namespace="dev").allowed


def past_answers(past: AccessHistory, time: float) -> Iterator[str]:
    for subject, verb, resource in ASKED:
        yield past.can(subject, verb, resource, namespace="dev", at=time).verdict


def log_of(cluster: Cluster) -> list[Any]:
    return [dict(event) for event in cluster.audit_log()]


def dump_of(snapshot: Snapshot) -> list[Any]:
    return [obj for resource in RBAC for obj in snapshot.scan(resource)]


@given(seed=st.integers(0, 10_000), from_start=st.booleans())
def test_whole_objects_in_the_log(seed: int, from_start: bool) -> None:
    """With RequestResponse and one dump, at either end, each state is as it was; nothing is unknown after a dump."""
    cluster, states = recorded("RequestResponse", seed, 8)
    time, dumped = states[0] if from_start else states[-1]
    past = history(dump_of(dumped), audit_log=log_of(cluster), at=time)
    for moment, snapshot in states:
        for then, now in zip(past_answers(past, moment + 1), answers(snapshot), strict=True):
            assert then in (("yes" if now else "no"), "unknown")
            assert then != "unknown" or not from_start


@given(seed=st.integers(0, 10_000))
def test_only_metadata_in_the_log(seed: int) -> None:
    """With Metadata, an answer that is not unknown is the truth, and between a write and a later dump it is known."""
    cluster, states = recorded("Metadata", seed, 8)
    ends: dict[float, Source | Dump] = {states[0][0]: dump_of(states[0][1]), states[-1][0] + 1: dump_of(states[-1][1])}
    past = history(dumps=ends, audit_log=log_of(cluster))
    for moment, snapshot in states:
        for then, now in zip(past_answers(past, moment + 1), answers(snapshot), strict=True):
            assert then in (("yes" if now else "no"), "unknown")
    for moment in (states[0][0], states[-1][0] + 2):
        assert "unknown" not in set(past_answers(past, moment))


def as_cloud_logging(event: dict[str, Any]) -> dict[str, Any]:
    """An event as GKE exports it: without groups, level and status code."""
    reference, code = event["objectRef"], event["responseStatus"]["code"]
    group = reference.get("apiGroup") or "core"
    place = ["namespaces", reference["namespace"]] if reference.get("namespace") else []
    if reference["resource"] == "namespaces":
        place = []
    words = (*place, reference["resource"], reference.get("name", ""), reference.get("subresource", ""))
    name = "/".join([group, reference["apiVersion"], *filter(None, words)])
    method = [*reversed(group.split(".")), reference["apiVersion"], reference["resource"], reference.get("subresource")]
    bodies = {
        part: {"@type": "a.Type", **event[f"{part}Object"]}
        for part in ("request", "response")
        if isinstance(event.get(f"{part}Object"), dict)
    }
    return {
        "insertId": event["auditID"],
        "timestamp": event["stageTimestamp"],
        "labels": event["annotations"],
        "protoPayload": {
            "serviceName": "k8s.io",
            "methodName": ".".join([*filter(None, method), event["verb"]]),
            "resourceName": name,
            "authenticationInfo": {"principalEmail": event["user"]["username"]},
            **({} if code < 400 else {"status": {"code": 7}}),
            **bodies,
        },
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_history_of_a_cluster_on_gke(seed: int) -> None:
    """Entries of Cloud Logging tell the same of access as the events that they were made of."""
    cluster, states = recorded("RequestResponse", seed, 8)
    entries = [
        as_cloud_logging(one) for one in log_of(cluster) if one["stage"] == "ResponseComplete" and "objectRef" in one
    ]
    past = history(dump_of(states[0][1]), audit_log=entries, at=states[0][0])
    for moment, snapshot in states:
        for then, now in zip(past_answers(past, moment + 1), answers(snapshot), strict=True):
            assert then == ("yes" if now else "no")
    plain = history(dump_of(states[0][1]), audit_log=log_of(cluster), at=states[0][0])
    columns = ["time", "user", "verb", "object", "gained", "lost"]
    assert past.changes()[columns].to_dict("records") == plain.changes()[columns].to_dict("records")


@pytest.mark.slow
@pytest.mark.parametrize("level", ["Metadata", "RequestResponse"])
def test_a_hundred_moments(level: str) -> None:
    """With whole objects each moment is as a dump of it; with Metadata the truth is never denied."""
    cluster, states = recorded(level, 1, 100)
    past = history(dump_of(states[0][1]), audit_log=log_of(cluster), at=states[0][0])
    for moment, snapshot in states:
        certain = past.moment(moment + 1).certain
        if level == "RequestResponse":
            assert [obj for obj in certain.items() if obj[0].resource in RBAC] == list(snapshot.items())  # type: ignore[attr-defined]
        for then, now in zip(past_answers(past, moment + 1), answers(snapshot), strict=True):
            assert then in (("yes" if now else "no"), "unknown")
    assert len(states) == 101


def test_what_writes_to_other_objects_change() -> None:
    """A pod that is bound to a node lets it read secrets, and its service account is no longer unused."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "dev"}}
    spec = {"nodeName": "n1", "volumes": [{"name": "v", "secret": {"secretName": "s"}}], "serviceAccountName": "robot"}
    place = {"resource": "pods", "namespace": "dev", "name": "p"}
    made = event(30, "create", "", objectRef=place, level="RequestResponse", responseObject={**pod, "spec": spec})
    other = {**pod, "metadata": {"name": "other", "namespace": "dev"}, "spec": {"containers": []}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "dev"}}
    objects = [*dump_of(Cluster(seed=1).snapshot()), other, account, binding("b", "view", "sa:dev/robot")]
    dump = load(objects, authorization_mode=["Node", "RBAC"])
    past = history(dump, at=START, audit_log=[event(0, "get", "pods"), made, END])
    rows = past.since_when("user:system:node:n1", "get", "secrets", namespace="dev", name="s")
    assert rows["verdict"].tolist() == ["no", "yes"]
    assert rows["object"].tolist() == ["", "pods dev/p"]
    [found] = audit(past.moment(START + 10).certain, checks=["unused-account"]).findings
    assert past.exposed_for(found)["verdict"].tolist() == ["yes", "no"]


def test_subjects_that_existed_for_a_while() -> None:
    """A service account that was there at some time is no mistake; one that never was is doubted once."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "dev"}}
    place = {"resource": "serviceaccounts", "namespace": "dev", "name": "robot"}
    made = event(1, "create", "", objectRef=place, level="RequestResponse", responseObject=account)
    gone = event(60, "delete", "", objectRef=place, level="RequestResponse", responseObject={"kind": "Status"})
    bound = event(2, "create", "clusterrolebindings", "c", responseObject=binding("c", "r", "sa:dev/robot"))
    other = {**account, "metadata": {"name": "other", "namespace": "dev"}}
    past = history([*GRANTS, other], at=START, audit_log=[made, bound, gone, END])
    assert "yes" in set(past.since_when("sa:dev/robot", "get", "pods")["verdict"])
    with pytest.warns(UnknownSubject, match="there is no service account sa:dev/robt") as told:
        past.since_when("sa:dev/robt", "get", "pods")
    assert len(told) == 1


def test_authorizers_are_those_of_the_dump() -> None:
    """What a dump states counts at every moment; nodes are asked of the Node authorizer."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "dev"}}
    bound = {**pod, "spec": {"nodeName": "n1", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}}
    for modes, verdict in ((["Node", "RBAC"], "yes"), (["RBAC"], "no")):
        dump = load([*dump_of(Cluster(seed=1).snapshot()), bound], authorization_mode=modes)
        past = history(dump, at=START)
        asked: dict[str, Any] = {"namespace": "dev", "name": "s", "at": START}
        assert past.can("user:system:node:n1", "get", "secrets", **asked).verdict == verdict
        assert past.can("user:ann", "get", "secrets", **asked).verdict == "no"


def test_writes_that_overlapping_exports_have_twice() -> None:
    """They count once, which is said; uses too, and neither refused ones nor those of a subresource."""
    made: dict[str, Any] = {"level": "RequestResponse", "auditID": "1", "responseObject": binding("c", "r", "user:bob")}
    used: dict[str, Any] = {
        "auditID": "2",
        "objectRef": {"resource": "pods", "namespace": "dev"},
        "user": {"username": "bob"},
    }
    refused = {**used, "auditID": "3", "responseStatus": {"code": 403}}
    inside = {**used, "auditID": "4", "objectRef": {"resource": "pods", "subresource": "exec", "name": "p"}}
    write = event(1, "create", "clusterrolebindings", "c", **made)
    log = [write, *(event(2, "create", "pods", **one) for one in (used, refused, inside)), END]
    past = history(GRANTS, at=START, audit_log=[*log, *log])
    assert len(past.changes()) == 2 + 1  # END has no audit id
    assert any(caveat.text.startswith("1 write is in the audit log more than once") for caveat in past.caveats)
    assert past.used_since("user:bob", "create", "pods")["count"].tolist() == [1]
    assert past.used_since("user:bob", "create", "pods/exec")["count"].tolist() == [1]


def test_dumps_without_a_log() -> None:
    """At the moments of dumps everything is known, between them nothing is."""
    grants = [role("r", rule("get", "pods")), binding("b", "r", "user:ann")]
    dumps: dict[float, Source | Dump] = {START: grants, START + 100: grants}
    past = history(dumps=dumps)
    verdicts = [past.can("user:ann", "get", "pods", at=START + more).verdict for more in (0, 50, 100, 150)]
    assert verdicts == ["yes", "unknown", "yes", "unknown"]
    assert "nothing is known of the time between dumps" in past.caveats[0].text


def told(resource: str = "pods") -> tuple[Cluster, AccessHistory]:
    """Root creates a role, mallory binds ann, ann reads, and root deletes the binding."""
    cluster, states = recorded("RequestResponse", 0, 0)
    clock = cluster.clock
    assert isinstance(clock, SimulatedClock)
    assert isinstance(clock, SimulatedClock)
    for who, act in (
        (ADMIN, lambda who: cluster.apply([role("r", rule("get", resource))], identity=who)),
        (
            Identity("mallory", ADMIN.groups),
            lambda who: cluster.apply([binding("b", "r", "user:ann")], identity=who),
        ),
        (Identity("ann"), lambda who: cluster.perform(_get_pods(), identity=who)),
        (ADMIN, lambda who: cluster.delete("clusterrolebinding", "b", identity=who)),
    ):
        clock.advance(60)
        act(who)
    clock.advance(60)
    cluster.get("namespace", "dev")
    return cluster, history(dump_of(states[0][1]), audit_log=log_of(cluster), at=states[0][0])


def _get_pods() -> Any:
    from simkit.meta.message import Request

    return Request.of("GET", "/api/v1/namespaces/dev/pods/x")


def test_since_when_and_by_whom() -> None:
    """The intervals meet without gaps, and each names the write that began it."""
    _, past = told()
    rows = past.since_when("user:ann", "get", "pods", namespace="dev")
    assert list(rows["verdict"]) == ["no", "yes", "no"]
    assert list(rows["changed_by"]) == ["", "user:mallory", "user:root"]
    assert list(rows["object"])[1:] == ["ClusterRoleBinding b"] * 2
    assert list(rows["to"])[:-1] == list(rows["from"])[1:]
    granted = past.who_granted("user:ann", "get", "pods", namespace="dev")
    assert [str(moment) for moment in granted["from"]] == [str(pd.Timestamp(START + 180, unit="s", tz="UTC"))]


def _finding(past: AccessHistory) -> Finding:
    """What an audit says of the rules that the binding granted while it existed."""
    found = audit(past.moment(START + 200).certain).findings
    return next(one for one in found if one.rules and one.binding is not None and one.binding.name == "b")


def test_for_how_long_a_finding_held() -> None:
    """It begins with the write that granted it, and ends with the one that took it away."""
    _, past = told("secrets")
    finding = _finding(past)
    rows = past.exposed_for(finding)
    assert list(rows["verdict"]) == ["no", "yes", "no"]
    assert list(rows["changed_by"]) == ["", "user:mallory", "user:root"]


def test_a_finding_about_unknown_objects_is_unknown() -> None:
    """With Metadata alone nobody knows what the binding granted until a dump tells."""
    cluster, past = told("secrets")
    finding = _finding(past)
    bare = [
        {name: part for name, part in event.items() if name not in ("requestObject", "responseObject")}
        for event in log_of(cluster)
    ]
    blurred = history(dump_of(past.moment(START).certain), audit_log=bare, at=START)
    assert "unknown" in set(blurred.exposed_for(finding)["verdict"])
    assert "yes" not in set(blurred.exposed_for(finding)["verdict"])


def test_changes_and_use() -> None:
    """Each write says what subjects gained and lost; use is counted from the log."""
    _, past = told()
    rows = past.changes(START + 1)
    assert list(zip(rows["user"], rows["verb"], rows["object"], strict=True)) == [
        ("user:root", "create", "ClusterRole r"),
        ("user:mallory", "create", "ClusterRoleBinding b"),
        ("user:root", "delete", "ClusterRoleBinding b"),
    ]
    assert list(rows["gained"]) == [0, 1, 0]
    assert list(rows["lost"]) == [0, 0, 1]
    assert list(past.used_since("user:ann", "get", "pods")["count"]) == [1]
    assert list(past.used_since("user:ann", "get", "pods", since=START + 10_000)["count"]) == [0]
    found = past.who_can("get", "pods", namespace="dev", at=START + 200)
    assert set(found["subject"]) - set(who_can(Cluster(seed=1).snapshot(), "get", "pods")["subject"]) == {"user:ann"}


@pytest.mark.parametrize("level", ["Request", "RequestResponse"])
def test_patches(level: str) -> None:
    """A merge patch is applied to what is known; what server-side apply did to owned fields is not guessed."""
    cluster, states = recorded(level, 0, 0)
    clock = cluster.clock
    assert isinstance(clock, SimulatedClock)
    assert isinstance(clock, SimulatedClock)
    clock.advance(60)
    from simkit.meta.message import Request

    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
    body = {"rules": [rule("get", "configmaps")]}
    kind = "application/merge-patch+json"
    assert cluster.perform(Request.of("PATCH", path, body, content_type=kind), identity=ADMIN).status == 200
    clock.advance(60)
    cluster.get("namespace", "dev")
    past = history(dump_of(states[0][1]), audit_log=log_of(cluster), at=states[0][0])
    key = next(key for key in past.timeline.points if key.name == "view")
    state = past.timeline.state(key, clock.now())
    assert isinstance(state, dict)
    assert state["rules"] == [rule("get", "configmaps")]


def test_wrong_questions() -> None:
    """A moment that is none, a dump without one, and no input are told."""
    past = history([role("r")], at=START)
    with pytest.raises(SimkitError, match="is no moment"):
        past.can("user:ann", "get", "pods", at="yesterday")
    with pytest.raises(SimkitError, match="name it: --dumped-at"):
        history([role("r")])
    with pytest.raises(SimkitError, match="needs a dump"):
        history()
    assert past.can("user:ann", "get", "pods", at=timestamp(START)).verdict == "unknown"


GRANTS = [role("r", rule("get", "pods")), binding("b", "r", "user:ann")]


def event(after: float, verb: str, resource: str, name: str = "", **more: Any) -> dict[str, Any]:
    """An audit event of the level Metadata, some seconds after the start."""
    reference = {"resource": resource, "apiGroup": "rbac.authorization.k8s.io", "name": name}
    return {
        "verb": verb,
        "stage": "ResponseComplete",
        "user": {"username": "mallory"},
        "objectRef": reference,
        "stageTimestamp": timestamp(START + after),
        "responseStatus": {"code": 201 if verb == "create" else 200},
    } | more


END = event(100, "create", "clusterroles", "other")


def bob_could(past: AccessHistory, after: float) -> str:
    return past.can("user:bob", "get", "pods", at=START + after).verdict


def test_objects_that_no_dump_tells_of() -> None:
    """Without a dump of roles and bindings that the log reaches, nobody is known to have had no access."""
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "dev"}}
    log = [event(0, "create", "clusterroles", "one"), END]
    assert bob_could(history([configuration], at=START), 0) == "unknown"
    assert bob_could(history(audit_log=log), 50) == "unknown"
    assert bob_could(history(GRANTS, at=START + 9000, audit_log=log), 50) == "unknown"
    assert history(GRANTS, at=START, audit_log=log).can("user:ann", "get", "pods", at=START + 50).verdict == "yes"


def test_generated_names() -> None:
    """A binding whose generated name is not in the log may have granted anything, and shows as a change."""
    past = history(
        dump_of(Cluster(seed=1).snapshot()), at=START, audit_log=[event(1, "create", "clusterrolebindings"), END]
    )
    assert bob_could(past, 0.5) == "no"
    assert bob_could(past, 50) == "unknown"
    assert "(generated name)" in past.changes().iloc[0]["object"]


def test_dumped_objects_that_were_created_after_the_log_began() -> None:
    """An object did not exist before its creation, whatever the log says of it."""
    cluster = Cluster(seed=1)
    late = binding("late", "r", "user:bob")
    late["metadata"]["creationTimestamp"] = timestamp(START + 50)
    objects = [*dump_of(cluster.snapshot()), role("r", rule("get", "pods")), late]
    past = history(objects, at=START + 100, audit_log=[event(0, "get", "pods"), END])
    assert [bob_could(past, after) for after in (10, 60)] == ["no", "yes"]


def test_deletions_whose_answer_is_not_in_the_log() -> None:
    """A finalizer keeps an object; one of which nothing is known may be kept, too."""
    kept = binding("b", "r", "user:bob")
    kept["metadata"]["finalizers"] = ["example.com/keep"]
    log = [event(1, "delete", "clusterrolebindings", "b"), END]
    for objects, verdict in (([GRANTS[0], kept], "yes"), ([GRANTS[0], binding("b", "r", "user:bob")], "no")):
        whole = [*dump_of(Cluster(seed=1).snapshot()), *objects]
        assert bob_could(history(whole, at=START, audit_log=log), 50) == verdict


def test_patches_after_a_gap() -> None:
    """What an old dump says is no ground for a patch, if the log does not cover the time between them."""
    patch = event(1, "patch", "clusterrolebindings", "b", requestObject={"metadata": {"labels": {"a": "b"}}})
    past = history(GRANTS, at=START - 9000, audit_log=[event(0, "get", "pods"), patch, END])
    assert past.can("user:ann", "get", "pods", at=START + 50).verdict == "unknown"


def test_who_stands_behind_an_impersonated_write() -> None:
    """The user who sent a request is named, and not only the one as whom it was carried out."""
    made = {"level": "RequestResponse", "responseObject": binding("c", "r", "user:bob")}
    write = event(1, "create", "clusterrolebindings", "c", impersonatedUser={"username": "root"}, **made)
    past = history(GRANTS, at=START, audit_log=[write, END])
    assert past.who_granted("user:bob", "get", "pods")["changed_by"].tolist() == ["user:mallory as user:root"]
    assert past.changes().iloc[0]["user"] == "user:mallory as user:root"


def test_moments_without_a_zone() -> None:
    """They are UTC, wherever the question is asked."""
    zoned, plain = (history(GRANTS, at=f"2026-03-03T12:00:00{zone}").timeline.dumps[0].time for zone in ("Z", ""))
    assert zoned == plain
