"""What a comparison with kube-apiserver 1.32 found."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def sent(cluster: simkit.Cluster, method: str, path: str, body: dict[str, Any] | None = None) -> Response:
    """The answer to a request with an object or a merge patch."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return cluster.perform(Request.of(method, path, body, headers={"content-type": kind}))


@pytest.mark.parametrize(("release", "kept"), [("1.31", True), ("1.32", True), ("1.33", False)])
def test_fields_of_disabled_features_in_the_status_of_pods(release: str, kept: bool) -> None:
    """Up to 1.32 a write of the status keeps them, and the next write of the pod itself takes them away."""
    cluster = simkit.Cluster(release=release)
    container = {"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    found = {"name": "c", "image": "i", "imageID": "i", "allocatedResourcesStatus": [{"name": "example.com/gpu"}]}
    changed = sent(cluster, "PATCH", f"{PODS}/p/status", {"status": {"containerStatuses": [found]}}).object
    assert (found.keys() <= changed["status"]["containerStatuses"][0].keys()) == kept
    labelled = sent(cluster, "PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}).object
    assert not found.keys() <= labelled["status"]["containerStatuses"][0].keys()


@pytest.mark.parametrize("release", ["1.21", "1.32", "1.36"])
def test_classes_of_the_system_cannot_be_deleted(release: str) -> None:
    """Nobody deletes a priority class of the system by its name, whether it is there or not."""
    cluster = simkit.Cluster(release=release)
    for _ in range(2):
        refused = sent(cluster, "DELETE", f"{CLASSES}/system-node-critical")
        assert refused.status == 403
        assert refused.object["message"].endswith("this is a system priority class and cannot be deleted")
        assert sent(cluster, "DELETE", CLASSES).status == 200


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.31", ["linux.uid", "must match one of the container's resource requirements"]),
        ("1.32", ["linux.uid", "must match one of the container's resource claims in a format"]),
        ("1.33", ["user.linux.uid", ""]),
    ],
)
def test_words_about_the_user_and_the_claims_of_a_container(release: str, told: list[str]) -> None:
    """Where the user stands is told from 1.33 on, and claims have health from 1.32 on; 1.33 drops what is off."""
    cluster = simkit.Cluster(release=release)
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    found: dict[str, Any] = {"name": "c", "image": "i", "imageID": "i"}
    found["allocatedResourcesStatus"] = [{"name": "claim:a"}]
    found["user"] = {"linux": {"uid": -1, "gid": 1}}
    refused = sent(cluster, "PATCH", f"{PODS}/p/status", {"status": {"containerStatuses": [found]}}).object
    causes = refused["details"]["causes"]
    assert causes[0]["field"] == f"status.containerStatuses[0].{told[0]}"
    assert [told[1] in each["message"] for each in causes[1:]] == ([True] if told[1] else [])


@pytest.mark.parametrize(("release", "status"), [("1.32", 201), ("1.33", 422)])
def test_values_in_required_node_affinities(release: str, status: int) -> None:
    """Volumes and pods may ask for nodes with values that no label can have, up to 1.32."""
    cluster = simkit.Cluster(release=release)
    terms = [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["Not_Valid!"]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    volume = {"metadata": {"name": "v"}, "spec": spec}
    assert sent(cluster, "POST", "/api/v1/persistentvolumes", volume).status == status


@pytest.mark.parametrize(
    ("release", "shown"),
    [("1.30", '"null"'), ("1.32", "runtime.RawExtension{Raw:[]uint8(nil), Object:runtime.Object(nil)}")],
)
def test_a_revision_that_loses_its_data(release: str, shown: str) -> None:
    """The error shows what takes the place of the data."""
    cluster = simkit.Cluster(release=release)
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    sent(cluster, "POST", revisions, {"metadata": {"name": "r"}, "data": {"a": 1}, "revision": 3})
    refused = sent(cluster, "PATCH", f"{revisions}/r", {"data": None}).object
    assert refused["details"]["causes"][-1]["message"] == f"Invalid value: {shown}: field is immutable"
