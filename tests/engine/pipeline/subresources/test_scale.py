"""Scale: one number of an object, read and written by itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response

BASE = "/apis/apps/v1/namespaces/default"
PATH = f"{BASE}/deployments/web/scale"
TEMPLATE = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
SPEC = {"replicas": 1, "selector": {"matchLabels": {"app": "w"}}, "template": TEMPLATE}
TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(options=Options(seed=1, controllers=()))
    made.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": SPEC})
    return made


def patch(cluster: Cluster, body: Any, kind: str = "merge", query: str = "", manager: str = "ann") -> Response:
    headers = {"content-type": TYPES.get(kind, kind), "user-agent": manager}
    return cluster.perform(Request.of("PATCH", f"{PATH}{query}", body, headers=headers))


def put(cluster: Cluster, replicas: int, **metadata: Any) -> Response:
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", **metadata}}
    return cluster.perform(Request.of("PUT", PATH, {**body, "spec": {"replicas": replicas}}))


def owners(cluster: Cluster) -> list[tuple[str, str, str]]:
    """The owners of the number of replicas: manager, operation, subresource."""
    stored = cluster.perform(Request.of("GET", f"{BASE}/deployments/web")).object
    records = stored["metadata"]["managedFields"]
    found = [one for one in records if "f:replicas" in one["fieldsV1"].get("f:spec", {})]
    return [(one["manager"], one["operation"], one.get("subresource", "")) for one in found]


def test_read(cluster: Cluster) -> None:
    """A Scale tells how many replicas are wanted, how many there are, and which pods are counted."""
    found = cluster.perform(Request.of("GET", PATH)).object
    assert (found["kind"], found["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert found["spec"] == {"replicas": 1}
    assert found["status"] == {"replicas": 0, "selector": "app=w"}
    assert sorted(found["metadata"]) == ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]


def test_missing(cluster: Cluster) -> None:
    """A read reports the Scale as missing, a write the object."""
    read = cluster.perform(Request.of("GET", f"{BASE}/deployments/zz/scale"))
    assert read.object["message"] == 'deployments/scale.apps "zz" not found'
    body = {"metadata": {"name": "zz"}, "spec": {"replicas": 1}}
    write = cluster.perform(Request.of("PUT", f"{BASE}/deployments/zz/scale", body))
    assert write.object["message"] == 'deployments.apps "zz" not found'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("merge", {"spec": {"replicas": 4}}),
        ("strategic", {"spec": {"replicas": 4}}),
        ("json", [{"op": "replace", "path": "/spec/replicas", "value": 4}]),
    ],
)
def test_patches(cluster: Cluster, kind: str, body: Any) -> None:
    """A patch is of the Scale, and the object changes with it."""
    assert patch(cluster, body, kind).object["spec"] == {"replicas": 4}
    stored = cluster.perform(Request.of("GET", f"{BASE}/deployments/web")).object
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (4, 2)


def test_ownership_moves(cluster: Cluster) -> None:
    """Whoever scales an object owns the number from then on, as the owner of the Scale."""
    patch(cluster, {"spec": {"replicas": 4}}, manager="ann")
    assert owners(cluster) == [("ann", "Update", "scale")]
    applied = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    refused = patch(cluster, applied, "application/apply-patch+yaml", "?fieldManager=ben")
    assert refused.status == 409
    taken = patch(cluster, applied, "application/apply-patch+yaml", "?fieldManager=ben&force=true")
    assert taken.object["spec"] == {"replicas": 5}
    assert owners(cluster) == [("ben", "Apply", "scale")]


@pytest.mark.parametrize(
    ("metadata", "replicas", "message"),
    [
        ({}, -1, 'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than'),
        ({"name": "other"}, 1, "the name of the object (other) does not match the name on the URL (web)"),
        ({"resourceVersion": "1"}, 1, 'Operation cannot be fulfilled on deployments.apps "web": the object has been'),
        (
            {"uid": "u"},
            1,
            'Operation cannot be fulfilled on deployments.apps "web": StorageError: invalid object, Code: 4',
        ),
    ],
)
def test_refusals(cluster: Cluster, metadata: dict[str, str], replicas: int, message: str) -> None:
    """A Scale is checked before its number is moved over."""
    assert put(cluster, replicas, **metadata).object["message"].startswith(message)


def test_a_dry_run_writes_nothing(cluster: Cluster) -> None:
    """A dry run tells what would be, and leaves what is."""
    assert patch(cluster, {"spec": {"replicas": 9}}, query="?dryRun=All").object["spec"] == {"replicas": 9}
    assert cluster.perform(Request.of("GET", PATH)).object["spec"] == {"replicas": 1}


def test_plain_selectors(cluster: Cluster) -> None:
    """A replication controller says by plain labels which pods it counts; no replicas are left out."""
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "r"},
            "spec": {
                "replicas": 0,
                "selector": {"b": "2", "app": "w"},
                "template": {**TEMPLATE, "metadata": {"labels": {"app": "w", "b": "2"}}},
            },
        }
    )
    found = cluster.perform(Request.of("GET", "/api/v1/namespaces/default/replicationcontrollers/r/scale")).object
    assert (found["spec"], found["status"]["selector"]) == ({}, "app=w,b=2")


def test_as_table(cluster: Cluster) -> None:
    """A Scale can be had as a row."""
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    response = cluster.perform(Request.of("GET", PATH, headers={"accept": accept}))
    table = orjson.loads(response.body)
    assert (table["kind"], table["rows"][0]["cells"][0]) == ("Table", "web")
