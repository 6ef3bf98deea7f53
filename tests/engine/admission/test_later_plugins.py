"""Admission plugins that came after 1.30: labels of topology, and resizes of pods against their node."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request
from simkit.simulation.kubelet.node_config import NodeConfig, node_object

_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z", "other": "x"}},
}


def _pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def _cluster(release: str) -> simkit.Cluster:
    cluster = simkit.Cluster(release=release)
    cluster.create(_NODE)
    return cluster


@pytest.mark.parametrize(("release", "labels"), [("1.36", {"topology.kubernetes.io/zone": "z"}), ("1.33", None)])
def test_pods_get_the_zone_of_their_node(release: str, labels: dict[str, str] | None) -> None:
    """A pod that names a node gets its zone as a label, and so does a pod that is bound; before 1.35 neither does."""
    cluster = _cluster(release)
    assert cluster.create(_pod(nodeName="n"))["metadata"].get("labels") == labels
    cluster.delete("pod", "p", "default")
    cluster = _cluster(release)
    cluster.create(_pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods/p/binding", binding))
    assert cluster.get("pod", "p", "default")["metadata"].get("labels") == labels


def test_resizes_must_fit_the_node() -> None:
    """At 1.36 a resize beyond what the node has is forbidden, with both amounts."""
    cluster = _cluster("1.36")
    cluster.create(_pod(nodeName="n"))
    path = "/api/v1/namespaces/default/pods/p/resize"
    resources = [{"name": "c", "resources": {"requests": {"cpu": "100"}}}]
    patch = Request.of(
        "PATCH",
        path,
        {"spec": {"containers": resources}},
        headers={"content-type": "application/strategic-merge-patch+json"},
    )
    refused = cluster.perform(patch).object
    assert refused["message"] == (
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 100000, allocatable: 0'
    )
    assert refused["details"]["causes"] == [{"reason": "NodeCapacity"}]


def test_a_claim_tells_its_change_as_a_diff() -> None:
    """From 1.34 on what may not change is told as a unified diff of JSON."""
    cluster = simkit.Cluster(release="1.36")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": spec}
    cluster.create(claim)
    changed = {**claim, "spec": {name: spec[name] for name in ("accessModes", "resources")}}
    refused = cluster.perform(Request.of("PUT", "/api/v1/namespaces/default/persistentvolumeclaims/x", changed)).object
    assert '\n- "StorageClassName": "",\n+ "StorageClassName": null,\n' in refused["message"]


def _resize(cluster: simkit.Cluster, **spec: Any) -> Any:
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/p/resize"
    return cluster.perform(Request.of("PATCH", path, {"spec": spec}, headers=headers))


def _declaring(*features: str) -> simkit.Cluster:
    """A cluster with a pod on a node that declares some features."""
    cluster = simkit.Cluster(release="1.36")
    room = {"cpu": "9", "memory": "9Gi"}
    cluster.create({**_NODE, "status": {"allocatable": room, "declaredFeatures": list(features)}})
    init = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    cluster.create(_pod(nodeName="n", resources={"requests": {"cpu": "2"}}, initContainers=init))
    return cluster


_POD_LEVEL: dict[str, Any] = {"resources": {"requests": {"cpu": "3"}}}
_INIT: dict[str, Any] = {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}]}


@pytest.mark.parametrize(
    ("change", "features"),
    [
        (_POD_LEVEL, "InPlacePodLevelResourcesVerticalScaling"),
        (_INIT, "InPlacePodVerticalScalingInitContainers"),
        (
            {**_POD_LEVEL, **_INIT},
            "InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers",
        ),
    ],
)
def test_resizes_need_what_the_node_declares(change: dict[str, Any], features: str) -> None:
    """At 1.36 a resize that needs a feature which the node has not declared is forbidden, before its room counts."""
    refused = _resize(_declaring("Other"), **change)
    assert refused.object["message"] == (
        f'pods "p" is forbidden: pod update requires features {features} which are not available on node "n"'
    )
    assert _resize(_declaring(*features.split(", ")), **change).status == 200


def test_declared_features_are_sorted_names() -> None:
    """Names of features have a form, are sorted, and stand once."""
    cluster = simkit.Cluster(release="1.36")
    node = {**_NODE, "status": {"declaredFeatures": ["b", "A", "A", "Zz/a"]}}
    refused = cluster.perform(Request.of("POST", "/api/v1/nodes", node)).object
    told = [(cause["field"], cause["reason"]) for cause in refused["details"]["causes"]]
    assert told == [
        ("status.declaredFeatures[0]", "FieldValueInvalid"),
        ("status.declaredFeatures[1]", "FieldValueInvalid"),
        ("status.declaredFeatures[2]", "FieldValueDuplicate"),
    ]


@pytest.mark.parametrize(("release", "declares"), [("1.36", True), ("1.35", False)])
def test_simulated_nodes_declare_their_features(release: str, declares: bool) -> None:
    """Simulated nodes declare the features of kubelets from 1.36 on."""
    status = node_object(NodeConfig(count=1), 0, 0, release, 0.0)["status"]
    assert ("InPlacePodVerticalScalingInitContainers" in status.get("declaredFeatures", ())) is declares
