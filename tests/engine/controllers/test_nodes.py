"""Taints of nodes by their conditions, and what becomes of the pods there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simkit
from simkit.cluster.options import Options
from simkit.engine.controllers.node_lifecycle import EvictionRates, NodeLifecycleController
from simkit.meta.message import Request
from tests.engine.controllers.worlds import names, obj, patch, told

if TYPE_CHECKING:
    import pytest


def ready(cluster: simkit.Cluster, status: str, **more: str) -> None:
    """The Ready condition of the node; empty if no kubelet reports."""
    conditions = [{"type": kind, "status": value} for kind, value in {"Ready": status, **more}.items()]
    patch(cluster, "/api/v1/nodes/n/status", {"status": {"conditions": conditions}})
    cluster.settle()


def with_another(cluster: simkit.Cluster) -> None:
    """A node besides that is ready: without one nobody is evicted."""
    cluster.create(obj("v1", "Node", "other", status={"conditions": [{"type": "Ready", "status": "True"}]}))


def conditions(cluster: simkit.Cluster) -> dict[str, str]:
    """Each condition of the node, with its status and reason."""
    found = cluster.get("node", "n").get("status", {}).get("conditions", ())
    return {each["type"]: f"{each['status']}:{each.get('reason', '')}" for each in found}


def taints(cluster: simkit.Cluster) -> list[str]:
    """The node's taints in short."""
    return [f"{each['key']}:{each['effect']}" for each in cluster.get("node", "n")["spec"].get("taints", ())]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod on the node."""
    return obj("v1", "Pod", name, spec={"nodeName": "n", "containers": [{"name": "c", "image": "i"}], **spec})


def test_taints_follow_conditions(cluster: simkit.Cluster) -> None:
    """They come and go with the conditions; those of others stay."""
    with_another(cluster)
    own = {"key": "own", "effect": "NoSchedule"}
    cluster.create(obj("v1", "Node", "n", meta={"labels": {"kubernetes.io/os": "linux"}}, spec={"taints": [own]}))
    assert taints(cluster) == ["own:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]
    ready(cluster, "True")
    assert taints(cluster) == ["own:NoSchedule"]
    ready(cluster, "False", DiskPressure="True")
    assert taints(cluster)[1:] == [
        "node.kubernetes.io/disk-pressure:NoSchedule",
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/not-ready:NoSchedule",
    ]
    ready(cluster, "Unknown")
    assert {each.partition(":")[0] for each in taints(cluster)} == {"own", "node.kubernetes.io/unreachable"}
    ready(cluster, "True")
    patch(cluster, "/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    cluster.settle()
    assert taints(cluster) == ["own:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"]
    found = cluster.get("node", "n")["metadata"]
    assert found["labels"] == {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}


def test_nodes_that_come_and_go_are_told(cluster: simkit.Cluster) -> None:
    """Once each, in the namespace where events of the cluster are."""
    cluster.create(obj("v1", "Node", "n"))
    cluster.settle()
    ready(cluster, "True")
    cluster.delete("node", "n")
    cluster.settle()
    assert [each[1:] for each in told(cluster, "n")] == [
        ("RegisteredNode", "Node n event: Registered Node n in Controller", 1),
        ("RemovingNode", "Node n event: Removing Node n from Controller", 1),
    ]


def test_pods_that_something_holds_fail_with_their_node(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """They say that they were disrupted, which a job may ignore."""
    cluster.create({**pod("p"), "metadata": {"name": "p", "finalizers": ["a.test/hold"]}})
    cluster.settle()
    clock.advance(41)
    cluster.settle()
    status = cluster.get("pod", "p")["status"]
    [condition] = [each for each in status["conditions"] if each["type"] == "DisruptionTarget"]
    assert (status["phase"], condition["reason"]) == ("Failed", "DeletionByPodGC")
    assert condition["message"] == "PodGC: node no longer exists"


def test_pods_of_a_node_in_trouble_are_not_ready(cluster: simkit.Cluster) -> None:
    """Services stop sending to them before they are removed."""
    cluster.create(obj("v1", "Node", "n"))
    cluster.create(pod("p"))
    body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    patch(cluster, "/api/v1/namespaces/default/pods/p/status", body)
    ready(cluster, "Unknown")
    assert [each["status"] for each in cluster.get("pod", "p")["status"]["conditions"]] == ["False"]


def test_pods_go_when_they_have_endured_enough(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """At once without a toleration, after the tolerated time with one, never with one for ever."""
    cluster.create(obj("v1", "Node", "n"))
    ready(cluster, "True")
    forever = {"operator": "Exists"}
    cluster.create(pod("stays", tolerations=[forever]))
    cluster.create(pod("waits"))
    cluster.settle()
    patch(cluster, "/api/v1/nodes/n", {"spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]}})
    cluster.settle()
    going = [name for name in names(cluster, "pods") if "deletionTimestamp" in cluster.get("pod", name)["metadata"]]
    assert going == ["waits"]
    assert told(cluster, "waits") == [("Normal", "TaintManagerEviction", "Marking for deletion Pod default/waits", 1)]
    [condition] = cluster.get("pod", "waits")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByTaintManager")


def test_an_outage_may_pass(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Five minutes are tolerated by default, counted from the beginning of each outage."""
    with_another(cluster)
    cluster.create(obj("v1", "Node", "n"))
    ready(cluster, "True")
    cluster.create(pod("p"))
    ready(cluster, "Unknown")
    clock.advance(seconds=200)
    ready(cluster, "True")
    assert told(cluster, "p")[0][2] == "Cancelling deletion of Pod default/p"
    ready(cluster, "Unknown")
    clock.advance(seconds=200)
    cluster.settle()
    assert "deletionTimestamp" not in cluster.get("pod", "p")["metadata"]
    fork = cluster.fork()
    for each in (cluster, fork):
        assert isinstance(each.clock, simkit.SimulatedClock)
        each.clock.advance(seconds=101)
        each.settle()
        assert "deletionTimestamp" in each.get("pod", "p")["metadata"]


