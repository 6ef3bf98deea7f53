"""Names that mean something in the path of a request: whoever asks about one object gets that one and no other."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis.least_privilege.change import Change, write
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.meta.errors import StatusError
from simkit.meta.names import Key

_NAMES = ("ops?x", "ops?dryRun=All", "?", "ops#x", "ops ?", "ops&x=y", "o\u00e9", "ops\nx", "ops;x", "..x?")
"""Names that RBAC allows: all but ``.``, ``..``, and what contains ``/`` or ``%``."""


def _role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**kind, "metadata": {"name": name}, "rules": list(rules)}


def _names(cluster: simkit.Cluster) -> set[str]:
    return {role["metadata"]["name"] for role in cluster.list("clusterroles")}


@pytest.mark.parametrize("name", _NAMES)
def test_an_object_of_any_name_is_the_one_that_is_meant(name: str) -> None:
    """Of the role ``ops?x``, the role ``ops`` was read and deleted."""
    cluster = simkit.Cluster(seed=1)
    cluster.apply([_role("ops"), _role(name)])
    others = _names(cluster) - {name}
    cluster.apply(_role(name, {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}))
    assert cluster.get("clusterrole", name)["rules"]
    assert not cluster.get("clusterrole", "ops")["rules"]
    assert cluster.admit(_role(name)).refused_at == ""
    with cluster.what_if() as trial:
        assert write(trial, Change(Key(CLUSTER_ROLES, "", name), None)).succeeded
        assert _names(trial) == others
    cluster.delete("clusterrole", name)
    assert _names(cluster) == others


@pytest.mark.parametrize("name", ["\ud800", "a/b", "..", "%2e%2e", "none?watch=true"])
def test_names_of_no_object(name: str) -> None:
    """They are looked for as they are."""
    with pytest.raises(StatusError):
        simkit.Cluster(seed=1).get("clusterroles", name, "")


def test_a_proof_about_an_object_of_any_name() -> None:
    """The proof asked for another role, and said that there is none."""
    cluster = simkit.Cluster(seed=1)
    group = "rbac.authorization.k8s.io"
    lift = {"apiGroups": [group], "resources": ["clusterroles"], "resourceNames": ["ops?x"], "verbs": ["*"]}
    cluster.apply([_role("ops"), _role("ops?x"), _role("lift", lift)])
    for role in ("ops?x", "lift"):
        reference = {"apiGroup": group, "kind": "ClusterRole", "name": role}
        binding = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role}}
        subject = {"kind": "User", "name": "alice", "apiGroup": group}
        cluster.apply({**binding, "roleRef": reference, "subjects": [subject]})
    proofs = [path.prove() for path in cluster.escalations("user:alice", "cluster-admin")]
    assert [proof.outcome for proof in proofs] == ["proven"]
