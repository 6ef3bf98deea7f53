"""Daemon sets: a pod on every node that fits."""

from __future__ import annotations

import pytest

import simkit
from tests.engine.controllers.worlds import POD_SPEC, all_ready, names, obj, patch, say, told, workload


def node(cluster: simkit.Cluster, name: str, **labels: str) -> None:
    """A node that is ready for pods."""
    cluster.create(obj("v1", "Node", name, meta={"labels": labels}))
    patch(cluster, f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def test_a_daemon_runs_on_every_node_that_fits(cluster: simkit.Cluster) -> None:
    """Nodes come, change and go, and pods with them."""
    node(cluster, "a", disk="fast")
    node(cluster, "b")
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"nodeSelector": {"disk": "fast"}, "containers": [{"name": "c", "image": "i"}]},
    }
    cluster.create(workload("DaemonSet", "d", template=template))
    cluster.settle()
    assert len(names(cluster, "pods")) == 1
    patch(cluster, "/api/v1/nodes/b", {"metadata": {"labels": {"disk": "fast"}}})
    cluster.settle()
    assert cluster.get("ds", "d")["status"]["desiredNumberScheduled"] == 2
    patch(cluster, "/api/v1/nodes/a", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["b"]
    assert {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"} in pod["spec"][
        "tolerations"
    ]


@pytest.mark.parametrize(
    ("phase", "word", "wish", "kind"),
    [("Failed", "failed", "kill", "Warning"), ("Succeeded", "succeeded", "delete", "Normal")],
)
def test_a_daemon_that_ended_is_told_and_made_anew(
    cluster: simkit.Cluster, phase: str, word: str, wish: str, kind: str
) -> None:
    """A daemon has no end, be it a good one."""
    node(cluster, "a")
    cluster.create(workload("DaemonSet", "d"))
    cluster.settle()
    [name] = names(cluster, "pods")
    say(cluster, name, phase, ready=False)
    cluster.settle()
    text = f"Found {word} daemon pod default/{name} on node a, will try to {wish} it"
    assert (kind, f"{word.capitalize()}DaemonPod", text, 1) in told(cluster, "d")
    assert names(cluster, "pods") != [name]


def test_a_daemon_is_updated_node_by_node(cluster: simkit.Cluster) -> None:
    """Only as many pods are away at once as may be."""
    for name in ("a", "b", "c"):
        node(cluster, name)
    cluster.create(workload("DaemonSet", "d"))
    cluster.settle()
    all_ready(cluster)
    cluster.settle()
    path = "/apis/apps/v1/namespaces/default/daemonsets/d"
    patch(cluster, path, {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    for count in (1, 2, 3):
        cluster.settle()
        assert cluster.get("ds", "d")["status"]["updatedNumberScheduled"] == count
        all_ready(cluster)
    cluster.settle()
    assert cluster.get("ds", "d")["status"]["numberAvailable"] == 3


DAEMON = "/apis/apps/v1/namespaces/default/daemonsets/d"
HARD = "requiredDuringSchedulingIgnoredDuringExecution"


def test_a_daemons_pod_is_meant_for_one_node(cluster: simkit.Cluster) -> None:
    """The node of the pod replaces the template's node affinity; tolerations for a time become unlimited."""
    node(cluster, "a", disk="fast")
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}
    unready = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = {
        **POD_SPEC,
        "affinity": {"nodeAffinity": {HARD: {"nodeSelectorTerms": [term]}}},
        "tolerations": [{**unready, "tolerationSeconds": 5}],
    }
    cluster.create(workload("DaemonSet", "d", template={"metadata": {"labels": {"app": "web"}}, "spec": spec}))
    patch(cluster, DAEMON, {"spec": {"minReadySeconds": 1}})
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    [here] = pod["spec"]["affinity"]["nodeAffinity"][HARD]["nodeSelectorTerms"]
    assert here == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    assert [each for each in pod["spec"]["tolerations"] if each["key"] == unready["key"]] == [unready]
    assert pod["metadata"]["labels"]["pod-template-generation"] == "1"


def test_a_daemon_surges(cluster: simkit.Cluster) -> None:
    """Old pods stay until new ones are available, but those that are not ready are replaced at once."""
    for name in ("a", "b", "c"):
        node(cluster, name)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    cluster.create(workload("DaemonSet", "d", updateStrategy=rolling))
    cluster.settle()
    all_ready(cluster)
    old = names(cluster, "pods")
    say(cluster, old[0], ready=False)
    patch(cluster, DAEMON, {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.settle()
    assert old[0] not in names(cluster, "pods")
    assert len(names(cluster, "pods")) == 4, "one beyond the nodes, besides the one replaced"
    for _ in range(4):
        all_ready(cluster)
        cluster.settle()
        assert cluster.get("ds", "d")["status"]["numberAvailable"] >= 2
    status = cluster.get("ds", "d")["status"]
    assert (status["updatedNumberScheduled"], status["numberAvailable"], len(names(cluster, "pods"))) == (3, 3, 3)


def test_a_surging_daemon_leaves_a_node_when_others_serve(cluster: simkit.Cluster) -> None:
    """A pod where none should be any more is worth keeping until then."""
    for name in ("a", "b"):
        node(cluster, name)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    cluster.create(workload("DaemonSet", "d", updateStrategy=rolling))
    cluster.settle()
    all_ready(cluster)
    cluster.settle()
    patch(cluster, "/api/v1/nodes/a", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    cluster.settle()
    assert (len(names(cluster, "pods")), cluster.get("ds", "d")["status"]["numberMisscheduled"]) == (2, 1)
    patch(cluster, DAEMON, {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    for _ in range(3):
        cluster.settle()
        all_ready(cluster)
    cluster.settle()
    assert (len(names(cluster, "pods")), cluster.get("ds", "d")["status"]["numberMisscheduled"]) == (1, 0)


def test_a_daemon_that_may_not_make_pods_says_what_it_has(cluster: simkit.Cluster) -> None:
    """The status tells how many lack."""
    node(cluster, "a")
    cluster.create(obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": "0"}}))
    cluster.settle()
    cluster.create(workload("DaemonSet", "d"))
    cluster.settle()
    status = cluster.get("ds", "d")["status"]
    assert (status["desiredNumberScheduled"], status["numberUnavailable"], status["observedGeneration"]) == (1, 1, 1)


def test_a_daemons_history_counts_what_is_in_use(cluster: simkit.Cluster) -> None:
    """Revisions that pods still have take up room."""
    node(cluster, "a")
    cluster.create(workload("DaemonSet", "d", revisionHistoryLimit=1, updateStrategy={"type": "OnDelete"}))
    for number in (2, 3):
        cluster.settle()
        patch(cluster, DAEMON, {"spec": {"template": {"metadata": {"labels": {"v": str(number)}}}}})
    cluster.settle()
    assert sorted(each["revision"] for each in cluster.list("controllerrevisions", "default")) == [1, 3]


def test_pods_that_go_count_until_they_have_ended(cluster: simkit.Cluster) -> None:
    """A daemon that still runs keeps its node, one that has ended does not."""
    node(cluster, "a")
    cluster.create(workload("DaemonSet", "d"))
    cluster.settle()
    [name] = names(cluster, "pods")
    say(cluster, name)
    patch(cluster, f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"finalizers": ["a.b/c"]}})
    cluster.delete("pod", name)
    cluster.settle()
    status = cluster.get("ds", "d")["status"]
    assert (names(cluster, "pods"), status["currentNumberScheduled"], status["numberReady"]) == ([name], 1, 1)
    say(cluster, name, "Failed", ready=False)
    cluster.settle()
    assert len(names(cluster, "pods")) == 2
