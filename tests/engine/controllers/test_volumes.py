"""Claims and the volumes that they get."""

from __future__ import annotations

import pytest

import simkit
from tests.engine.controllers.worlds import names, obj, patch, told, volume, wish


def phases(cluster: simkit.Cluster, word: str) -> dict[str, str]:
    """The phase of each claim or volume."""
    return {each["metadata"]["name"]: each["status"]["phase"] for each in cluster.list(word)}


def test_a_claim_gets_the_smallest_volume_that_will_do(cluster: simkit.Cluster) -> None:
    """Size, modes, class and labels count."""
    cluster.create(volume("large", "10Gi"))
    cluster.create(volume("small", "1Gi"))
    cluster.create(volume("fitting", "5Gi"))
    cluster.create(volume("classy", "2Gi", storageClassName="fast"))
    cluster.settle()
    assert set(phases(cluster, "pv").values()) == {"Available"}
    cluster.create(wish("c", "2Gi"))
    cluster.settle()
    claim, bound = cluster.get("pvc", "c"), cluster.get("pv", "fitting")
    assert claim["spec"]["volumeName"] == "fitting"
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    assert bound["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert phases(cluster, "pv") == {
        "classy": "Available",
        "fitting": "Bound",
        "large": "Available",
        "small": "Available",
    }


def test_a_volume_is_released_and_a_claim_lost(cluster: simkit.Cluster) -> None:
    """What is left says that the other one is gone."""
    for name in ("a", "b"):
        cluster.create(volume(name))
        cluster.create(wish(name, volumeName=name))
    cluster.settle()
    assert set(phases(cluster, "pvc").values()) == {"Bound"}
    cluster.delete("pvc", "a")
    patch(cluster, "/api/v1/persistentvolumes/b", {"metadata": {"finalizers": None}})
    cluster.delete("pv", "b")
    cluster.settle()
    assert phases(cluster, "pv") == {"a": "Released"}
    assert phases(cluster, "pvc") == {"b": "Lost"}
    assert told(cluster, "b")[-1][1] == "ClaimLost"


def test_a_volume_kept_for_a_claim(cluster: simkit.Cluster) -> None:
    """Nobody else gets it, and it waits for its claim."""
    cluster.create(volume("kept", "1Gi", claimRef={"namespace": "default", "name": "mine"}))
    cluster.create(wish("other"))
    cluster.settle()
    assert phases(cluster, "pvc") == {"other": "Pending"}
    cluster.create(wish("mine"))
    cluster.settle()
    assert phases(cluster, "pvc") == {"other": "Pending", "mine": "Bound"}
    assert "pv.kubernetes.io/bound-by-controller" not in cluster.get("pv", "kept")["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("storage", "reason", "message"),
    [
        (None, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found'),
        (
            {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding",
        ),
        (
            {"provisioner": "csi.example.com"},
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'csi.example.com' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered.",
        ),
    ],
)
def test_why_a_claim_waits(cluster: simkit.Cluster, storage: dict[str, str] | None, reason: str, message: str) -> None:
    """The class says who is to make a volume, and when."""
    if storage is not None:
        cluster.create(obj("storage.k8s.io/v1", "StorageClass", "fast", **storage))
    cluster.create(wish("c", storageClassName="fast"))
    cluster.settle()
    assert told(cluster, "c")[0][1:3] == (reason, message)
    assert phases(cluster, "pvc") == {"c": "Pending"}


def test_a_volume_that_lives_with_its_pod(cluster: simkit.Cluster) -> None:
    """Its claim is made for it; one of somebody else is not taken."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    scratch = {
        "name": "scratch",
        "ephemeral": {"volumeClaimTemplate": {**template, "metadata": {"labels": {"a": "b"}}}},
    }
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [scratch]}
    cluster.create(wish("q-scratch"))
    for name in ("p", "q"):
        cluster.create(obj("v1", "Pod", name, spec=spec))
    cluster.settle()
    claim = cluster.get("pvc", "p-scratch")["metadata"]
    assert (claim["labels"], claim["ownerReferences"][0]["name"]) == ({"a": "b"}, "p")
    [(_, reason, message, _)] = told(cluster, "q")
    assert reason == "FailedBinding"
    assert 'PVC "default/q-scratch" was not created for pod "default/q" (pod is not owner)' in message
    cluster.delete("pod", "p")
    cluster.settle()
    assert names(cluster, "pvc") == ["q-scratch"]
