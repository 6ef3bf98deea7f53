"""Pods that name their node come to no scheduler: the kubelet looks whether the node is one for them."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.meta.message import Request
from tests.simulation.worlds import deployment, messages, pod, simulated

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
PORT = {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}
AFFINITY = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [SSD]}]}}}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
        ({"affinity": AFFINITY}, "NodeAffinity"),
        ({"requests": {"cpu": "1000"}}, "OutOfcpu"),
        ({"container": {"resources": {"limits": {"example.com/gpu": "1"}}}}, "OutOfexample.com/gpu"),
        (PORT, "NodePorts"),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_a_pod_that_does_not_fit_fails(spec: dict[str, Any], reason: str, bound: bool) -> None:
    """Its status and an Event say why. Who binds a pod as a scheduler does answers for the room itself."""
    cluster = simulated(1)
    (node,) = cluster.list("nodes")
    cluster.create(pod("first", nodeName=node["metadata"]["name"], **PORT))
    made = pod("a", schedulerName="mine", **spec) if bound else pod("a", nodeName=node["metadata"]["name"], **spec)
    cluster.create(made)
    if bound:
        target = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": target}
        assert cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods/a/binding", body)).succeeded
    cluster.settle()
    status = cluster.get("pod", "a")["status"]
    refused = reason if not bound or reason == "NodeAffinity" else ""
    assert (status["phase"], status.get("reason", "")) == (("Failed", refused) if refused else ("Running", ""))
    assert bool(messages(cluster, refused)) == bool(refused)


def test_of_two_pods_for_one_place_the_first_gets_it() -> None:
    """Those that were admitted count, and those that were not do not."""
    cluster = simulated(1)
    (node,) = cluster.list("nodes")
    for name in "abc":
        cluster.create(pod(name, nodeName=node["metadata"]["name"], requests={"cpu": "6"}))
    cluster.settle()
    assert sorted(each["status"]["phase"] for each in cluster.list("pods")) == ["Failed", "Failed", "Running"]


def test_what_a_scheduler_places_is_run() -> None:
    """A full node is no objection to the pods that fill it."""
    cluster = simulated(2)
    cluster.create(deployment("web", 16, requests={"cpu": "900m"}))
    cluster.settle()
    assert {each["status"]["phase"] for each in cluster.list("pods")} == {"Running"}