KUBELETS: tuple[str, ...] = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def test_a_node_that_never_reports_becomes_unknown(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """After a minute, with the taint of unreachable nodes; where another node is ready, its pods go as well."""
    cluster.create(obj("v1", "Node", "n"))
    created = cluster.get("node", "n")["metadata"]["creationTimestamp"]
    clock.advance(seconds=59)
    cluster.settle()
    assert conditions(cluster) == {}
    fork = cluster.fork()
    for each in (cluster, fork):
        assert isinstance(each.clock, simkit.SimulatedClock)
        each.clock.advance(seconds=1)
        each.settle()
        assert conditions(each) == dict.fromkeys(KUBELETS, "Unknown:NodeStatusNeverUpdated")
        assert taints(each) == ["node.kubernetes.io/unreachable:NoSchedule"]
    [ready_one, *_] = cluster.get("node", "n")["status"]["conditions"]
    assert (ready_one["message"], ready_one["lastHeartbeatTime"]) == ("Kubelet never posted node status.", created)
    with_another(cluster)
    cluster.settle()
    assert taints(cluster) == ["node.kubernetes.io/unreachable:NoSchedule"]
    clock.advance(seconds=10)  # after an outage of all, one node in ten seconds
    cluster.settle()
    assert taints(cluster)[1:] == ["node.kubernetes.io/unreachable:NoExecute"]
    cluster.delete("node", "other")
    cluster.settle()
    assert taints(cluster) == ["node.kubernetes.io/unreachable:NoSchedule"]


def heartbeat(cluster: simkit.Cluster, time: str) -> None:
    """The conditions that a kubelet reports of its node, with their time."""
    told = [{"type": "Ready", "status": "True", "lastHeartbeatTime": time}, {"type": "DiskPressure", "status": "False"}]
    patch(cluster, "/api/v1/nodes/n/status", {"status": {"conditions": told}})
    cluster.settle()


def test_a_node_that_reported_and_falls_silent(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """It is Unknown after forty seconds without a heartbeat or a renewed lease, and its pods are not ready."""
    cluster.create(obj("v1", "Node", "n"))
    heartbeat(cluster, "2024-04-17T00:00:00Z")
    clock.advance(seconds=39)
    lease = obj("coordination.k8s.io/v1", "Lease", "n", spec={"renewTime": "2024-04-17T00:00:39.000000Z"})
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert cluster.perform(Request.of("POST", path, lease)).succeeded
    cluster.settle()
    clock.advance(seconds=39)
    cluster.settle()
    assert conditions(cluster) == {"Ready": "True:", "DiskPressure": "False:"}
    clock.advance(seconds=1)
    cluster.settle()
    silent, never = "Unknown:NodeStatusUnknown", "Unknown:NodeStatusNeverUpdated"
    assert conditions(cluster) == dict(zip(KUBELETS, (silent, never, silent, never), strict=True))
    assert ("NodeNotReady", "Node n status is now: NodeNotReady") in [each[1:3] for each in told(cluster, "n")]
    heartbeat(cluster, "2024-04-17T00:01:20Z")
    assert conditions(cluster)["Ready"] == "True:"
    assert taints(cluster) == []


def test_a_node_of_which_nothing_was_heard_stays_ready(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A node that came with its conditions, as from a dump, is not called Unknown."""
    with_another(cluster)
    clock.advance(hours=1)
    cluster.settle()
    [condition] = cluster.get("node", "other")["status"]["conditions"]
    assert condition["status"] == "True"


def machines(cluster: simkit.Cluster, zone: str, count: int) -> list[str]:
    """Nodes of a zone that are ready."""
    found = [f"{zone}-{number:02}" for number in range(count)]
    for name in found:
        condition = {"type": "Ready", "status": "True"}
        labels = {"topology.kubernetes.io/zone": zone}
        cluster.create(obj("v1", "Node", name, meta={"labels": labels}, status={"conditions": [condition]}))
    cluster.settle()
    return found


def fail(cluster: simkit.Cluster, names: list[str]) -> None:
    """Have nodes be unready at once."""
    for name in names:
        change = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        patch(cluster, f"/api/v1/nodes/{name}/status", change)
    cluster.settle()


def evicting(cluster: simkit.Cluster) -> list[str]:
    """The nodes with a taint that evicts pods."""
    return [
        node["metadata"]["name"]
        for node in cluster.list("nodes")
        if any(each["effect"] == "NoExecute" for each in node["spec"].get("taints", ()))
    ]


def run(cluster: simkit.Cluster, clock: simkit.SimulatedClock, seconds: float) -> int:
    """The number of such nodes after some time."""
    clock.advance(seconds=seconds)
    cluster.settle()
    return len(evicting(cluster))


def test_nodes_that_fail_are_emptied_one_after_the_other(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """One in ten seconds; who recovers waits no longer, and a fork goes on alike."""
    fail(cluster, machines(cluster, "a", 10)[:4])
    assert evicting(cluster) == ["a-00"]
    assert run(cluster, clock, 9) == 1
    fork = cluster.fork()
    for each in (cluster, fork):
        assert isinstance(each.clock, simkit.SimulatedClock)
        assert run(each, each.clock, 1) == 2
    patch(cluster, "/api/v1/nodes/a-02/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    cluster.settle()
    assert run(cluster, clock, 10) == 3
    assert evicting(cluster) == ["a-00", "a-01", "a-03"]
    assert isinstance(fork.clock, simkit.SimulatedClock)
    assert [run(fork, fork.clock, 10) for _ in range(2)] == [3, 4]


def test_a_zone_that_is_lost_as_a_whole_is_emptied_as_usual(
    cluster: simkit.Cluster, clock: simkit.SimulatedClock
) -> None:
    """Although all of its nodes have failed: others answer, so that it is no outage of what watches them."""
    lost = machines(cluster, "a", 4)
    machines(cluster, "b", 1)
    fail(cluster, lost)
    assert [run(cluster, clock, seconds) for seconds in (0, 10, 10, 10)] == [1, 2, 3, 4]


def test_a_small_zone_that_is_unhealthy_has_no_evictions(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Where at least 55 % and three nodes have failed; with one node less they go on."""
    first = machines(cluster, "a", 5)
    machines(cluster, "b", 1)
    fail(cluster, first[:3])
    assert run(cluster, clock, 600) == 0
    patch(cluster, "/api/v1/nodes/a-00/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    cluster.settle()
    assert run(cluster, clock, 10) == 1
    assert run(cluster, clock, 10) == 2


def test_a_big_zone_that_is_unhealthy_has_slow_evictions(clock: simkit.SimulatedClock) -> None:
    """One node in a hundred seconds; the flags say what is big, unhealthy and slow."""
    rates = EvictionRates(large=4, unhealthy=0.5, secondary=0.01, normal=1.0)
    cluster = simkit.Cluster(options=Options(clock=clock, eviction_rates=rates))
    names = machines(cluster, "a", 6)
    fail(cluster, names[:3])
    assert [run(cluster, clock, seconds) for seconds in (0, 99, 1)] == [1, 1, 2]
    fail(cluster, names[3:])
    assert evicting(cluster) == []  # an outage of all nodes is one of what watches them


def test_the_nodes_that_wait_for_their_turn_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the next one needs a time, so that each node of a zone that fails costs the same in a zone of any size."""
    looks = 0

    def counted(self: NodeLifecycleController, *given: Any) -> float | None:
        nonlocal looks
        looks += 1
        return original(self, *given)

    original = NodeLifecycleController.reconcile
    monkeypatch.setattr(NodeLifecycleController, "reconcile", counted)
    per_node = []
    for count in (20, 40):
        clock = simkit.SimulatedClock()
        cluster = simkit.Cluster(options=Options(clock=clock, eviction_rates=EvictionRates(unhealthy=1.0)))
        names = machines(cluster, "a", count)
        looks = 0
        fail(cluster, names[1:])
        for _ in names:
            run(cluster, clock, 10)
        assert len(evicting(cluster)) == count - 1
        per_node.append(looks / count)
    assert per_node[1] < 1.3 * per_node[0]
