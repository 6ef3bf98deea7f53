"""The resources of containers that run are not changed in place."""

from __future__ import annotations

from simkit.meta.message import Request
from tests.simulation.worlds import container, pod, simulated


def test_a_resize_is_refused() -> None:
    """The container runs on as it was, and the pod has a condition until it asks for the old resources again."""
    cluster = simulated(1, release="1.34")
    cluster.create(pod("web", requests={"cpu": "100m"}))
    cluster.settle()
    told = []
    for cpu in ("200m", "100m"):
        change = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
        path, media = "/api/v1/namespaces/default/pods/web/resize", "application/strategic-merge-patch+json"
        assert cluster.perform(Request.of("PATCH", path, change, content_type=media)).status == 200
        cluster.settle()
        conditions = cluster.get("pod", "web")["status"]["conditions"]
        told.append([each["message"] for each in conditions if each["type"] == "PodResizePending"])
        assert container(cluster, "web")["resources"] == {"requests": {"cpu": "100m"}}
    assert told == [["simulated kubelets do not resize running pods"], []]
