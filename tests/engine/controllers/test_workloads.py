"""Replica sets and deployments, from their first pod to their last."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request
from tests.engine.controllers.worlds import POD_SPEC, all_ready, names, obj, patch, say, told, workload

DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/d"


def sizes(cluster: simkit.Cluster) -> dict[str, int]:
    """The wanted replicas of each replica set, by image."""
    sets = cluster.list("replicasets", "default")
    return {each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"] for each in sets}


def conditions(obj: Any) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in obj["status"]["conditions"]}


def test_a_replica_set_keeps_its_pods(cluster: simkit.Cluster) -> None:
    """It makes what is missing, takes in what matches, and removes what is too much."""
    stray = obj(
        "v1", "Pod", "stray", meta={"labels": {"app": "web"}}, spec={"containers": [{"name": "c", "image": "i"}]}
    )
    cluster.create(stray)
    cluster.create(workload("ReplicaSet", "r", replicas=3))
    cluster.settle()
    assert len(names(cluster, "pods")) == 3
    assert cluster.get("pod", "stray")["metadata"]["ownerReferences"][0]["name"] == "r"
    all_ready(cluster)
    cluster.settle()
    assert cluster.get("rs", "r")["status"] == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "observedGeneration": 1,
    }
    patch(cluster, "/api/v1/namespaces/default/pods/stray", {"metadata": {"labels": {"app": "other"}}})
    cluster.settle()
    assert len(names(cluster, "pods")) == 4
    assert "ownerReferences" not in cluster.get("pod", "stray")["metadata"]
    patch(cluster, "/apis/apps/v1/namespaces/default/replicasets/r", {"spec": {"replicas": 0}})
    cluster.settle()
    assert names(cluster, "pods") == ["stray"]


def test_a_failure_to_make_pods_is_told_and_tried_again(cluster: simkit.Cluster) -> None:
    """The condition says why; what stood in the way may go later."""
    cluster.create(obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": "1"}}))
    cluster.settle()
    cluster.create(workload("ReplicaSet", "r", replicas=2))
    cluster.settle()
    [failed] = cluster.get("rs", "r")["status"]["conditions"]
    assert (failed["type"], failed["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "exceeded quota" in failed["message"]
    cluster.delete("quota", "q")
    cluster.settle()
    assert len(names(cluster, "pods")) == 2
    assert "conditions" not in cluster.get("rs", "r")["status"]


def test_replicas_are_available_after_a_while(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A pod counts as available when it has been ready long enough, without anything happening then."""
    cluster.create(workload("ReplicaSet", "r", replicas=1, minReadySeconds=60))
    cluster.settle()
    [name] = names(cluster, "pods")
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2024-04-17T00:00:00Z"}
    patch(
        cluster,
        f"/api/v1/namespaces/default/pods/{name}/status",
        {"status": {"phase": "Running", "conditions": [ready]}},
    )
    cluster.settle()
    assert "availableReplicas" not in cluster.get("rs", "r")["status"]
    clock.advance(60)
    cluster.settle()
    assert cluster.get("rs", "r")["status"]["availableReplicas"] == 1


