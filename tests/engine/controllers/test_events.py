"""The Events that controllers write about objects."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request
from tests.engine.controllers.worlds import POD_SPEC, TEMPLATE, all_ready, job, names, obj, patch, say, told, workload


def test_a_deployment_and_its_replica_set(cluster: simkit.Cluster) -> None:
    """Events name the scaled object, and the pods that came and went."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.settle()
    [owned] = names(cluster, "replicasets")
    [pod] = names(cluster, "pods")
    assert told(cluster, "d") == [("Normal", "ScalingReplicaSet", f"Scaled up replica set {owned} to 1", 1)]
    assert told(cluster, owned) == [("Normal", "SuccessfulCreate", f"Created pod: {pod}", 1)]
    [event] = [each for each in cluster.list("events", "default") if each["involvedObject"]["name"] == "d"]
    assert event["source"] == {"component": "deployment-controller"}
    assert event["involvedObject"]["apiVersion"] == "apps/v1"
    assert event["metadata"]["name"].startswith("d.")
    patch(cluster, "/apis/apps/v1/namespaces/default/deployments/d", {"spec": {"replicas": 0}})
    cluster.settle()
    assert ("Normal", "ScalingReplicaSet", f"Scaled down replica set {owned} to 0 from 1", 1) in told(cluster, "d")
    assert ("Normal", "SuccessfulDelete", f"Deleted pod: {pod}", 1) in told(cluster, owned)


def test_the_same_news_again_raises_a_count(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A failure that stays is one event, with the time of its last occurrence."""
    template: Any = {**TEMPLATE, "spec": {**POD_SPEC, "serviceAccountName": "nobody"}}
    cluster.create(workload("ReplicaSet", "r", replicas=1, template=template))
    cluster.settle()
    clock.advance(minutes=5)
    cluster.settle()
    [event] = [each for each in cluster.list("events", "default") if each["involvedObject"]["name"] == "r"]
    assert (event["type"], event["reason"]) == ("Warning", "FailedCreate")
    assert event["count"] > 1
    why = 'error looking up service account default/nobody: serviceaccount "nobody" not found'
    assert event["message"] == f'Error creating: pods "r-" is forbidden: {why}'
    assert event["firstTimestamp"] < event["lastTimestamp"]


def test_a_stateful_set(cluster: simkit.Cluster) -> None:
    """Claims and pods have words of their own."""
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": _ONE}}
    cluster.create(workload("StatefulSet", "s", replicas=1, serviceName="s", volumeClaimTemplates=[claim]))
    cluster.settle()
    assert told(cluster, "s") == [
        ("Normal", "SuccessfulCreate", "create Claim data-s-0 Pod s-0 in StatefulSet s success", 1),
        ("Normal", "SuccessfulCreate", "create Pod s-0 in StatefulSet s successful", 1),
    ]
    say(cluster, "s-0", "Failed", ready=False)
    cluster.settle()
    reasons = [reason for _, reason, _, _ in told(cluster, "s")]
    assert reasons == ["SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete", "RecreatingFailedPod"]


_ONE: dict[str, Any] = {"requests": {"storage": "1Gi"}}


def test_jobs_and_their_schedule(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A job's pods and its end; a schedule's jobs and their ends."""
    template = {"spec": job("t")["spec"]}
    cluster.create(obj("batch/v1", "CronJob", "c", spec={"schedule": "*/5 * * * *", "jobTemplate": template}))
    cluster.settle()
    clock.advance(minutes=5)
    cluster.settle()
    [made] = names(cluster, "jobs")
    [pod] = names(cluster, "pods")
    assert told(cluster, "c") == [("Normal", "SuccessfulCreate", f"Created job {made}", 1)]
    say(cluster, pod, "Succeeded", ready=False)
    cluster.settle()
    assert ("Normal", "SawCompletedJob", f"Saw completed job: {made}, status: Complete", 1) in told(cluster, "c")
    assert [each[1:3] for each in told(cluster, made)] == [
        ("Completed", "Job completed"),
        ("SuccessfulCreate", f"Created pod: {pod}"),
    ]


def test_a_suspended_job(cluster: simkit.Cluster) -> None:
    """Told when it stops and when it goes on."""
    cluster.create(job("j", suspend=True))
    cluster.settle()
    assert told(cluster, "j") == [("Normal", "Suspended", "Job suspended", 1)]
    patch(cluster, "/apis/batch/v1/namespaces/default/jobs/j", {"spec": {"suspend": False}})
    cluster.settle()
    assert ("Normal", "Resumed", "Job resumed", 1) in told(cluster, "j")


def test_a_budget_without_pods(cluster: simkit.Cluster) -> None:
    """A selector that finds nothing is worth a word."""
    cluster.create(obj("policy/v1", "PodDisruptionBudget", "b", spec={"selector": {"matchLabels": {"no": "pod"}}}))
    cluster.settle()
    assert told(cluster, "b")[0][:3] == ("Normal", "NoPods", "No matching pods found")


def test_forks_tell_for_themselves(cluster: simkit.Cluster) -> None:
    """Two events of one moment get two names, also where a fork does not know what was told before."""
    cluster.create(workload("ReplicaSet", "r", replicas=1))
    cluster.settle()
    all_ready(cluster)
    fork = cluster.fork()
    assert fork.perform(Request.of("DELETE", f"/api/v1/namespaces/default/pods/{names(fork, 'pods')[0]}")).succeeded
    fork.settle()
    assert [each[1] for each in told(fork, "r")] == ["SuccessfulCreate", "SuccessfulCreate"]
    assert len(told(cluster, "r")) == 1


def test_events_about_one_object_are_limited(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """After 25 of them, one more is written every five minutes."""
    cluster.create(workload("ReplicaSet", "r", replicas=40))
    cluster.settle()
    assert (len(names(cluster, "pods")), len(told(cluster, "r"))) == (40, 25)
    clock.advance(minutes=5)
    patch(cluster, "/apis/apps/v1/namespaces/default/replicasets/r", {"spec": {"replicas": 42}})
    cluster.settle()
    assert len(told(cluster, "r")) == 26
