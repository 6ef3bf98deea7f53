"""Ephemeral containers are started in pods that run, as kubectl debug adds them."""

from __future__ import annotations

from simkit.meta.message import Request
from tests.simulation.worlds import execute, pod, simulated


def test_an_ephemeral_container_runs_once() -> None:
    """It starts beside the others, is never ready, ends without a restart, and its log can be read."""
    cluster = simulated(1)
    cluster.create(pod("p"))
    cluster.settle()
    path = "/api/v1/namespaces/default/pods/p"
    added = [
        {"name": "once", "image": "busybox", "command": ["sh", "-c", "echo seen; exit 3"]},
        {"name": "shell", "image": "busybox", "command": ["sleep", "1d"], "targetContainerName": "main"},
    ]
    body = {"spec": {"ephemeralContainers": added}}
    request = Request.of(
        "PATCH", f"{path}/ephemeralcontainers", body, content_type="application/strategic-merge-patch+json"
    )
    assert cluster.perform(request).succeeded
    cluster.settle()
    cluster.advance(minutes=5)
    status = cluster.get("pod", "p")["status"]
    once, shell = status["ephemeralContainerStatuses"]
    assert (once["state"]["terminated"]["exitCode"], once["restartCount"]) == (3, 0)
    assert ("running" in shell["state"], shell["ready"]) == (True, False)
    assert status["phase"] == "Running"
    assert cluster.perform(Request.of("GET", f"{path}/log?container=once")).body == b"seen\n"
    assert execute(cluster, "p", "hostname", container="shell") == (0, "p\n")
