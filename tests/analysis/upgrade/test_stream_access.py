"""Streams over WebSockets need the verb create as of 1.35: whom that concerns."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis.upgrade.named_versions import STREAMS

RBAC = "rbac.authorization.k8s.io"


def role(name: str, *verbs: str, kind: str = "ClusterRole", resource: str = "pods/exec") -> dict[str, Any]:
    metadata = {"name": name} if kind == "ClusterRole" else {"name": name, "namespace": "shop"}
    rule = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": [rule]}


def binding(name: str, user: str, *, namespace: str = "", kind: str = "ClusterRole") -> dict[str, Any]:
    metadata = {"name": f"{name}-{user}", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user}],
    }


READS, WORKS = role("reads", "get"), role("works", "create")


@pytest.mark.parametrize(
    ("objects", "who"),
    [
        ([READS, binding("reads", "ann")], "user:ann"),
        ([READS, WORKS, binding("reads", "ann"), binding("works", "ann")], ""),
        ([READS, WORKS, binding("reads", "ann"), binding("works", "bob")], "user:ann"),
        ([READS, WORKS, binding("reads", "ann"), binding("works", "ann", namespace="shop")], "user:ann"),
        ([READS, WORKS, binding("reads", "ann", namespace="shop"), binding("works", "ann", namespace="shop")], ""),
        ([READS, role("works", "create", resource="pods/attach"), binding("reads", "ann"), binding("works", "ann")],
         "user:ann"),
        ([READS], ""),
    ],
)  # fmt: skip
def test_who_is_concerned(objects: list[dict[str, Any]], who: str) -> None:
    """Who has get by one role and create by another, at the same place, goes on working."""
    report = simkit.Cluster(release="1.34", seed=1).upgrade_report("1.35", manifests=objects)
    (row,) = (row for row in report.rows if row.check == STREAMS)
    assert (row.breaks, row.who if who else "") == (bool(who), who)
