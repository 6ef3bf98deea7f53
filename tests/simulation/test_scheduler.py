"""The scheduler binds pods where kube-scheduler would, and says why it cannot in the same words."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.simulation.scheduler.algorithm import nodes_to_find
from tests.simulation.worlds import deployment, messages, node_of, phase, pod, simulated

BIG = {"cpu": "6"}


def test_a_pod_runs_on_a_node_with_room() -> None:
    """It is bound, gets an address of its node and is Running."""
    cluster = simulated()
    cluster.create(pod("web", requests=BIG))
    cluster.settle()
    status = cluster.get("pod", "web")["status"]
    assert (status["phase"], status["podIP"].rpartition(".")[0]) == ("Running", "10.244." + node_of(cluster, "web")[-1])


def test_too_much_is_asked_for() -> None:
    """The Event and the condition carry kube-scheduler's sentence."""
    cluster = simulated()
    cluster.create(pod("huge", requests={"cpu": "9", "memory": "64Gi"}))
    cluster.settle()
    said = (
        "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory. preemption: 0/3 nodes are available: "
        "3 No preemption victims found for incoming pod."
    )
    assert messages(cluster, "FailedScheduling") == [said]
    condition = cluster.get("pod", "huge")["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["message"] == said


def test_a_new_node_is_taken_at_once() -> None:
    """A pod that fits nowhere is tried again when a node comes."""
    cluster = simulated(1)
    cluster.create(pod("huge", requests={"cpu": "9"}))
    cluster.settle()
    cluster.add_nodes(1, name="big", capacity={"cpu": "16"})
    cluster.advance(seconds=2)
    assert node_of(cluster, "huge") == "big-0"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"nodeSelector": {"disk": "fast"}}, "3 node(s) didn't match Pod's node affinity/selector"),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "none"}}}]}}},
            "3 node(s) didn't match pod affinity rules",
        ),
        (
            {"topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                 "labelSelector": {"matchLabels": {"app": "a"}}}]},
            "3 node(s) didn't match pod topology spread constraints (missing required label)",
        ),
    ],
)  # fmt: skip
def test_reasons(spec: dict[str, Any], said: str) -> None:
    """Each filter has its sentence, and tells that preemption is of no use."""
    cluster = simulated()
    cluster.create(pod("p", **spec))
    cluster.settle()
    after = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    assert messages(cluster, "FailedScheduling") == [f"0/3 nodes are available: {said}. {after}"]


def test_taints_and_unschedulable_nodes() -> None:
    """Each rejection is counted under the first filter that makes it."""
    cluster = simulated(1, taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}])
    cluster.add_nodes(1, name="other")
    node = cluster.get("node", "other-0")
    cluster.apply({**node, "spec": {**node["spec"], "unschedulable": True}})
    cluster.create(pod("p"))
    cluster.settle()
    assert messages(cluster, "FailedScheduling")[-1].startswith(
        "0/2 nodes are available: 1 node(s) had untolerated taint {team: a}, 1 node(s) were unschedulable."
    )
    cluster.create(pod("q", tolerations=[{"key": "team", "operator": "Exists"}]))
    cluster.settle()
    assert node_of(cluster, "q") == "node-0"


def test_host_ports_and_no_nodes() -> None:
    """A host port is free once on each node; without nodes the sentence is another."""
    cluster = simulated(0)
    cluster.add_nodes(1)
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    for name in ("a", "b"):
        cluster.create(pod(name, container=port))
    cluster.settle()
    assert messages(cluster, "FailedScheduling")[0].startswith(
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. preemption: "
    )
    cluster.delete("node", "node-0")
    cluster.create(pod("c"))
    cluster.settle()
    assert "no nodes available to schedule pods" in messages(cluster, "FailedScheduling")


def test_spread_and_anti_affinity() -> None:
    """Constraints put pods into each zone in turn; anti-affinity leaves the fourth of three nodes without a place."""
    cluster = simulated(3, zones=["a", "b", "c"])
    labels = {"app": "s"}
    spread = [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": labels}}]  # fmt: skip
    for number in range(6):
        cluster.create(pod(f"s{number}", labels=labels, topologySpreadConstraints=spread))
        cluster.settle()
    assert sorted(node_of(cluster, f"s{number}") for number in range(6)) == sorted([f"node-{n}" for n in range(3)] * 2)
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]}}  # fmt: skip
    for number in range(4):
        cluster.create(pod(f"x{number}", labels={"app": "x"}, affinity=apart))
    cluster.settle()
    assert len({node_of(cluster, f"x{number}") for number in range(4)}) == 4  # three nodes, and none for one
    assert messages(cluster, "FailedScheduling")[0].startswith(
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
    )


