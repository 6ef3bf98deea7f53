"""Operations are rehearsed on forks: drained and lost nodes, and rollouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

import simkit
from simkit.analysis import Operation
from simkit.cli import main
from simkit.cluster.cluster import Cluster
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from tests.analysis.plots_looked_at import message, texts
from tests.simulation.worlds import deployment, pod, simulated


def shop() -> Cluster:
    """Four nodes in two zones, with two deployments, one of them guarded, and a pod of nobody."""
    cluster = simulated(4, zones=["a", "b"])
    cluster.create(deployment("web", 4, requests={"cpu": "5"}))
    cluster.create(deployment("api", 3, requests={"cpu": "1"}))
    budget = {"minAvailable": 3, "selector": {"matchLabels": {"app": "api"}}}
    cluster.create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "api"}, "spec": budget}
    )
    cluster.create(pod("alone", nodeName="node-0"))
    cluster.settle()
    return cluster


def outcomes(found: Operation, workload: str) -> list[tuple[str, str]]:
    return [(each.outcome, each.why) for each in found.pods if each.workload == workload]


def test_a_drain_tells_what_is_blocked_lost_and_pending() -> None:
    """With the words of the disruption budget and of the scheduler; the cluster itself stays as it is."""
    cluster = shop()
    before = cluster.list("pods")
    found = cluster.drain_nodes(zone="a", timeout="1m")
    assert (found.name, bool(found), found.complete) == ("drain of zone a", False, False)
    (blocked, *_) = outcomes(found, "Deployment/api")
    assert blocked == ("blocked", "The disruption budget api needs 3 healthy pods and has 3 currently")
    pending = outcomes(found, "Deployment/web")
    assert [outcome for outcome, _ in pending] == ["pending", "pending"]
    assert pending[0][1].startswith("0/4 nodes are available: 2 Insufficient cpu, 2 node(s) were unschedulable.")
    assert [each.outcome for each in found.pods if each.pod == "alone"] == ["lost"]
    (web,) = [each for each in found.availability if each.workload == "Deployment/web"]
    assert (web.ready_before, web.ready_least, web.ready_after, web.wanted) == (4, 2, 2, 4)
    assert cluster.list("pods") == before


def test_a_lost_zone_is_noticed_and_its_pods_move_where_there_is_room() -> None:
    """Within a minute nothing moves; after six minutes pods are replaced, and those of nobody are stuck."""
    cluster = shop()
    assert {each.outcome for each in cluster.lose_nodes(zone="a", minutes=1).pods} == {"kept"}
    found = cluster.lose_nodes(zone="a")
    assert {each.outcome for each in found.pods if each.workload == "Deployment/api"} <= {"moved"}
    assert [each.outcome for each in found.pods if each.pod == "alone"] == ["stuck"]
    assert "pending" in {each.outcome for each in found.pods}
    assert found.timeline()["second"].iloc[-1] == 600


def test_a_lost_node_tells_why_nothing_replaces_its_pods() -> None:
    """The kubelet that is gone is half of the answer; the refusal of the new pods is the other half."""
    cluster = shop()
    cluster.apply(
        "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {"
        "pod-security.kubernetes.io/enforce: restricted}}}"
    )
    found = cluster.lose_nodes(zone="a")
    (stuck, *_) = outcomes(found, "Deployment/api")
    assert stuck[0] == "stuck"
    assert stuck[1].startswith("its kubelet does not answer; Error creating: pods ")
    assert "violates PodSecurity" in stuck[1]
    assert [each.why for each in found.pods if each.pod == "alone"] == [
        "its kubelet does not answer; nothing replaces it"
    ]


def test_a_rollout_tells_what_does_not_start() -> None:
    """One that works replaces all pods; one whose pods never become ready keeps the old ones."""
    cluster = simulated(2)
    cluster.create(deployment("web", 4))
    cluster.settle()
    good = cluster.roll_out("deployment/web", image="app:2")
    assert good
    assert [each.outcome for each in good.pods] == ["moved"] * 4
    (web,) = good.availability
    assert web.ready_least == 3
    change = {"spec": {"template": {"metadata": {"annotations": {"simkit/ready": "false"}}}}}
    bad = cluster.roll_out("deployment/web", change=change, timeout="1m")
    assert not bad.complete
    assert sorted(each.outcome for each in bad.pods) == ["kept", "kept", "kept", "pending", "pending"]
    with pytest.raises(SimkitError, match="deployment/NAME"):
        cluster.roll_out("pod/web")
    with pytest.raises(SimkitError, match="not found"):
        cluster.roll_out("deployment/no")


def test_a_rollout_tells_why_its_pods_are_not_created() -> None:
    """The server's words stand in a row without a pod; a refusal of before the rollout is none of it."""
    cluster = shop()
    strict = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": strict}})
    cluster.create(deployment("late", 1))
    cluster.settle()
    found = cluster.roll_out("deployment/api", image="api:2", timeout="1m")
    assert not found
    assert not found.complete
    (refused,) = [each for each in found.pods if each.pod == "(not created)"]
    assert (refused.workload, refused.outcome) == ("Deployment/api", "pending")
    assert "violates PodSecurity" in refused.why
    assert repr(found).startswith("<rollout of deployment/api; pods pending: 1, pods kept: 3, ")
    assert len(repr(found)) < 200


