"""The requests of pods as the scheduler counts them."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.simulation.scheduler.node_info import pod_requests, requests_without_sidecars


def container(name: str, cpu: str = "", **more: Any) -> dict[str, Any]:
    """A container that asks for CPU."""
    return {"name": name, "resources": {"requests": {"cpu": cpu}} if cpu else {}, **more}


def running(name: str, cpu: str) -> dict[str, Any]:
    """The status of a container that runs with so much CPU."""
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}}


SIDECAR = container("s", "300m", restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"containers": [container("a", "1"), container("b", "500m")]}, {}, 1500),
        ({"containers": [container("a", "1")], "initContainers": [container("i", "3")]}, {}, 3000),
        ({"containers": [container("a", "1")], "initContainers": [SIDECAR, container("i", "900m")]}, {}, 1300),
        ({"containers": [container("a", "1")], "overhead": {"cpu": "100m"}}, {}, 1100),
        ({"containers": [container("a", "1")], "resources": {"requests": {"cpu": "4"}}}, {}, 4000),
        ({"containers": [container("a", "1")]}, {"containerStatuses": [running("a", "2")]}, 2000),
        ({"containers": [container("a", "3")]}, {"containerStatuses": [running("a", "2")]}, 3000),
    ],
)
def test_requests_of_a_pod(spec: dict[str, Any], status: dict[str, Any], expected: int) -> None:
    """Sidecars add up, init containers count if they need more, the pod's own requests and running resizes count."""
    assert pod_requests({"spec": spec, "status": status})["cpu"] == expected


def test_scores_count_a_little_for_who_asks_for_nothing() -> None:
    """Scores take 100 milli-CPUs for each container; once the pod is on a node, old releases forget its sidecars."""
    pod = {"spec": {"containers": [container("a"), container("b", "50m")], "initContainers": [SIDECAR]}}
    assert pod_requests(pod, least=True)["cpu"] == 450
    assert requests_without_sidecars(pod)["cpu"] == 300