def test_preemption() -> None:
    """A more important pod takes the place of the least important one, which is told why."""
    cluster = simulated(1)
    for name, value in (("low", 1), ("mid", 5), ("high", 10)):
        cluster.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                        "value": value})  # fmt: skip
    cluster.create(pod("cheap", requests={"cpu": "4"}, priorityClassName="low"))
    cluster.create(pod("dear", requests={"cpu": "4"}, priorityClassName="mid"))
    cluster.settle()
    cluster.create(pod("vip", requests={"cpu": "4"}, priorityClassName="high", terminationGracePeriodSeconds=0))
    cluster.settle()
    cluster.advance(seconds=60)
    assert {each["metadata"]["name"] for each in cluster.list("pods")} == {"dear", "vip"}
    assert phase(cluster, "vip") == "Running"
    assert messages(cluster, "Preempted")[0].startswith("Preempted by pod ")


def test_a_pod_that_never_preempts() -> None:
    """Its sentence says so."""
    cluster = simulated(1)
    cluster.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "meek"},
                    "value": 10, "preemptionPolicy": "Never"})  # fmt: skip
    cluster.create(pod("there", requests=BIG))
    cluster.settle()
    cluster.create(pod("meek", requests=BIG, priorityClassName="meek"))
    cluster.settle()
    assert messages(cluster, "FailedScheduling") == [
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    ]


def test_gates_and_other_schedulers() -> None:
    """Pods with gates wait until the last gate is gone; those of other schedulers are left alone."""
    cluster = simulated()
    cluster.create(pod("gated", schedulingGates=[{"name": "example.com/quota"}]))
    cluster.create(pod("foreign", schedulerName="mine"))
    cluster.settle()
    assert node_of(cluster, "gated") == node_of(cluster, "foreign") == ""
    live = cluster.get("pod", "gated")
    spec = {key: value for key, value in live["spec"].items() if key != "schedulingGates"}
    cluster.apply({**live, "spec": spec})
    cluster.settle()
    assert phase(cluster, "gated") == "Running"


def test_pods_with_resource_claims_stay_pending() -> None:
    """Nobody allocates devices: the scheduler tells so, and so does the kubelet of a pod that names its node."""
    cluster = simulated(1, release="1.34")
    claims = [{"name": "gpu", "resourceClaimName": "gpus"}]
    cluster.create(pod("scheduled", resourceClaims=claims))
    cluster.create(pod("placed", resourceClaims=claims, nodeName="node-0"))
    cluster.settle()
    assert phase(cluster, "scheduled") == phase(cluster, "placed") == "Pending"
    why = "simulated nodes do not allocate resource claims"
    assert messages(cluster, "FailedScheduling") == [f"0/1 nodes are available: {why}."]
    assert messages(cluster, "FailedPrepareDynamicResources") == [why]


def test_deployments_spread_over_nodes_and_services_get_endpoints() -> None:
    """By default the pods of one owner go to different nodes; their addresses are endpoints."""
    cluster = simulated()
    cluster.create(deployment("web", 3))
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})  # fmt: skip
    cluster.settle()
    pods = cluster.list("pods")
    assert {each["spec"]["nodeName"] for each in pods} == {"node-0", "node-1", "node-2"}
    addresses = {each["ip"] for each in cluster.get("endpoints", "web")["subsets"][0]["addresses"]}
    assert addresses == {each["status"]["podIP"] for each in pods}
    assert cluster.get("deployment", "web")["status"]["availableReplicas"] == 3


def test_claims_get_volumes() -> None:
    """A set's claims wait for their pods, and are provisioned for the node that was chosen."""
    cluster = simulated()
    cluster.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
                    "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"})  # fmt: skip
    template = {"metadata": {"name": "data"},
                "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"],
                         "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    made = deployment("db", 2)
    made |= {"kind": "StatefulSet", "spec": {**made["spec"], "serviceName": "db", "volumeClaimTemplates": [template]}}
    cluster.create(made)
    cluster.settle()
    assert [phase(cluster, f"db-{number}") for number in range(2)] == ["Running", "Running"]
    claim = cluster.get("pvc", "data-db-0")
    assert (claim["status"]["phase"], claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]) == (
        "Bound",
        node_of(cluster, "db-0"),
    )


