"""Errors in the metadata that all kinds have."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.engine.registry.metadata import validate_update
from simkit.kinds.strategy import CHANGES
from simkit.meta.message import Request
from simkit.meta.objects import Object
from tests.releases import BASE

MERGE = "application/merge-patch+json"


def held(*finalizers: str) -> Object:
    return {"metadata": {"name": "a", "finalizers": list(finalizers)}}


def test_finalizers_that_exclude_each_other() -> None:
    """The two are told as kube-apiserver prints a list."""
    found = [
        error.told(BASE)
        for error in validate_update(BASE, held("orphan", "foregroundDeletion"), held(), checks=(CHANGES,))
    ]
    assert found == [
        'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    ]


FAULTS: tuple[Object, ...] = (
    {"labels": {"a b": "x"}},
    {"finalizers": ["bad"]},
    {"finalizers": ["a/b c"]},
    {"deletionGracePeriodSeconds": 3},
)
POD: Object = {"containers": [{"name": "c", "image": "i"}]}
SELECTED: dict[str, Any] = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
}
VOLUME: Object = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}


@pytest.mark.parametrize(
    ("version", "kind", "body", "path", "told"),
    [
        ("v1", "ConfigMap", {}, "/api/v1/namespaces/default/configmaps/t", (4, 2, 2, 2)),
        ("apps/v1", "Deployment", {"spec": SELECTED}, "/apis/apps/v1/namespaces/default/deployments/t", (3, 1, 1, 2)),
        ("rbac.authorization.k8s.io/v1", "Role", {}, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/t", (5, 3, 3, 2)),
        ("v1", "LimitRange", {"spec": {"limits": []}}, "/api/v1/namespaces/default/limitranges/t", (3, 1, 2, 1)),
        ("v1", "PersistentVolume", {"spec": VOLUME}, "/api/v1/persistentvolumes/t", (4, 2, 3, 1)),
        ("coordination.k8s.io/v1", "Lease", {}, "/apis/coordination.k8s.io/v1/namespaces/default/leases/t", (3, 0, 1, 2)),
        ("policy/v1", "PodDisruptionBudget", {"spec": {}}, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/t", (2, 0, 1, 1)),
        ("policy/v1", "PodDisruptionBudget", {"spec": {}}, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/t/status", (2, 0, 1, 1)),
        ("v1", "PersistentVolume", {"spec": VOLUME}, "/api/v1/persistentvolumes/t/status", (3, 1, 1, 2)),
    ],
)  # fmt: skip
def test_causes_are_told_as_often_as_the_server_looks(
    version: str, kind: str, body: Object, path: str, told: tuple[int, ...]
) -> None:
    """For all kinds alike, and then as the kind's own checks go; measured on kube-apiserver."""
    cluster = simkit.Cluster(seed=1)
    cluster.create({"apiVersion": version, "kind": kind, "metadata": {"name": "t"}, **body})
    answers = [cluster.perform(Request.of("PATCH", path, {"metadata": error}, content_type=MERGE)) for error in FAULTS]
    assert tuple(len(answer.object.get("details", {}).get("causes", ())) for answer in answers) == told


def test_the_key_of_a_refused_uid_is_the_folder_of_the_storage() -> None:
    """Some kinds have folders of older names."""
    cluster = simkit.Cluster(seed=1)
    spec = {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}}
    stored = cluster.create(
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "t"}, "spec": spec}
    )
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/t"
    other = {**stored, "metadata": {**stored["metadata"], "uid": "other"}}
    assert "Key: /registry/ingress/default/t," in cluster.perform(Request.of("PUT", path, other)).object["message"]