def test_a_replication_controller_does_the_same(cluster: simkit.Cluster) -> None:
    """Its selector is a plain map of labels."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    cluster.create(obj("v1", "ReplicationController", "r", spec={"replicas": 2, "template": template}))
    cluster.settle()
    assert len(names(cluster, "pods")) == 2


def test_a_deployment_rolls_out_without_losing_too_many(cluster: simkit.Cluster) -> None:
    """New pods come before old ones go, as far as surge and unavailability allow."""
    cluster.create(
        workload("Deployment", "d", replicas=4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    )
    cluster.settle()
    all_ready(cluster)
    cluster.settle()
    assert conditions(cluster.get("deploy", "d")) == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}]
    cluster.perform(Request.of("PATCH", DEPLOYMENT, image, content_type="application/json-patch+json"))
    cluster.settle()
    assert sizes(cluster) == {"i": 3, "j": 2}
    for _ in range(4):
        all_ready(cluster)
        cluster.settle()
        ready = [pod for pod in cluster.list("pods", "default") if pod["status"].get("phase") == "Running"]
        assert len(ready) >= 3
    assert sizes(cluster) == {"i": 0, "j": 4}
    done = cluster.get("deploy", "d")
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert {key: value for key, value in done["status"].items() if key != "conditions"} == {
        "observedGeneration": 2,
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
    }


def test_annotations_raise_the_generation_of_a_deployment(cluster: simkit.Cluster) -> None:
    """Those of clients do; the number of the rollout, which the controller writes with the status, does not."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    first = cluster.get("deployment", "d")
    assert first["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert first["metadata"]["generation"] == first["status"]["observedGeneration"] == 1
    patch(cluster, DEPLOYMENT, {"metadata": {"annotations": {"a": "b"}}})
    cluster.settle()
    later = cluster.get("deployment", "d")
    assert later["metadata"]["generation"] == later["status"]["observedGeneration"] == 2


def test_going_back_to_an_old_template_uses_its_replica_set(cluster: simkit.Cluster) -> None:
    """No third replica set is made, and the numbers of rollouts only grow."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    for value in ("j", "i"):
        image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": value}]
        cluster.perform(Request.of("PATCH", DEPLOYMENT, image, content_type="application/json-patch+json"))
        for _ in range(3):
            cluster.settle()
            all_ready(cluster)
    cluster.settle()
    assert sizes(cluster) == {"i": 1, "j": 0}
    notes = cluster.get("deploy", "d")["metadata"]["annotations"]
    assert notes["deployment.kubernetes.io/revision"] == "3"


def test_recreate_waits_for_the_old_pods(cluster: simkit.Cluster) -> None:
    """No new pod is made as long as an old one is there."""
    cluster.create(workload("Deployment", "d", replicas=1, strategy={"type": "Recreate"}))
    cluster.settle()
    [old] = names(cluster, "pods")
    patch(cluster, f"/api/v1/namespaces/default/pods/{old}", {"metadata": {"finalizers": ["example.com/hold"]}})
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}]
    cluster.perform(Request.of("PATCH", DEPLOYMENT, image, content_type="application/json-patch+json"))
    cluster.settle()
    assert sizes(cluster) == {"i": 0}
    patch(cluster, f"/api/v1/namespaces/default/pods/{old}", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert sizes(cluster) == {"i": 0, "j": 1}


def test_a_rollout_that_does_not_get_on_is_told(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """After its deadline the deployment says that it has failed to progress."""
    cluster.create(workload("Deployment", "d", replicas=1, progressDeadlineSeconds=60))
    cluster.settle()
    clock.advance(61)
    cluster.settle()
    assert conditions(cluster.get("deploy", "d"))["Progressing"] == "ProgressDeadlineExceeded"


def test_a_rollout_that_cannot_begin_is_told(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A new replica set that gets no pods is news even after a complete rollout, and is late in the end."""
    cluster.create(workload("Deployment", "d", replicas=1, progressDeadlineSeconds=60))
    cluster.settle()
    all_ready(cluster)
    cluster.settle()
    assert conditions(cluster.get("deploy", "d"))["Progressing"] == "NewReplicaSetAvailable"
    cluster.create(obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": "1"}}))
    cluster.settle()
    patch(cluster, DEPLOYMENT, {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.settle()
    assert conditions(cluster.get("deploy", "d"))["Progressing"] == "NewReplicaSetCreated"
    clock.advance(61)
    cluster.settle()
    assert conditions(cluster.get("deploy", "d"))["Progressing"] == "ProgressDeadlineExceeded"


def test_a_replica_set_that_may_not_be_made_is_told(cluster: simkit.Cluster) -> None:
    """In a condition and an event, with its name."""
    cluster.create(obj("v1", "ResourceQuota", "q", spec={"hard": {"count/replicasets.apps": "0"}}))
    cluster.settle()
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    [progress] = cluster.get("deploy", "d")["status"]["conditions"]
    assert (progress["status"], progress["reason"]) == ("False", "ReplicaSetCreateError")
    assert progress["message"].startswith('Failed to create new replica set "d-')
    assert "is forbidden: exceeded quota: q, requested: count/replicasets.apps=1" in progress["message"]
    assert told(cluster, "d")[0][1:3] == ("ReplicaSetCreateError", progress["message"])


def test_pausing_and_resuming_are_told(cluster: simkit.Cluster) -> None:
    """Meanwhile the progress of the rollout is unknown; a complete one is complete again afterwards."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    all_ready(cluster)
    cluster.settle()
    patch(cluster, DEPLOYMENT, {"spec": {"paused": True}})
    cluster.settle()
    progress = cluster.get("deploy", "d")["status"]["conditions"][-1]
    told_of = [progress[name] for name in ("type", "status", "reason", "message")]
    assert told_of == ["Progressing", "Unknown", "DeploymentPaused", "Deployment is paused"]
    patch(cluster, DEPLOYMENT, {"spec": {"paused": False}})
    cluster.settle()
    assert conditions(cluster.get("deploy", "d"))["Progressing"] == "NewReplicaSetAvailable"


def test_a_paused_deployment_only_scales(cluster: simkit.Cluster) -> None:
    """Its template waits, its size does not."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    patch(
        cluster, DEPLOYMENT, {"spec": {"paused": True, "replicas": 2, "template": {"metadata": {"labels": {"v": "2"}}}}}
    )
    cluster.settle()
    assert sizes(cluster) == {"i": 2}
    patch(cluster, DEPLOYMENT, {"spec": {"paused": False}})
    cluster.settle()
    assert len(names(cluster, "replicasets")) == 2


def test_a_paused_deployment_without_pods_grows_its_last_set(
    cluster: simkit.Cluster, clock: simkit.SimulatedClock
) -> None:
    """There is none of its template, and old ones are forgotten all the same."""
    cluster.create(workload("Deployment", "d", replicas=0, revisionHistoryLimit=1))
    for image in ("j", "k"):
        cluster.settle()
        clock.advance(seconds=1)
        container = {"name": "c", "image": image}
        patch(cluster, DEPLOYMENT, {"spec": {"template": {"spec": {"containers": [container]}}}})
    cluster.settle()
    container = {"name": "c", "image": "l"}
    paused = {"paused": True, "replicas": 2, "template": {"spec": {"containers": [container]}}}
    patch(cluster, DEPLOYMENT, {"spec": paused})
    cluster.settle()
    assert sum(sizes(cluster).values()) == 2
    assert len(sizes(cluster)) == 1


def test_annotations_that_a_set_gets_from_its_deployment(cluster: simkit.Cluster) -> None:
    """Annotations follow even where it stands still; the sizes by which it got its own do when it gets another."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    rolling = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}
    patch(cluster, DEPLOYMENT, {"metadata": {"annotations": {"a": "b"}}, "spec": {"paused": True, "strategy": rolling}})
    cluster.settle()
    [notes] = [each["metadata"]["annotations"] for each in cluster.list("replicasets", "default")]
    assert (notes["a"], notes["deployment.kubernetes.io/max-replicas"]) == ("b", "2")
    patch(cluster, DEPLOYMENT, {"spec": {"replicas": 2}})
    cluster.settle()
    [notes] = [each["metadata"]["annotations"] for each in cluster.list("replicasets", "default")]
    assert notes["deployment.kubernetes.io/max-replicas"] == "5"


def test_crowded_nodes_lose_pods_first(cluster: simkit.Cluster) -> None:
    """Among equal pods, one on a node with more of them goes first."""
    cluster.create(workload("Deployment", "d", replicas=3))
    cluster.settle()
    for name, where in zip(names(cluster, "pods"), ("a", "b", "b"), strict=True):
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": where}}
        path = f"/api/v1/namespaces/default/pods/{name}/binding"
        assert cluster.perform(Request.of("POST", path, binding)).succeeded
    all_ready(cluster)
    cluster.settle()
    patch(cluster, DEPLOYMENT, {"spec": {"replicas": 2}})
    cluster.settle()
    left = [each for each in cluster.list("pods", "default") if "deletionTimestamp" not in each["metadata"]]
    assert sorted(each["spec"]["nodeName"] for each in left) == ["a", "b"]


def test_history_is_limited(cluster: simkit.Cluster) -> None:
    """Old replica sets beyond the limit are removed once the rollout is complete."""
    cluster.create(workload("Deployment", "d", replicas=1, revisionHistoryLimit=1))
    for value in ("1", "2", "3"):
        for _ in range(3):
            cluster.settle()
            all_ready(cluster)
        patch(cluster, DEPLOYMENT, {"spec": {"template": {"metadata": {"labels": {"v": value}}}}})
    for _ in range(4):
        cluster.settle()
        all_ready(cluster)
    assert len(names(cluster, "replicasets")) == 2


def test_deleting_a_deployment_removes_everything(cluster: simkit.Cluster) -> None:
    """Garbage collection follows the owners down to the pods."""
    cluster.create(workload("Deployment", "d", replicas=2))
    cluster.settle()
    cluster.delete("deploy", "d")
    cluster.settle()
    assert names(cluster, "replicasets") + names(cluster, "pods") == []


def test_workloads_take_in_only_what_they_could_have_made(cluster: simkit.Cluster) -> None:
    """A replica set no pod that has ended, a stateful set no pod of another name."""
    for name in ("ended", "s-x", "s-0"):
        cluster.create(obj("v1", "Pod", name, meta={"labels": {"app": "web"}}, spec=POD_SPEC))
        say(cluster, name, "Failed" if name == "ended" else "Running")
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x"))
    cluster.settle()
    cluster.create(workload("ReplicaSet", "r", replicas=1))
    cluster.settle()
    owned = {
        each["metadata"]["name"]: each["metadata"].get("ownerReferences") for each in cluster.list("pods", "default")
    }
    kinds = {name: owners and owners[0]["kind"] for name, owners in owned.items()}
    assert kinds == {"ended": None, "s-x": "ReplicaSet", "s-0": "StatefulSet"}
    cluster.delete("rs", "r")
    cluster.settle()
