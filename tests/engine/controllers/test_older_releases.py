"""Controllers on releases that serve other versions than controllers speak."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request

LABELLED = {"matchLabels": {"app": "x"}}
POD: dict[str, Any] = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "img:1"}]},
}


def of(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def become(cluster: simkit.Cluster, pod: str, status: dict[str, Any]) -> None:
    """A pod's status, as its kubelet would write it."""
    path, form = f"/api/v1/namespaces/default/pods/{pod}/status", "application/merge-patch+json"
    assert cluster.perform(Request.of("PATCH", path, {"status": status}, content_type=form)).succeeded
    cluster.settle()


@pytest.mark.parametrize(
    ("release", "budgets"), [("1.16", "v1beta1"), ("1.20", "v1beta1"), ("1.22", "v1"), ("1.34", "v1")]
)
def test_controllers_of_every_release(release: str, budgets: str) -> None:
    """Budgets, slices and autoscalers are kept in the versions that there are."""
    cluster = simkit.Cluster(release=release, seed=1)
    cluster.create(of("v1", "Node", "n", {}))
    cluster.create(of("apps/v1", "Deployment", "web", {"replicas": 2, "selector": LABELLED, "template": POD}))
    cluster.create(of(f"policy/{budgets}", "PodDisruptionBudget", "b", {"minAvailable": 1, "selector": LABELLED}))
    cluster.create(of("v1", "Service", "s", {"selector": {"app": "x"}, "ports": [{"port": 80}]}))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    cluster.create(of("autoscaling/v1", "HorizontalPodAutoscaler", "h", {"scaleTargetRef": target, "maxReplicas": 2}))
    cluster.settle()
    for number, pod in enumerate(cluster.list("pods", "default")):
        address = f"10.0.0.{number}"
        ready = {"podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": "True"}]}
        become(cluster, pod["metadata"]["name"], {"phase": "Running", **ready})
    budget = cluster.get("pdb", "b", "default")
    assert (budget["apiVersion"], budget["status"]["disruptionsAllowed"]) == (f"policy/{budgets}", 1)
    scaler = cluster.get("hpa", "h", "default")
    told = scaler["metadata"].get("annotations", {}).get("autoscaling.alpha.kubernetes.io/conditions", scaler["status"])
    assert "AutoscalingNotSimulated" in str(told)
    if release != "1.16":  # which serves no slices
        (slice_,) = (
            each for each in cluster.list("endpointslices", "default") if each["metadata"]["name"] != "kubernetes"
        )
        assert len(slice_["endpoints"]) == 2


@pytest.mark.parametrize(("release", "kept"), [("1.16", False), ("1.20", False), ("1.30", True)])
def test_jobs_of_every_release(release: str, kept: bool) -> None:
    """A job counts to its end, whether or not the release keeps pods until they are counted."""
    cluster = simkit.Cluster(release=release, seed=1)
    template = {"spec": {**POD["spec"], "restartPolicy": "Never"}}
    cluster.create(of("batch/v1", "Job", "j", {"completions": 2, "backoffLimit": 1, "template": template}))
    cluster.settle()
    (pod,) = cluster.list("pods", "default")
    assert ("batch.kubernetes.io/job-tracking" in pod["metadata"].get("finalizers", ())) is kept
    become(cluster, pod["metadata"]["name"], {"phase": "Succeeded"})
    (active,) = (each for each in cluster.list("pods", "default") if each["status"]["phase"] == "Pending")
    become(cluster, active["metadata"]["name"], {"phase": "Succeeded"})
    status = cluster.get("job", "j", "default")["status"]
    assert (status["succeeded"], status["conditions"][-1]["type"]) == (2, "Complete")
