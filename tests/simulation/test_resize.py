"""The resources of containers that run are changed in place."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from tests.simulation.worlds import pod


def resize(cluster: Cluster, name: str, cpu: str) -> None:
    """Ask for another amount of CPU."""
    change = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
    path = f"/api/v1/namespaces/default/pods/{name}/resize"
    media = "application/strategic-merge-patch+json"
    assert cluster.perform(Request.of("PATCH", path, change, content_type=media)).status == 200
    cluster.settle()


def status(cluster: Cluster, name: str) -> Any:
    """The status of the only container."""
    return cluster.get("pod", name)["status"]["containerStatuses"][0]


def test_resources_change_without_a_restart() -> None:
    """The status tells what the container runs with; a policy may ask for a restart."""
    cluster = Cluster("1.33", seed=1)
    cluster.add_nodes(1)
    cluster.settle()
    cluster.create(pod("plain", requests={"cpu": "100m"}))
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    strict = {"resizePolicy": policy, "resources": {"requests": {"cpu": "100m"}}}
    cluster.create(pod("strict", container=strict))
    cluster.settle()
    assert status(cluster, "plain")["resources"] == {"requests": {"cpu": "100m"}}
    for name in ("plain", "strict"):
        resize(cluster, name, "200m")
        assert status(cluster, name)["resources"] == {"requests": {"cpu": "200m"}}
        assert "running" in status(cluster, name)["state"]
    assert [status(cluster, name)["restartCount"] for name in ("plain", "strict")] == [0, 1]


def pending(cluster: Cluster, name: str) -> Any:
    """Reason and message of a resize that waits; None for none."""
    conditions = cluster.get("pod", name)["status"]["conditions"]
    found = [(each["reason"], each["message"]) for each in conditions if each["type"] == "PodResizePending"]
    return found[0] if found else None


def test_a_resize_waits_until_there_is_room() -> None:
    """The container runs on as it was; important pods are tried first when room comes."""
    cluster = Cluster("1.34", seed=1)
    cluster.add_nodes(1, capacity={"cpu": "4", "memory": "8Gi"})
    value = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}
    cluster.create(value)
    for name, spec in (("filler", {}), ("low", {}), ("top", {"priorityClassName": "high"})):
        cluster.create(pod(name, requests={"cpu": "1"}, **spec))
    cluster.settle()
    for name in ("low", "top"):
        resize(cluster, name, "2500m")
        text = "Node didn't have enough resource: cpu, requested: 2500, used: 2000, capacity: 4000"
        assert pending(cluster, name) == ("Deferred", text)
        assert status(cluster, name)["resources"] == {"requests": {"cpu": "1"}}
    (condition,) = [
        each for each in cluster.get("pod", "low")["status"]["conditions"] if each["type"] == "PodResizePending"
    ]
    assert condition["observedGeneration"] == 2
    fork = cluster.fork()
    for each in (cluster, fork):
        each.delete("pod", "filler")
        each.settle()
        assert pending(each, "top") is None
        assert status(each, "top")["resources"] == {"requests": {"cpu": "2500m"}}
        assert pending(each, "low") is not None
    resize(cluster, "top", "1500m")
    assert pending(cluster, "low") is None
    assert status(cluster, "low")["resources"] == {"requests": {"cpu": "2500m"}}


def test_a_resize_beyond_the_node_is_infeasible() -> None:
    """The scheduler does not count it; whoever asks for less again gets it."""
    cluster = Cluster("1.33", seed=1)
    cluster.add_nodes(1, capacity={"cpu": "4", "memory": "8Gi"})
    cluster.create(pod("p", requests={"cpu": "1"}))
    cluster.settle()
    resize(cluster, "p", "100")
    text = "Node didn't have enough capacity: cpu, requested: 100000, capacity: 4000"
    assert pending(cluster, "p") == ("Infeasible", text)
    cluster.create(pod("other", requests={"cpu": "3"}))
    cluster.settle()
    assert cluster.get("pod", "other")["status"]["phase"] == "Running"
    resize(cluster, "p", "500m")
    assert pending(cluster, "p") is None
    cluster.create(pod("more", requests={"cpu": "500m"}))
    cluster.settle()
    assert cluster.get("pod", "more")["status"]["phase"] == "Running"
    resize(cluster, "p", "250m")
    cluster.create(pod("last", requests={"cpu": "250m"}))
    cluster.settle()
    assert cluster.get("pod", "last")["status"]["phase"] == "Running"


def test_room_that_a_smaller_pod_leaves_goes_to_pods_that_wait() -> None:
    """The scheduler tries a pod again when another one is made smaller."""
    cluster = Cluster("1.33", options=Options(release="1.33", seed=1, clock=SimulatedClock()))
    cluster.add_nodes(1, capacity={"cpu": "4", "memory": "8Gi"})
    cluster.create(pod("big", requests={"cpu": "3"}))
    cluster.create(pod("waits", requests={"cpu": "2"}))
    cluster.settle()
    assert cluster.get("pod", "waits")["status"]["phase"] == "Pending"
    resize(cluster, "big", "1")
    cluster.advance(seconds=5)
    assert cluster.get("pod", "waits")["status"]["phase"] == "Running"
