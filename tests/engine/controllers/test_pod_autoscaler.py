"""Autoscalers without metrics: bounds are kept, and why no metric is followed is told."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from tests.engine.controllers.worlds import obj, patch, told, workload

NO_API = (
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource "
    "metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
)


def scaler(name: str = "d", *, least: int = 2, most: int = 4, **spec: Any) -> dict[str, Any]:
    """An autoscaler of a deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec |= {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": target}
    return obj("autoscaling/v2", "HorizontalPodAutoscaler", "h", spec=spec)


def conditions(cluster: simkit.Cluster) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of the autoscaler's conditions."""
    found = cluster.get("hpa", "h")["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def size(cluster: simkit.Cluster) -> int:
    found: int = cluster.get("deployment", "d")["spec"]["replicas"]
    return found


def test_bounds_are_kept(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Below the least and above the most number the object is scaled."""
    cluster.create(workload("Deployment", "d", replicas=1))
    cluster.create(scaler())
    cluster.settle()
    assert size(cluster) == 2
    assert cluster.get("hpa", "h")["status"]["desiredReplicas"] == 2
    assert conditions(cluster)["AbleToScale"][1] == "SucceededRescale"
    patch(cluster, "/apis/apps/v1/namespaces/default/deployments/d", {"spec": {"replicas": 9}})
    clock.advance(15)
    cluster.settle()
    assert size(cluster) == 4
    text = "New size: 4; reason: Current number of replicas above Spec.MaxReplicas"
    assert ("Normal", "SuccessfulRescale", text, 1) in told(cluster, "h")


def test_without_metrics_nothing_is_followed(cluster: simkit.Cluster) -> None:
    """The conditions and events are those of a cluster without a metrics server."""
    cluster.create(workload("Deployment", "d", replicas=3))
    cluster.create(scaler())
    cluster.settle()
    status = cluster.get("hpa", "h")["status"]
    assert (status["currentReplicas"], status["desiredReplicas"], status["currentMetrics"]) == (3, 0, [{"type": ""}])
    active = ("False", "FailedGetResourceMetric", f"the HPA was unable to compute the replica count: {NO_API}")
    assert conditions(cluster) == {
        "AbleToScale": (
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
        "ScalingActive": active,
    }
    first = f"invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {NO_API}"
    assert [each[:3] for each in told(cluster, "h")] == [
        ("Warning", "FailedComputeMetricsReplicas", first),
        ("Warning", "FailedGetResourceMetric", NO_API),
    ]


_CUSTOM = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
_EXTERNAL = (
    "unable to fetch metrics from external metrics API: the server could not find the requested resource "
    "(get queue.external.metrics.k8s.io)"
)
_AVERAGE, _VALUE = {"type": "AverageValue", "averageValue": "1"}, {"type": "Value", "value": "1"}
_SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "web"}


@pytest.mark.parametrize(
    ("kind", "source", "message", "inner"),
    [
        ("Pods", {"target": _AVERAGE}, f"unable to get metric queue: {_CUSTOM}", "failed to get pods metric value: "),
        (
            "Object",
            {"target": _VALUE, "describedObject": _SERVICE},
            f"unable to get metric queue: Service on default web/{_CUSTOM}",
            "failed to get object metric value: ",
        ),
        (
            "Object",
            {"target": _AVERAGE, "describedObject": _SERVICE},
            f"unable to get metric queue: Service on default web/{_CUSTOM}",
            "failed to get object metric value: failed to get queue object metric: ",
        ),
        (
            "External",
            {"target": _VALUE},
            f"unable to get external metric default/queue/nil: {_EXTERNAL}",
            "failed to get queue external metric value: failed to get external metric queue: ",
        ),
        (
            "External",
            {"target": _AVERAGE},
            f"unable to get external metric default/queue/nil: {_EXTERNAL}",
            "failed to get queue external metric value: failed to get queue external metric: ",
        ),
    ],
)
def test_metrics_that_nothing_serves(
    cluster: simkit.Cluster, kind: str, source: dict[str, Any], message: str, inner: str
) -> None:
    """Metrics of pods, of other objects and from outside: the words are those of a cluster without such an API."""
    cluster.create(workload("Deployment", "d", replicas=3))
    metric = {"type": kind, kind.lower(): {"metric": {"name": "queue"}, **source}}
    cluster.create(scaler(metrics=[metric]))
    cluster.settle()
    reason = f"FailedGet{kind}Metric"
    text = f"the HPA was unable to compute the replica count: {message}"
    assert conditions(cluster)["ScalingActive"] == ("False", reason, text)
    first = f"invalid metrics (1 invalid out of 1), first error is: {inner}{message}"
    assert [each[:3] for each in told(cluster, "h")] == [
        ("Warning", "FailedComputeMetricsReplicas", first),
        ("Warning", reason, message),
    ]


def test_targets_that_cannot_be_scaled(cluster: simkit.Cluster) -> None:
    """One that is not there, one at rest, and a kind that nobody serves."""
    cluster.create(scaler("missing"))
    cluster.settle()
    assert conditions(cluster)["AbleToScale"][:2] == ("False", "FailedGetScale")
    assert 'deployments/scale.apps "missing" not found' in told(cluster, "h")[0][2]
    cluster.create(workload("Deployment", "missing", replicas=0))
    patch(cluster, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h", {"spec": {"maxReplicas": 9}})
    cluster.settle()
    assert conditions(cluster)["ScalingActive"][1] == "ScalingDisabled"
    target = {"scaleTargetRef": {"apiVersion": "a.b/v1", "kind": "No", "name": "x"}}
    patch(cluster, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h", {"spec": target})
    cluster.settle()
    assert 'no matches for kind "No" in group "a.b"' in conditions(cluster)["AbleToScale"][2]
