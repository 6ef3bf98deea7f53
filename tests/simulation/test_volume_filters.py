"""Where pods run by their volumes: limits of drivers, zones of volumes, and disks that one node has."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from tests.simulation.worlds import messages, node_of, pod, simulated

STORAGE = "storage.k8s.io/v1"


def volume(cluster: Cluster, name: str, **labels: str) -> None:
    """A volume of a driver, bound to a claim of the same name."""
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels},
                    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                             "csi": {"driver": "disks.example.com", "volumeHandle": name},
                             "claimRef": {"namespace": "default", "name": name}}})  # fmt: skip
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                    "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": name,
                             "resources": {"requests": {"storage": "1Gi"}}}})  # fmt: skip
    cluster.settle()


def user(name: str, *claims: str) -> dict[str, Any]:
    """A pod with claims."""
    return pod(name, volumes=[{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims])


def limit(cluster: Cluster, node: str, count: int) -> None:
    """Have a driver attach so many volumes to a node."""
    drivers = [{"name": "disks.example.com", "nodeID": node, "allocatable": {"count": count}}]
    cluster.create({"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": node}, "spec": {"drivers": drivers}})


def test_drivers_attach_so_many_volumes() -> None:
    """A volume that a node has already counts once; one more goes to another node, or nowhere."""
    cluster = simulated(2)
    for node in ("node-0", "node-1"):
        limit(cluster, node, 1)
    for name in ("a", "b", "c"):
        volume(cluster, name)
    for name, claim in (("first", "a"), ("second", "b"), ("again", "a"), ("third", "c")):
        cluster.create(user(name, claim))
        cluster.settle()
    assert {node_of(cluster, "first"), node_of(cluster, "second")} == {"node-0", "node-1"}
    assert node_of(cluster, "again") == node_of(cluster, "first")
    assert messages(cluster, "FailedScheduling")[0].startswith("0/2 nodes are available: 2 node(s) exceed max volume")


def test_attached_volumes_count_too() -> None:
    """A volume that is still attached counts although no pod has it, until it is detached."""
    cluster = simulated(1)
    limit(cluster, "node-0", 1)
    for name in ("a", "b"):
        volume(cluster, name)
    cluster.create({"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": {"name": "x"},
                    "spec": {"attacher": "disks.example.com", "nodeName": "node-0",
                             "source": {"persistentVolumeName": "b"}}})  # fmt: skip
    cluster.create(user("web", "a"))
    cluster.settle()
    assert node_of(cluster, "web") == ""
    cluster.delete("volumeattachment", "x")
    cluster.advance(seconds=5)
    assert node_of(cluster, "web") == "node-0"


def test_zones_of_volumes() -> None:
    """Labels of volumes name the zones of their nodes; nodes without zones are for all."""
    cluster = simulated(2, zones=["a", "b"])
    volume(cluster, "near", **{"topology.kubernetes.io/zone": "b__c"})
    volume(cluster, "far", **{"topology.kubernetes.io/zone": "d"})
    cluster.create(user("web", "near"))
    cluster.create(user("lost", "far"))
    cluster.settle()
    assert node_of(cluster, "web") == "node-1"
    assert messages(cluster, "FailedScheduling")[0].startswith(
        "0/2 nodes are available: 2 node(s) had no available vol"
    )


def test_disks_that_one_node_has() -> None:
    """Pods that name the same disk themselves are on different nodes, unless both only read it."""
    cluster = simulated(2)
    for name in ("one", "two"):
        cluster.create(pod(name, volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]))
        cluster.settle()
    assert {node_of(cluster, "one"), node_of(cluster, "two")} == {"node-0", "node-1"}
    cluster.create(pod("three", volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]))
    cluster.settle()
    assert messages(cluster, "FailedScheduling")[0].startswith(
        "0/2 nodes are available: 2 node(s) had no available disk"
    )


def test_a_claim_that_is_missing_comes_first() -> None:
    """Whatever else is wrong with the claims."""
    cluster = simulated(1)
    cluster.create(user("web", "none"))
    cluster.settle()
    assert 'persistentvolumeclaim "none" not found' in messages(cluster, "FailedScheduling")[0]
