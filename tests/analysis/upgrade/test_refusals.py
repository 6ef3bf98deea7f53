"""Recorded requests that worked and that a later release refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.upgrade.items import Break
from simkit.analysis.upgrade.replay import REFUSED, UNDECIDED
from simkit.cli import main
from simkit.meta.identity import Identity
from simkit.meta.message import Request

NODE = ("system:nodes", "system:authenticated")
USERS = ("system:authenticated",)
RBAC = "rbac.authorization.k8s.io"


def event(user: str, verb: str, path: str, code: int = 200, groups: tuple[str, ...] = USERS) -> dict[str, Any]:
    """An event of an audit log about a resource of the core group, with its objectRef read from the path."""
    parts = path.partition("?")[0].split("/")[3:]
    namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
    resource, name, subresource = [*(parts[2:] if namespace else parts), "", ""][:3]
    reference = {"resource": resource, "name": name, "subresource": subresource, "namespace": namespace}
    return {
        "verb": verb,
        "requestURI": path,
        "user": {"username": user, "groups": list(groups)},
        "objectRef": {"apiVersion": "v1", **reference},
        "responseStatus": {"code": code},
        "userAgent": "robot/1",
    }


def rights(name: str, *verbs: str, resource: str = "*", user: str) -> list[dict[str, Any]]:
    rule = {"apiGroups": ["*"], "resources": [resource], "verbs": list(verbs)}
    subject = {"kind": "User", "name": user, "apiGroup": RBAC}
    role, version = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, f"{RBAC}/v1"
    metadata = {"name": name}
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]},
        {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": role,
         "subjects": [subject]},
    ]  # fmt: skip


@pytest.fixture
def cluster() -> simkit.Cluster:
    cluster = simkit.Cluster(release="1.31", seed=1)
    for obj in (*rights("reads", "get", "list", user="ann"), *rights("works", "*", user="bob")):
        cluster.apply(obj)
    return cluster


def refused(cluster: simkit.Cluster, log: list[dict[str, Any]], to: str = "1.35") -> list[Break]:
    return [row for row in cluster.upgrade_report(to, audit_log=log).rows if row.check == REFUSED]


EXEC = "/api/v1/namespaces/default/pods/web/exec?command=id&stdout=true"


@pytest.mark.parametrize("modes", [("RBAC",), ("Node", "RBAC")])
def test_nodes_read_only_what_is_theirs(modes: tuple[str, ...]) -> None:
    """From 1.32 on a node lists its own pods only, whether or not the modes of the server are known."""
    cluster = simkit.Cluster(options=simkit.Options(release="1.31", seed=1, authorization_mode=modes))
    own = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"
    log = [
        event("system:node:n1", "list", "/api/v1/pods", groups=NODE),
        event("system:node:n1", "list", own, groups=NODE),
        event("system:node:n1", "list", "/api/v1/services", groups=NODE),
    ]
    (row,) = refused(cluster, log)
    assert (row.release, row.where, row.breaks) == ("1.32", "list pods", True)
    assert row.who == "user:system:node:n1 (robot/1)"
    assert not refused(cluster, log[1:])


def test_connections_by_get_need_create(cluster: simkit.Cluster) -> None:
    """Who has get alone opens no shell from 1.35 on; equal requests are one row with their number."""
    log = [
        event("ann", "get", EXEC, 101),
        event("ann", "get", EXEC.replace("id", "ls"), 101),
        event("bob", "get", EXEC, 101),
        event("bob", "create", EXEC, 101),
        event("eve", "get", EXEC, 403),
    ]
    (row,) = refused(cluster, log)
    assert (row.release, row.where, row.who) == ("1.35", "get pods/exec", "user:ann (robot/1)")
    assert row.evidence.startswith("2 recorded requests, such as default/web")
    assert not refused(cluster, log, to="1.34")


def test_the_proof_has_the_answers(cluster: simkit.Cluster) -> None:
    """What is refused is in the proof with both answers, and nothing mends it."""
    proof = cluster.upgrade_report("1.35", audit_log=[event("ann", "get", EXEC, 101)]).prove()
    assert [(row.who, row.after, row.mended, row.verdict) for row in proof.rows] == [
        ("user:ann (robot/1)", 403, None, "breaks")
    ]
    assert not proof


def test_unknown_grants_are_said(cluster: simkit.Cluster) -> None:
    """A request that worked and that no stored binding allows is undecided, and breaks nothing."""
    log = [event("zoe", "get", "/api/v1/namespaces/default/secrets/a")]
    (row,) = (row for row in cluster.upgrade_report("1.35", audit_log=log).rows if row.check == UNDECIDED)
    assert (row.breaks, row.who) == (False, "user:zoe")
    assert not refused(cluster, log)


def test_writes_change_nothing(cluster: simkit.Cluster) -> None:
    """Recorded writes are trials: what a log deletes is there for what it reads afterwards."""
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    place = "/api/v1/namespaces/default/configmaps/a"
    log = [event("bob", "delete", place), event("bob", "patch", place), event("bob", "get", place)]
    assert not {row.check for row in cluster.upgrade_report("1.35", audit_log=log).rows} & {REFUSED, UNDECIDED}
    assert cluster.get("configmap", "a", "default")


SAMPLE = [
    (user, groups, verb, path)
    for user, groups in (("system:node:n1", NODE), ("ann", USERS), ("system:kube-scheduler", USERS))
    for verb, path in (
        ("list", "/api/v1/pods"),
        ("list", "/api/v1/nodes"),
        ("get", "/api/v1/nodes/n2"),
        ("get", "/api/v1/namespaces/default/secrets/a"),
        ("watch", "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1"),
        ("get", EXEC),
        ("get", EXEC.replace("exec", "portforward")),
        ("get", EXEC.replace("exec", "log")),
    )
]


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.35", "1.37"])
def test_the_answer_is_that_of_the_forks(release: str) -> None:
    """A recorded request is a row exactly if a fork at the first release allows it and one at the last does not."""
    options = simkit.Options(release="1.31", seed=1, authorization_mode=("Node", "RBAC"))
    cluster = simkit.Cluster(options=options)
    for obj in rights("reads", "get", "list", user="ann"):
        cluster.apply(obj)
    now, then = cluster.fork(), cluster.fork(release=release)
    for user, groups, verb, path in SAMPLE:
        request, identity = Request.of("GET", path), Identity(user, groups)
        before, after = (server.perform(request, identity=identity).status for server in (now, then))
        rows = refused(cluster, [event(user, verb, path, groups=groups)], to=release)
        assert bool(rows) == (before != 403 and after == 403), (user, verb, path, before, after)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An audit log beside a dump fails the command when one of its requests will be refused."""
    stored = [{**obj, "metadata": {**obj["metadata"], "uid": str(number)}}
              for number, obj in enumerate(rights("reads", "get", user="ann"))]  # fmt: skip
    dump, log = tmp_path / "dump.json", tmp_path / "audit.jsonl"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": stored}))
    log.write_text(json.dumps(event("ann", "get", EXEC, 101)) + "\n")
    line = ["upgrade", str(dump), "--from", "1.31", "--audit-log", str(log), "-o", "json"]
    assert main([*line, "--to", "1.35"]) == 1
    assert "user:ann" in capsys.readouterr().out
    assert main([*line, "--to", "1.34"]) == 0


