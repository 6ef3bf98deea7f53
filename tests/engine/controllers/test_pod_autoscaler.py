"""Autoscaling is not simulated, and every autoscaler says so."""

from __future__ import annotations

import simkit
from tests.engine.controllers.worlds import obj, patch, told, workload


def test_an_autoscaler_changes_nothing_and_says_why(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """One condition, one Event, and the present number of replicas, even outside of its bounds."""
    cluster.create(workload("Deployment", "d", replicas=1))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"minReplicas": 2, "maxReplicas": 4, "scaleTargetRef": target}
    cluster.create(obj("autoscaling/v2", "HorizontalPodAutoscaler", "h", spec=spec))
    cluster.settle()
    patch(cluster, "/apis/apps/v1/namespaces/default/deployments/d", {"spec": {"replicas": 9}})
    clock.advance(15)
    cluster.settle()
    assert cluster.get("deployment", "d")["spec"]["replicas"] == 9
    status = cluster.get("hpa", "h")["status"]
    (condition,) = status["conditions"]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (9, 0)
    assert (condition["type"], condition["status"]) == ("ScalingActive", "False")
    assert condition["reason"] == "AutoscalingNotSimulated"
    assert [(kind, reason, count) for kind, reason, _, count in told(cluster, "h")] == [
        ("Warning", "AutoscalingNotSimulated", 1)
    ]


def test_a_target_that_is_not_there(cluster: simkit.Cluster) -> None:
    """The condition is the same; there is no number of replicas."""
    target = {"apiVersion": "a.b/v1", "kind": "No", "name": "x"}
    cluster.create(
        obj("autoscaling/v2", "HorizontalPodAutoscaler", "h", spec={"maxReplicas": 4, "scaleTargetRef": target})
    )
    cluster.settle()
    assert "currentReplicas" not in cluster.get("hpa", "h")["status"]
    assert "not simulate autoscaling" in cluster.get("hpa", "h")["status"]["conditions"][0]["message"]
