"""Clusters for tests of escalation: snapshots of few objects, and servers with some on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.cluster.cluster import Cluster
from tests.analysis.worlds import account, binding, namespace, role

RBAC = "rbac.authorization.k8s.io"
ATTACKER = "sa:dev/attacker"


def pod(place: str, name: str, of: str = "default", spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A running pod."""
    made = {"serviceAccountName": of, "nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]}
    metadata = {"name": name, "namespace": place}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**made, **(spec or {})},
        "status": {"phase": "Running"},
    }


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def fenced(name: str, level: str = "restricted") -> dict[str, Any]:
    """A namespace with a pod security level."""
    made = namespace(name)
    made["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": level}
    return made


def scene(*rules: dict[str, Any], place: str = "dev") -> list[dict[str, Any]]:
    """Two namespaces with an administrator's account in ``ops``, and an attacker in ``dev`` with some rules.

    ``place`` is where the rules are bound; empty for the whole cluster.
    """
    bound = [role("rules", *rules), binding("attack", "rules", ATTACKER, namespace=place)] if rules else []
    return [
        *(fenced("dev"), fenced("ops"), account("dev", "attacker"), account("dev", "other"), account("ops", "admin")),
        *bound,
    ]


def served(*objects: Mapping[str, Any]) -> Cluster:
    """A server with its default objects, and some more on top."""
    cluster = Cluster(seed=3)
    for obj in objects:
        cluster.apply([dict(obj)])
    return cluster
