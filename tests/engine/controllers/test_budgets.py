"""Disruption budgets whose pods have no size that could be asked for, or one that only their Scale tells."""

from __future__ import annotations

from typing import Any

import simkit
from tests.engine.controllers.worlds import POD_SPEC, job, obj, patch, told

LABELS = {"app": "web"}


def budget(cluster: simkit.Cluster, **spec: Any) -> None:
    wanted = {"selector": {"matchLabels": LABELS}, **spec}
    cluster.create(obj("policy/v1", "PodDisruptionBudget", "b", spec=wanted))


def test_pods_of_a_job(cluster: simkit.Cluster) -> None:
    """A job has no size: the budget allows nothing and says why."""
    cluster.create(job("j"))
    cluster.settle()
    name = cluster.list("pods", "default")[0]["metadata"]["name"]
    patch(cluster, f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"labels": LABELS}})
    budget(cluster, maxUnavailable=1)
    cluster.settle()
    why = "jobs.batch does not implement the scale subresource"
    condition = cluster.get("pdb", "b")["status"]["conditions"][0]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", why)
    failure = f"Failed to calculate the number of expected pods: {why}"
    assert told(cluster, "b")[0][:3] == ("Warning", "CalculateExpectedPodCountFailed", failure)


def test_pods_of_nobody(cluster: simkit.Cluster) -> None:
    """They do not count, and a warning says so."""
    cluster.create(obj("v1", "Pod", "p", meta={"labels": LABELS}, spec=POD_SPEC))
    budget(cluster, maxUnavailable=1)
    cluster.settle()
    assert cluster.get("pdb", "b")["status"]["expectedPods"] == 0
    selector = "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}"
    start = f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result,"
    [(_, reason, text, _)] = told(cluster, "b")
    assert (reason, text.startswith(start)) == ("UnmanagedPods", True)


def test_pods_of_custom_objects(cluster: simkit.Cluster) -> None:
    """Whatever has a Scale can be asked for it; a kind that is not served cannot."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "fleets", "singular": "fleet", "kind": "Fleet", "listKind": "FleetList"}
    versions = [{**version, "subresources": {"scale": scale}}]
    spec = {"group": "a.test", "scope": "Namespaced", "names": names, "versions": versions}
    cluster.create(obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", "fleets.a.test", spec=spec))
    cluster.settle()
    fleet = cluster.create(obj("a.test/v1", "Fleet", "f", spec={"replicas": 3}))
    owner = {"apiVersion": "a.test/v1", "kind": "Fleet", "name": "f", "uid": fleet["metadata"]["uid"]}
    meta = {"labels": LABELS, "ownerReferences": [{**owner, "controller": True}]}
    cluster.create(obj("v1", "Pod", "p", meta=meta, spec=POD_SPEC))
    budget(cluster, minAvailable="50%")
    cluster.settle()
    status = cluster.get("pdb", "b")["status"]
    assert (status["expectedPods"], status["desiredHealthy"]) == (3, 2)
    cluster.delete("crd", "fleets.a.test")
    patch(cluster, "/api/v1/namespaces/default/pods/p", {"metadata": {"annotations": {"a": "b"}}})
    cluster.settle()
    message = cluster.get("pdb", "b")["status"]["conditions"][0]["message"]
    assert message == 'no matches for kind "Fleet" in version "a.test/v1"'
