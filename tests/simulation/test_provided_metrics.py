"""Autoscalers follow metrics that a test provides, of pods, of other objects and from outside of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from tests.simulation.worlds import deployment, messages

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
_SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "web"}


def scaled(*metrics: dict[str, Any], release: str = "1.34", replicas: int = 2, **rules: Any) -> Cluster:
    """A cluster with a deployment and an autoscaler that follows metrics."""
    cluster = Cluster(options=Options(clock=SimulatedClock(), seed=7, release=release))
    cluster.add_nodes(2)
    cluster.create(deployment("web", replicas))
    ports = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": ports})
    spec = {"scaleTargetRef": _TARGET, "minReplicas": 1, "maxReplicas": 20, "metrics": list(metrics), **rules}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    cluster.create({**kind, "metadata": {"name": "web"}, "spec": spec})
    cluster.settle()
    return cluster


def size(cluster: Cluster, seconds: float = 30) -> int:
    """The replicas after some time."""
    cluster.advance(seconds)
    return int(cluster.get("deployment", "web")["spec"]["replicas"])


def of_pods(average: str) -> dict[str, Any]:
    """A metric of pods."""
    target = {"type": "AverageValue", "averageValue": average}
    return {"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": target}}


def external(target: dict[str, Any], **selector: Any) -> dict[str, Any]:
    """A metric from outside."""
    metric = {"name": "queue", **({"selector": selector} if selector else {})}
    return {"type": "External", "external": {"metric": metric, "target": target}}


def test_metrics_of_pods() -> None:
    """The average of all pods counts; what is said later counts first, and in forks alike."""
    cluster = scaled(of_pods("10"))
    cluster.provide_metric("requests", lambda pod, now: 25, resource="pods")
    assert size(cluster, 15) == 4  # at most twice as many at once
    [status] = cluster.get("hpa", "web")["status"]["currentMetrics"]
    assert status["pods"] == {"metric": {"name": "requests"}, "current": {"averageValue": "25"}}
    fork = cluster.fork()
    fork.provide_metric("requests", "5", resource="pods")
    assert size(fork, 400) == 3  # down from 5 once the recommendations of five minutes are lower
    assert size(cluster, 60) > 4


@pytest.mark.parametrize(
    ("target", "wanted"), [({"type": "Value", "value": "100"}, 3), ({"type": "AverageValue", "averageValue": "50"}, 3)]
)
def test_metrics_of_another_object(target: dict[str, Any], wanted: int) -> None:
    """One value for all pods, or a share of it for each."""
    source = {"describedObject": _SERVICE, "metric": {"name": "hits"}, "target": target}
    cluster = scaled({"type": "Object", "object": source})
    cluster.provide_metric("hits", 150, resource="services", object_name="web")
    assert size(cluster, 15) == wanted


def test_metrics_from_outside() -> None:
    """The values of all that the selector chooses are added."""
    cluster = scaled(external({"type": "AverageValue", "averageValue": "30"}, matchLabels={"queue": "orders"}))
    cluster.provide_metric("queue", 60, labels={"queue": "orders", "shard": "a"})
    cluster.provide_metric("queue", 60, labels={"queue": "orders", "shard": "b"})
    cluster.provide_metric("queue", 900, labels={"queue": "mails"})
    assert size(cluster) == 4
    assert cluster.get("hpa", "web")["status"]["currentMetrics"][0]["external"]["current"] == {"averageValue": "30"}


def test_nothing_is_provided() -> None:
    """The reasons are those of the controller, before there is such an API and after."""
    cluster = scaled(of_pods("10"), external({"type": "Value", "value": "1"}))
    cluster.advance(30)
    told = messages(cluster, "FailedGetPodsMetric") + messages(cluster, "FailedGetExternalMetric")
    assert any("no custom metrics API (custom.metrics.k8s.io) registered" in each for each in told)
    assert any("no external metrics API (external.metrics.k8s.io) registered" in each for each in told)
    cluster.provide_metric("other", 1)
    cluster.advance(30)
    assert any(
        "no metrics returned from custom metrics API" in each for each in messages(cluster, "FailedGetPodsMetric")
    )


@pytest.mark.parametrize(("tolerance", "wanted"), [(None, 2), ("0.01", 3)])
def test_a_tolerance_of_its_own(tolerance: str | None, wanted: int) -> None:
    """By default usage of 5 % more changes nothing; a rule may say how much is too much."""
    rules = {"behavior": {"scaleUp": {"tolerance": tolerance}}} if tolerance else {}
    gates = {"HPAConfigurableTolerance": True}
    cluster = Cluster(options=Options(clock=SimulatedClock(), seed=7, release="1.34", feature_gates=gates))
    cluster.add_nodes(1)
    cluster.create(deployment("web", 2))
    spec = {"scaleTargetRef": _TARGET, "minReplicas": 1, "maxReplicas": 20, "metrics": [of_pods("100")], **rules}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    cluster.create({**kind, "metadata": {"name": "web"}, "spec": spec})
    cluster.settle()
    cluster.provide_metric("requests", "105", resource="pods")
    assert size(cluster, 15) == wanted


def test_raw_requests() -> None:
    """``kubectl get --raw`` shows what an adapter would answer."""
    cluster = scaled(of_pods("10"))
    cluster.provide_metric("requests", "1500m", resource="pods")
    cluster.provide_metric("queue", 3)
    path = "/apis/custom.metrics.k8s.io/v1beta1"
    found = cluster.perform(Request.of("GET", path)).object
    assert [each["name"] for each in found["resources"]] == ["pods/requests"]
    found = cluster.perform(Request.of("GET", f"{path}/namespaces/default/pods/%2A/requests")).object
    assert [(each["metricName"], each["value"]) for each in found["items"]] == [("requests", "1500m")] * 2
    found = cluster.perform(Request.of("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue")).object
    assert [(each["metricName"], each["value"]) for each in found["items"]] == [("queue", "3")]
    lost = cluster.perform(Request.of("GET", f"{path}/namespaces/default/services/none/requests"))
    assert lost.status == 404
