"""Pods, workloads and clusters for tests of simulated nodes."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.objects import Object


def simulated(nodes: int = 3, *, release: str = "1.30", **given: Any) -> Cluster:
    """A cluster on a simulated clock, with nodes."""
    cluster = Cluster(options=Options(release=release, clock=SimulatedClock(), seed=7))
    if nodes:
        cluster.add_nodes(nodes, **given)
        cluster.settle()
    return cluster


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod with one container; ``requests``, ``labels``, ``annotations`` and ``command`` are put where they belong."""
    meta = {"name": name, "labels": spec.pop("labels", {}), "annotations": spec.pop("annotations", {})}
    container = {
        "name": "main",
        "image": spec.pop("image", "app:1"),
        "resources": {"requests": spec.pop("requests", {})},
    }
    if "command" in spec:
        container["command"] = spec.pop("command")
    container |= spec.pop("container", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """A deployment of such pods."""
    template = pod(name, **spec)
    labels = {"app": name}
    meta = {"labels": {**labels, **template["metadata"]["labels"]}, "annotations": template["metadata"]["annotations"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": meta, "spec": template["spec"]},
        },
    }


def phase(cluster: Cluster, name: str) -> str:
    """The phase of a pod."""
    return str(cluster.get("pod", name)["status"]["phase"])


def node_of(cluster: Cluster, name: str) -> str:
    """The node of a pod."""
    return str(cluster.get("pod", name)["spec"].get("nodeName", ""))


def messages(cluster: Cluster, reason: str) -> list[str]:
    """The messages of events with a reason."""
    return [each["message"] for each in cluster.list("events") if each["reason"] == reason]


def container(cluster: Cluster, name: str, index: int = 0) -> Object:
    """The status of a container of a pod."""
    found: Object = cluster.get("pod", name)["status"]["containerStatuses"][index]
    return found


def execute(cluster: Cluster, name: str, *command: str, container: str = "main", given: bytes = b"") -> tuple[int, str]:
    """The exit code of a command in a container, and what it writes."""
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    found = cluster.get("pod", name)
    process = simulation.connections.command(found, container, command, stdin=bool(given), tty=False)
    written: list[bytes] = []
    if given:
        process.feed(given)
        process.end_input()
    for _ in range(1000):
        written += [data for _, data in process.poll()]
        if process.failure or process.exit_code is not None:
            break
    return process.exit_code or 0, b"".join(written).decode()