@pytest.mark.slow
def test_nodes_of_a_dump_are_taken_over(capsys: pytest.CaptureFixture[str]) -> None:
    """A drain of the demo cluster finds workloads whose pods would not be admitted again."""
    cluster = simkit.load(datasets.path(datasets.DEMO))
    taken = cluster.fork()
    assert taken.simulate_nodes("depot-a1") == ["depot-a1"]
    with pytest.raises(SimkitError, match="no node 'x'"):
        taken.simulate_nodes("x")
    assert main(["rehearse", "drain", "depot-a1", "--demo", "-o", "json"]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    lost = [each for each in found["rows"] if each["outcome"] == "lost"]
    assert all("violates PodSecurity" in each["why"] for each in lost)
    assert {"moved", "lost", "kept"} <= {each["outcome"] for each in found["rows"]}
    assert {"ledger" in each["workload"] for each in found["workloads"]} == {True, False}


def test_an_operation_is_drawn_by_workload() -> None:
    """A bar for each workload that it touches."""
    drain = shop().drain_nodes("node-1", timeout="10s")
    axes = drain.plot()
    assert "during the drain of node-1" in message(axes)
    assert all(name in texts(axes) for name in drain.workloads()["namespace"])


def test_wrong_names_are_told() -> None:
    """With what there is."""
    cluster = shop()
    for given, told in (({"nodes": "x"}, "there are node-0"), ({"zone": "c"}, "zones are a, b")):
        with pytest.raises(SimkitError, match=told):
            cluster.drain_nodes(**given)
    assert main(["rehearse", "rollout", "--demo"]) == 2


def test_a_zone_that_is_lost_is_emptied_node_after_node() -> None:
    """The pods of four nodes move within half a minute; where half of a small zone stays, they wait there."""
    cluster = simkit.Cluster(seed=1)
    cluster.add_nodes(8, zones=["a", "b"])
    cluster.create(deployment("web", 8, requests={"cpu": "1"}))
    cluster.settle()
    assert {each.outcome for each in cluster.lose_nodes(zone="a", minutes=8).pods} == {"moved"}
    some = [f"node-{number}" for number in (0, 2, 4)]
    assert "moved" not in {each.outcome for each in cluster.lose_nodes(some, minutes=8).pods}


@pytest.mark.parametrize("operation", ["drain", "loss"])
def test_objects_of_manifests_have_no_uids(operation: str) -> None:
    """Pods that somebody wrote by hand are known by their names."""
    cluster = simulated(2)
    cluster.create(pod("alone", nodeName="node-0"))
    cluster.settle()
    written = [each for word in ("nodes", "pods") for each in cluster.list(word)]
    items = [{**each, "metadata": {k: v for k, v in each["metadata"].items() if k != "uid"}} for each in written]
    loaded = simkit.load(items)
    drained = operation == "drain"
    found = loaded.drain_nodes("node-0", timeout="1m") if drained else loaded.lose_nodes("node-0", minutes=1)
    assert [each.pod for each in found.pods] == ["alone"]