@pytest.mark.parametrize(("since", "to"), [("1.24", "1.30"), ("1.31", "1.35"), ("1.36", "1.37")])
def test_a_clean_cluster_breaks_nothing(since: str, to: str) -> None:
    """What the default roles of a release allow to the server's own users, a later one allows them too."""
    cluster = simkit.Cluster(release=since, seed=1)
    log = [
        event(user, verb, path)
        for user in ("system:kube-scheduler", "system:kube-controller-manager", "system:kube-proxy")
        for verb, path in (
            ("list", "/api/v1/pods"),
            ("watch", "/api/v1/nodes?watch=true"),
            ("list", "/api/v1/services"),
        )
    ]
    assert [row for row in cluster.upgrade_report(to, audit_log=log).rows if row.breaks] == []


def path_event(user: str, path: str, code: int = 200) -> dict[str, Any]:
    """An event about a path that is no resource."""
    groups = ["system:masters"] if user == "root" else list(USERS)
    return {
        "verb": "get", "requestURI": path, "user": {"username": user, "groups": groups},
        "responseStatus": {"code": code}, "userAgent": "robot/1",
    }  # fmt: skip


def test_paths_that_are_no_resources_are_decided(cluster: simkit.Cluster) -> None:
    """A check of health that a release takes away is a row; what tells what is served, and what stays, is none."""
    gone = "/readyz/poststarthook/apiservice-status-available-controller"
    log = [
        path_event("root", path)
        for path in (gone, f"{gone}?verbose", "/metrics", "/apis/flowcontrol.apiserver.k8s.io/v1beta3")
    ]
    report = cluster.fork(release="1.30").upgrade_report("1.32", audit_log=log)
    (row,) = (row for row in report.rows if row.check == REFUSED)
    assert (row.release, row.where, row.who) == ("1.31", f"get {gone}", "user:root (robot/1)")
    assert row.evidence.startswith("2 recorded requests")
    assert not [row for row in report.rows if row.check == UNDECIDED]


def test_a_path_that_nothing_grants_is_undecided(cluster: simkit.Cluster) -> None:
    """The log says that it was allowed, and the objects do not say why."""
    report = cluster.upgrade_report(
        "1.33", audit_log=[path_event("scraper", "/metrics"), path_event("ann", "/healthz")]
    )
    (row,) = (row for row in report.rows if row.check in (REFUSED, UNDECIDED))
    assert (row.check, row.who) == (UNDECIDED, "user:scraper")
