"""Nodes run short of memory, disk and process numbers, and their kubelets evict pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.nodes import read_config
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from tests.simulation.worlds import deployment, messages, node_of, phase, pod, simulated


def condition(cluster: Cluster, kind: str, node: str = "node-0") -> Any:
    """A condition of a node."""
    return next(each for each in cluster.get("node", node)["status"]["conditions"] if each["type"] == kind)


def taints(cluster: Cluster, node: str = "node-0") -> list[str]:
    """The taints of a node, in short."""
    return [f"{each['key']}:{each['effect']}" for each in cluster.get("node", node)["spec"].get("taints", ())]


def evicted(cluster: Cluster) -> list[str]:
    """The names of evicted pods."""
    pods = cluster.list("pods")
    return [each["metadata"]["name"] for each in pods if each["status"].get("reason") == "Evicted"]


def test_pods_are_evicted_until_enough_is_free() -> None:
    """Those beyond their requests first, by priority, then by how much; the pod says why, and the node has a taint."""
    cluster = simulated(1, capacity={"cpu": "8", "memory": "10Gi", "pods": "110"})
    low = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": -10}
    cluster.create(low)
    used = {"simkit/memory": "2Gi"}
    cluster.create(pod("within", requests={"memory": "3Gi"}, annotations=used))
    cluster.create(pod("above", requests={"memory": "1Gi"}, annotations=used))
    cluster.create(pod("far-above", requests={"memory": "100Mi"}, annotations=used))
    cluster.create(pod("unimportant", requests={"memory": "1536Mi"}, annotations=used, priorityClassName="low"))
    cluster.settle()
    assert evicted(cluster) == []
    cluster.fill_node("node-0", memory="5Gi")
    cluster.settle()
    assert evicted(cluster) == ["unimportant"]
    status = cluster.get("pod", "unimportant")["status"]
    message = (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
        "Container main was using 2Gi, request is 1536Mi, has larger consumption of memory. "
    )
    assert (status["phase"], status["message"]) == ("Failed", message)
    told = {each["type"]: (each["status"], each.get("reason")) for each in status["conditions"]}
    assert told["Ready"] == ("False", "PodFailed")
    assert told["DisruptionTarget"] == ("True", "TerminationByKubelet")
    assert "terminated" in status["containerStatuses"][0]["state"]
    found = condition(cluster, "MemoryPressure")
    assert (found["status"], found["reason"]) == ("True", "KubeletHasInsufficientMemory")
    assert taints(cluster) == ["node.kubernetes.io/memory-pressure:NoSchedule"]
    cluster.advance(seconds=1)
    assert evicted(cluster) == ["far-above", "unimportant"]
    cluster.advance(seconds=120)
    assert evicted(cluster) == ["far-above", "unimportant"]
    assert messages(cluster, "EvictionThresholdMet") == ["Attempting to reclaim memory"]
    assert messages(cluster, "NodeHasInsufficientMemory") == ["Node node-0 status is now: NodeHasInsufficientMemory"]
    assert message in messages(cluster, "Evicted")


def test_pressure_lasts_for_its_transition_period() -> None:
    """The condition and its taint stay for five minutes after the last time that too little was free."""
    cluster = simulated(1)
    cluster.fill_node("node-0", memory="100%")
    cluster.advance(minutes=3)
    assert taints(cluster) == ["node.kubernetes.io/memory-pressure:NoSchedule"]
    cluster.fill_node("node-0")
    cluster.advance(seconds=299)
    fork = cluster.fork()
    assert condition(cluster, "MemoryPressure")["status"] == "True"
    for each in (cluster, fork):
        each.advance(seconds=1)
        assert condition(each, "MemoryPressure")["status"] == "False"
        assert taints(each) == []
    assert messages(cluster, "NodeHasSufficientMemory")


def test_the_scheduler_and_the_kubelet_keep_pods_away() -> None:
    """A node under pressure gets no new pods; one that names it is refused unless it asked for memory."""
    cluster = simulated(2)
    cluster.fill_node("node-0", memory="100%")
    cluster.settle()
    for number in range(4):
        cluster.create(pod(f"p{number}"))
    cluster.create(pod("forced", nodeName="node-0"))
    cluster.settle()
    assert {node_of(cluster, f"p{number}") for number in range(4)} == {"node-1"}
    status = cluster.get("pod", "forced")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "Pod was rejected: The node had condition: [MemoryPressure]. "
    assert "containerStatuses" not in status
    cluster.fill_node("node-0", storage="95%")
    cluster.settle()
    cluster.create(pod("asked", nodeName="node-0", requests={"memory": "1Gi"}))
    cluster.settle()
    assert "[MemoryPressure DiskPressure]" in cluster.get("pod", "asked")["status"]["message"]


def test_evicted_pods_of_a_deployment_move() -> None:
    """The pods that are evicted stay as failed, and others take their place elsewhere; critical ones stay."""
    cluster = simulated(2)
    cluster.create(deployment("web", 4, requests={"cpu": "100m"}))
    critical = pod("agent", priorityClassName="system-node-critical", nodeName="node-0")
    cluster.create({**critical, "metadata": {"name": "agent", "namespace": "kube-system"}})
    cluster.settle()
    cluster.fill_node("node-0", pids="100%")
    cluster.advance(minutes=1)
    pods = cluster.list("pods", "default")
    running = [each["spec"]["nodeName"] for each in pods if each["status"]["phase"] == "Running"]
    assert running == ["node-1"] * 4
    assert {each["spec"]["nodeName"] for each in pods if each["status"]["phase"] == "Failed"} == {"node-0"}
    assert condition(cluster, "PIDPressure")["reason"] == "KubeletHasInsufficientPID"
    assert cluster.get("pod", "agent", "kube-system")["status"]["phase"] == "Running"
    assert messages(cluster, "Evicted")[0] == (
        "The node was low on resource: pids. Threshold quantity: 1638, available: 0. "
    )


def test_a_pod_that_uses_more_disk_than_its_limit_is_evicted() -> None:
    """Without pressure on the node."""
    cluster = simulated(1)
    resources = {"limits": {"ephemeral-storage": "1Gi"}}
    cluster.create(pod("writer", container={"resources": resources}, annotations={"simkit/storage": "2Gi"}))
    cluster.create(pod("other", annotations={"simkit/storage": "2Gi"}))
    cluster.settle()
    status = cluster.get("pod", "writer")["status"]
    assert status["message"] == "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
    assert (status["phase"], phase(cluster, "other")) == ("Failed", "Running")
    assert condition(cluster, "DiskPressure")["status"] == "False"


def test_usage_may_grow_with_time() -> None:
    """A function of the test says how much; the kubelet looks once in a while."""
    clock = SimulatedClock()
    start = clock.now()
    cluster = Cluster(options=Options(clock=clock, seed=1))
    cluster.add_nodes(1, eviction_hard={"memory.available": "50%"}, capacity={"memory": "1Gi", "cpu": "1"})
    cluster.behave(image="leak:*", usage=lambda container, now: {"memory": f"{int(now - start)}Mi"})
    cluster.create(pod("leak", image="leak:1"))
    cluster.advance(minutes=6)
    assert phase(cluster, "leak") == "Running"
    cluster.advance(minutes=3)
    assert evicted(cluster) == ["leak"]


def test_later_words_count_at_once() -> None:
    """What is said of pods that run may put their node under pressure."""
    cluster = simulated(1)
    cluster.create(pod("p", labels={"app": "p"}))
    cluster.settle()
    cluster.behave(selector="app=p", memory="40Gi")
    cluster.settle()
    assert evicted(cluster) == ["p"]


def test_wrong_amounts_are_told() -> None:
    """With the value and what is possible."""
    cluster = simulated(1)
    with pytest.raises(SimkitError, match="'much' is neither an amount, such as 100Mi, nor a percentage"):
        cluster.fill_node("node-0", memory="much")
    with pytest.raises(SimkitError, match="between 0% and 100%"):
        cluster.fill_node("node-0", memory="120%")
    with pytest.raises(SimkitError, match="no simulated node 'other'; there are node-0"):
        cluster.fill_node("other")
    with pytest.raises(SimkitError, match=r"no eviction signal .cpu.available. is simulated"):
        cluster.add_nodes(1, name="n", eviction_hard={"cpu.available": "1"})


def test_images_take_room_on_the_disk() -> None:
    """Beside what pods and programs use; nothing removes them, so that pods are evicted."""
    images = {"app:1": 10 << 30, "old:1": 20 << 30}
    cluster = simulated(1, images=images, capacity={"ephemeral-storage": "100Gi", "memory": "8Gi", "cpu": "4"})
    cluster.create(pod("p", annotations={"simkit/storage": "10Gi"}))
    cluster.fill_node("node-0", storage="40Gi")
    cluster.advance(10)
    assert evicted(cluster) == []
    cluster.fill_node("node-0", storage="60Gi")
    cluster.advance(10)
    assert evicted(cluster) == ["p"]
    assert [each["names"] for each in cluster.get("node", "node-0")["status"]["images"]] == [["app:1"], ["old:1"]]


def test_inodes_run_short() -> None:
    """Who uses most of them goes first; the threshold is told in numbers."""
    cluster = simulated(1)
    cluster.create(pod("few", annotations={"simkit/inodes": "1k"}))
    cluster.create(pod("many", annotations={"simkit/inodes": "2M"}))
    cluster.settle()
    cluster.fill_node("node-0", inodes="80%")
    cluster.settle()
    cluster.advance(10)
    assert evicted(cluster) == ["many"]
    assert "low on resource: inodes. Threshold quantity: 327680, available: 0. " in messages(cluster, "Evicted")[0]


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [("trap 'exit 0' TERM; sleep inf & wait", 0, "Completed"), ("sleep inf & wait", 137, "Error")],
)
def test_the_exit_code_of_who_is_evicted(script: str, code: int, reason: str) -> None:
    """Of a script with a trap its own, else that of a killed one."""
    cluster = simulated(1)
    cluster.create(pod("p", command=["sh", "-c", script], annotations={"simkit/memory": "1Gi"}))
    cluster.settle()
    cluster.fill_node("node-0", memory="99%")
    cluster.settle()
    assert evicted(cluster) == ["p"]
    ended = cluster.get("pod", "p")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, reason)


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("evictionSoft", {"memory.available": "1Gi"}, "eviction_soft"),
        ("evictionSoftGracePeriod", {"memory.available": "1m"}, "eviction_soft_grace_period"),
        ("evictionMinimumReclaim", {"memory.available": "1Gi"}, "eviction_minimum_reclaim"),
        ("evictionMaxPodGracePeriod", 10, "eviction_max_pod_grace_period"),
        ("imageGCHighThresholdPercent", 70, "image_gc_high_threshold_percent"),
        ("imageGCLowThresholdPercent", 70, "image_gc_low_threshold_percent"),
    ],
)
def test_settings_that_are_not_simulated_are_refused(name: str, value: Any, field: str, tmp_path: Path) -> None:
    """In calls and in files alike, so that nobody takes them to have an effect."""
    with pytest.raises(SimkitError, match=f"the nodes: {field} is not simulated"):
        simulated(0).add_nodes(1, eviction={name: value})
    path = tmp_path / "nodes.yaml"
    path.write_text(json.dumps({"nodes": [{field: value}]}), encoding="utf-8")
    with pytest.raises(SimkitError, match=f"nodes.0: {field} is not simulated"):
        read_config(path)


def test_a_transition_period_of_its_own() -> None:
    """The condition stays for as long as the setting says."""
    cluster = simulated(1, eviction={"evictionPressureTransitionPeriod": "30s"})
    cluster.fill_node("node-0", memory="100%")
    cluster.settle()
    cluster.fill_node("node-0")
    cluster.advance(29)
    assert condition(cluster, "MemoryPressure")["status"] == "True"
    cluster.advance(1)
    assert condition(cluster, "MemoryPressure")["status"] == "False"