def test_claims_that_are_not_there() -> None:
    """No node is looked at; the sentence names the claim."""
    cluster = simulated()
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    cluster.create(pod("p", volumes=[volume]))
    cluster.settle()
    assert messages(cluster, "FailedScheduling") == [
        '0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 nodes are available: '
        "3 Preemption is not helpful for scheduling."
    ]


def test_daemon_sets_run_on_each_node() -> None:
    """Their pods name their nodes by affinity."""
    cluster = simulated()
    made = deployment("agent", 1)
    del made["spec"]["replicas"]
    cluster.create({**made, "kind": "DaemonSet"})
    cluster.settle()
    assert cluster.get("daemonset", "agent")["status"]["numberReady"] == 3
    cluster.add_nodes(1)
    cluster.settle()
    assert cluster.get("daemonset", "agent")["status"]["numberReady"] == 4


def test_forks_go_on_by_themselves() -> None:
    """Scheduling on a fork does not change its origin."""
    cluster = simulated()
    cluster.create(pod("a"))
    cluster.settle()
    fork = cluster.fork()
    fork.create(pod("b"))
    fork.settle()
    assert phase(fork, "b") == "Running"
    assert [each["metadata"]["name"] for each in cluster.list("pods")] == ["a"]
    addresses = [fork.get("pod", name)["status"]["podIP"] for name in ("a", "b")]
    assert len(set(addresses)) == 2


def test_room_that_becomes_free_is_seen_by_pods_of_the_same_template() -> None:
    """What a node said to pods of a template counts no longer once the node or its pods change."""
    cluster = simulated(1, capacity={"cpu": "1", "memory": "1Gi", "pods": "10"})
    cluster.apply(deployment("web", 3, requests={"cpu": "400m"}))
    cluster.settle()
    assert sorted(each["status"]["phase"] for each in cluster.list("pods")) == ["Pending", "Running", "Running"]
    cluster.add_nodes(1, name="more-{}", capacity={"cpu": "1", "memory": "1Gi", "pods": "10"})
    cluster.advance(seconds=15)
    assert {each["status"]["phase"] for each in cluster.list("pods")} == {"Running"}
    cluster.apply(deployment("web", 5, requests={"cpu": "400m"}))
    cluster.advance(seconds=15)
    assert [each["status"]["phase"] for each in cluster.list("pods")].count("Pending") == 1
    cluster.apply(deployment("web", 4, requests={"cpu": "400m"}))
    cluster.apply(deployment("other", 1, requests={"cpu": "400m"}))
    cluster.advance(seconds=15)
    assert [each["status"]["phase"] for each in cluster.list("pods")].count("Pending") == 1


@pytest.mark.slow
def test_many_pods_are_scheduled_in_several_syncs() -> None:
    """So that none of them reads a revision that is compacted before it ends; all of them are scheduled by one settle."""
    cluster = simulated(6)
    cluster.create(deployment("web", 520))
    cluster.settle()
    placed = [each["spec"].get("nodeName") for each in cluster.list("pods")]
    assert (len(placed), all(placed)) == (520, True)


@pytest.mark.parametrize(("nodes", "looked_for"), [(50, 50), (200, 100), (1000, 420), (5000, 500), (10000, 500)])
def test_a_share_of_many_nodes_is_enough(nodes: int, looked_for: int) -> None:
    """The share falls from half of them to five percent, and a hundred feasible nodes are the least."""
    assert nodes_to_find(nodes) == looked_for


def test_a_scheduler_that_may_not_write(caplog: pytest.LogCaptureFixture) -> None:
    """A refused write of one pod is logged, and does not end the work of the controllers."""
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "1"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "shop"}}
    cluster = simkit.load([place, account], captured=["*"])  # without the roles that every server has
    cluster.add_nodes(1)
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "500"}}}
    meta = {"name": "large", "namespace": "shop"}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})
    cluster.settle()
    assert 'User "system:kube-scheduler" cannot patch resource "pods/status"' in caplog.text.replace('\\"', '"')
