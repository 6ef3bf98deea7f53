"""The resources of containers that run are changed in place."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
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
