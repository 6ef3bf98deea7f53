"""Stateful sets: one pod after the other, and the claims that they own."""

from __future__ import annotations

import pytest

import simkit
from simkit.engine.controllers.stateful_set import KEPT
from simkit.meta.message import Request
from tests.engine.controllers.worlds import POD_SPEC, all_ready, names, obj, patch, say, told, workload

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def test_a_stateful_set_makes_one_pod_after_the_other(cluster: simkit.Cluster) -> None:
    """Each pod has its number, its claim, and its turn."""
    cluster.create(workload("StatefulSet", "s", replicas=2, serviceName="x", volumeClaimTemplates=[CLAIM]))
    cluster.settle()
    assert names(cluster, "pods") + names(cluster, "pvc") == ["s-0", "data-s-0"]
    say(cluster, "s-0")
    cluster.settle()
    assert names(cluster, "pods") + names(cluster, "pvc") == ["s-0", "s-1", "data-s-0", "data-s-1"]
    pod = cluster.get("pod", "s-1")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data-s-1"}
    say(cluster, "s-1")
    patch(cluster, "/apis/apps/v1/namespaces/default/statefulsets/s", {"spec": {"replicas": 0}})
    cluster.settle()
    assert names(cluster, "pods") + names(cluster, "pvc") == ["data-s-0", "data-s-1"]


@pytest.mark.parametrize(("partition", "images"), [(0, ["j", "j", "j"]), (2, ["i", "i", "j"])])
def test_a_stateful_set_is_updated_from_the_end(cluster: simkit.Cluster, partition: int, images: list[str]) -> None:
    """One pod at a time down to the partition."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    cluster.create(workload("StatefulSet", "s", replicas=3, serviceName="x", updateStrategy=rolling))
    for _ in range(4):
        cluster.settle()
        all_ready(cluster)
    cluster.settle()
    path = "/apis/apps/v1/namespaces/default/statefulsets/s"
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}]
    cluster.perform(Request.of("PATCH", path, image, content_type="application/json-patch+json"))
    cluster.settle()
    waiting = [
        pod["metadata"]["name"] for pod in cluster.list("pods", "default") if pod["status"]["phase"] == "Pending"
    ]
    assert waiting == ["s-2"]
    for _ in range(4):
        all_ready(cluster)
        cluster.settle()
    assert [pod["spec"]["containers"][0]["image"] for pod in cluster.list("pods", "default")] == images
    status = cluster.get("sts", "s")["status"]
    assert (status["currentRevision"] == status["updateRevision"]) is (partition == 0)


SETS = "/apis/apps/v1/namespaces/default/statefulsets/s"


def expel(cluster: simkit.Cluster, propagation: str) -> None:
    """Delete the stateful set."""
    assert cluster.perform(Request.of("DELETE", SETS, {"propagationPolicy": propagation})).succeeded


def test_claims_are_kept_and_an_event_says_so(cluster: simkit.Cluster) -> None:
    """Whatever the policy is, nothing deletes them."""
    policy = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"}}
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x", volumeClaimTemplates=[CLAIM], **policy))
    cluster.settle()
    all_ready(cluster)
    cluster.delete("sts", "s")
    cluster.settle()
    assert "data-s-0" in names(cluster, "pvc")
    assert ("Warning", "NotSimulated", KEPT) in [each[:3] for each in told(cluster, "s")]


def test_a_pod_that_is_taken_in_becomes_one_of_the_set(cluster: simkit.Cluster) -> None:
    """It gets the labels; volumes that it misses cannot be given to it."""
    cluster.create(obj("v1", "Pod", "s-0", meta={"labels": {"app": "web"}}, spec=POD_SPEC))
    say(cluster, "s-0")
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x", updateStrategy={"type": "OnDelete"}))
    cluster.settle()
    found = cluster.get("pod", "s-0")["metadata"]["labels"]
    assert found == {"app": "web", "statefulset.kubernetes.io/pod-name": "s-0", "apps.kubernetes.io/pod-index": "0"}
    assert ("Normal", "SuccessfulUpdate", "update Pod s-0 in StatefulSet s successful", 1) in told(cluster, "s")
    expel(cluster, "Orphan")
    cluster.settle()
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x", volumeClaimTemplates=[CLAIM]))
    cluster.settle()
    failed = [text for _, reason, text, _ in told(cluster, "s") if reason == "FailedUpdate"]
    assert failed[0].startswith('update Pod s-0 in StatefulSet s failed error: Pod "s-0" is invalid: spec: Forbidden:')
    assert cluster.get("sts", "s")["status"]["observedGeneration"] == 1


def test_a_stateful_set_waits_for_claims_that_go(cluster: simkit.Cluster) -> None:
    """A claim under deletion belongs to an earlier pod."""
    claim = obj("v1", "PersistentVolumeClaim", "data-s-0", meta={"finalizers": ["a.b/c"]}, spec=CLAIM["spec"])
    cluster.create(claim)
    cluster.delete("pvc", "data-s-0")
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x", volumeClaimTemplates=[CLAIM]))
    cluster.settle()
    text = "create Pod s-0 in StatefulSet s failed error: pvc data-s-0 is being deleted"
    assert ("Warning", "FailedCreate", text) in {each[:3] for each in told(cluster, "s")}
    assert cluster.get("sts", "s")["status"]["observedGeneration"] == 1
    path = "/api/v1/namespaces/default/persistentvolumeclaims/data-s-0"
    patch(cluster, path, {"metadata": {"finalizers": None}})
    cluster.settle()
    assert names(cluster, "pods") == ["s-0"]


def test_a_stateful_set_shrinks_past_what_does_not_serve(cluster: simkit.Cluster) -> None:
    """Only the first pod that is not healthy may go; those after it block until they are."""
    cluster.create(workload("StatefulSet", "s", replicas=4, serviceName="x"))
    for _ in range(5):
        cluster.settle()
        all_ready(cluster)
    say(cluster, "s-2", ready=False)
    say(cluster, "s-3", ready=False)
    patch(cluster, SETS, {"spec": {"replicas": 1}})
    cluster.settle()
    assert names(cluster, "pods") == ["s-0", "s-1", "s-2", "s-3"]
    say(cluster, "s-3")
    cluster.settle()
    assert names(cluster, "pods") == ["s-0"]


def test_a_stateful_set_that_goes_says_what_is_left(cluster: simkit.Cluster) -> None:
    """Until its last pod is gone, where these go first."""
    cluster.create(workload("StatefulSet", "s", replicas=2, serviceName="x", podManagementPolicy="Parallel"))
    cluster.settle()
    patch(cluster, "/api/v1/namespaces/default/pods/s-1", {"metadata": {"finalizers": ["a.b/c"]}})
    expel(cluster, "Foreground")
    cluster.settle()
    status = cluster.get("sts", "s")["status"]
    assert (status["replicas"], status.get("currentReplicas"), status.get("updatedReplicas")) == (1, None, None)


def test_a_failed_pod_of_a_stateful_set_is_made_anew(cluster: simkit.Cluster) -> None:
    """It keeps its number."""
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="x"))
    cluster.settle()
    before = cluster.get("pod", "s-0")["metadata"]["uid"]
    say(cluster, "s-0", "Failed", ready=False)
    cluster.settle()
    assert cluster.get("pod", "s-0")["metadata"]["uid"] != before
