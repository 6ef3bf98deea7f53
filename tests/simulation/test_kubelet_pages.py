"""What simulated kubelets show at their own port, through the proxy of their node."""

from __future__ import annotations

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from tests.simulation.worlds import pod, simulated

GI = 1024**3


def asked(cluster: Cluster, path: str, method: str = "GET", node: str = "node-0") -> tuple[int, bytes]:
    """The status and the body of an answer."""
    response = cluster.perform(Request.of(method, f"/api/v1/nodes/{node}/proxy/{path}"))
    return response.status, response.body


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Two nodes, of which the first has two pods that have run for a minute."""
    made = simulated(2)
    for name, node in (("a", "node-0"), ("b", "node-0"), ("c", "node-1")):
        made.create(pod(name, nodeName=node, requests={"cpu": "1", "memory": "2Gi"}))
    made.settle()
    made.advance(seconds=60)
    return made


def test_health_and_pods(cluster: Cluster) -> None:
    """A kubelet is well, and knows the pods of its node alone, which have no kind of their own in the list."""
    assert asked(cluster, "healthz") == (200, b"ok")
    for page in ("pods", "pods/"):
        status, body = asked(cluster, page)
        listed = orjson.loads(body)
        names = {each["metadata"]["name"] for each in listed["items"]}
        assert (status, listed["kind"]) == (200, "PodList")
        assert {"a", "b"} <= names
        assert "c" not in names
        assert all("kind" not in each and each["spec"]["nodeName"] == "node-0" for each in listed["items"])


def test_other_pages_methods_and_ports(cluster: Cluster) -> None:
    """What is not there is said by the kubelet, and what listens nowhere by the server."""
    assert asked(cluster, "none") == (404, b"404 page not found\n")
    assert asked(cluster, "pods", "POST")[0] == 405
    assert asked(cluster, "healthz", node="node-0:10250") == (200, b"ok")
    assert asked(cluster, "healthz", node="node-0:10255")[0] == 503
    cluster = cluster.fork()
    cluster.stop_node("node-0")
    assert asked(cluster, "healthz")[0] == 503
