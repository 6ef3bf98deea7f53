"""Simulated pods use CPU and memory: what is measured, and what autoscalers make of it."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.handler_chain import serve_client
from simkit.logic.workloads.scaling_limits import History
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from tests.simulation.worlds import deployment, messages, pod, simulated

API = "/apis/metrics.k8s.io/v1beta1"


def answer(cluster: Cluster, path: str, **headers: str) -> Response:
    return serve_client(cluster.engine, Request.of("GET", path, headers=headers), administrator())


def usage(cluster: Cluster, name: str) -> dict[str, str]:
    """The usage of the first container of a pod."""
    found: dict[str, str] = answer(cluster, f"{API}/namespaces/default/pods/{name}").object["containers"][0]["usage"]
    return found


def test_usage_is_what_the_test_says_or_half_of_the_requests() -> None:
    """Annotations count first, then functions; nodes have the sum of their pods and something of their own."""
    cluster = simulated(1)
    cluster.behave(image="busy:*", usage=lambda given, now: {"cpu": f"{100 + int(now) % 2}m", "memory": "1Mi"})
    cluster.create(pod("plain", requests={"cpu": "500m", "memory": "64Mi"}))
    cluster.create(pod("none"))
    cluster.create(pod("told", requests={"cpu": "1"}, annotations={"simkit/cpu": "30m"}))
    cluster.create(pod("busy", image="busy:1", annotations={"simkit/memory": "7Mi"}))
    cluster.settle()
    assert usage(cluster, "plain") == {"cpu": "250m", "memory": "32Mi"}
    assert usage(cluster, "none") == {"cpu": "10m", "memory": "20Mi"}
    assert usage(cluster, "told") == {"cpu": "30m", "memory": "20Mi"}
    assert usage(cluster, "busy") == {"cpu": "100m", "memory": "7Mi"}
    (node,) = answer(cluster, f"{API}/nodes").object["items"]
    assert node["usage"] == {"cpu": "490m", "memory": "579Mi"}
    cluster.advance(seconds=1)
    assert usage(cluster, "busy")["cpu"] == "101m"


def test_metrics_are_served_as_other_apis_are() -> None:
    """Discovery, selectors, tables, errors and access; a silent node has none, and a fork has its own."""
    cluster = simulated(2)
    cluster.create(deployment("web", 2))
    cluster.settle()
    assert answer(cluster, "/apis/metrics.k8s.io").object["preferredVersion"]["version"] == "v1beta1"
    assert "True" in str(cluster.get("apiservice", "v1beta1.metrics.k8s.io")["status"]["conditions"])
    assert len(answer(cluster, f"{API}/pods?labelSelector=app%3Dweb").object["items"]) == 2
    assert answer(cluster, f"{API}/pods?labelSelector=app%3Dno").object["items"] == []
    table = answer(cluster, f"{API}/nodes", accept="application/json;as=Table;v=v1;g=meta.k8s.io").object
    assert table["rows"][0]["cells"] == ["node-0", "110m", "520Mi", "15s"]
    missing = answer(cluster, f"{API}/namespaces/default/pods/x").object
    assert missing["message"] == 'pods.metrics.k8s.io "default/x" not found'
    assert answer(cluster, f"{API}/others").status == 404
    assert serve_client(cluster.engine, Request.of("GET", f"{API}/nodes"), Identity("ann")).status == 403
    fork = cluster.fork()
    cluster.stop_node("node-0")
    assert [len(answer(each, f"{API}/nodes").object["items"]) for each in (cluster, fork)] == [1, 2]


def scaler(metric: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """An autoscaler of the deployment web."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": 1, "maxReplicas": 8, "scaleTargetRef": target, "metrics": [metric]} | spec
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def resource(name: str, **target: Any) -> dict[str, Any]:
    kinds = {"averageUtilization": "Utilization", "averageValue": "AverageValue"}
    kind = kinds[next(iter(target))]
    return {"type": "Resource", "resource": {"name": name, "target": {"type": kind, **target}}}


def size(cluster: Cluster) -> int:
    found: int = cluster.get("deployment", "web")["spec"]["replicas"]
    return found


def test_an_autoscaler_follows_the_load_up_at_once_and_down_after_five_minutes() -> None:
    """Two CPUs of load at half of 500m each need eight pods; it at most doubles in one step."""
    cluster = simulated(3)
    cluster.create(deployment("web", 2, requests={"cpu": "500m"}))
    cluster.behave(selector="app=web", cpu_load="400m")
    cluster.create(scaler(resource("cpu", averageUtilization=50)))
    cluster.advance(minutes=2)
    assert size(cluster) == 2
    cluster.behave(selector="app=web", cpu_load="2")
    sizes = []
    for _ in range(4):
        cluster.advance(seconds=15)
        sizes.append(size(cluster))
    assert sizes[0] == 4
    assert sizes[-1] == 8
    status = cluster.get("hpa", "web")["status"]
    conditions = {each["type"]: each["reason"] for each in status["conditions"]}
    assert conditions["ScalingActive"] == "ValidMetricFound"
    assert "New size: 4; reason: cpu resource utilization (percentage of request) above target" in messages(
        cluster, "SuccessfulRescale"
    )
    cluster.advance(minutes=2)
    assert cluster.get("hpa", "web")["status"]["currentMetrics"][0]["resource"]["current"] == {
        "averageUtilization": 50,
        "averageValue": "250m",
    }
    cluster.behave(selector="app=web", cpu_load="250m")
    cluster.advance(minutes=4)
    assert size(cluster) == 8
    cluster.advance(minutes=3)
    assert size(cluster) == 1


def test_an_autoscaler_needs_requests_and_follows_amounts_without_them() -> None:
    """A share of nothing cannot be calculated; an average value can."""
    cluster = simulated(1)
    cluster.create(deployment("web", 1))
    cluster.behave(selector="app=web", cpu="300m")
    cluster.create(scaler(resource("cpu", averageUtilization=50)))
    cluster.advance(minutes=1)
    (active,) = [each for each in cluster.get("hpa", "web")["status"]["conditions"] if each["type"] == "ScalingActive"]
    assert "missing request for cpu in container main of Pod web-" in active["message"]
    cluster.apply(scaler(resource("cpu", averageValue="100m")))
    cluster.advance(minutes=1)
    assert size(cluster) == 8
    assert "cpu resource above target" in messages(cluster, "SuccessfulRescale")[-1]


@pytest.mark.parametrize(("tolerance", "wanted"), [(None, 2), ("0.01", 3)])
def test_a_tolerance_of_its_own(tolerance: str | None, wanted: int) -> None:
    """By default usage of 5 % more changes nothing; a rule may say how much is too much."""
    rules = {"behavior": {"scaleUp": {"tolerance": tolerance}}} if tolerance else {}
    gates = {"HPAConfigurableTolerance": True}
    cluster = Cluster(options=Options(clock=SimulatedClock(), seed=7, release="1.34", feature_gates=gates))
    cluster.add_nodes(1)
    cluster.create(deployment("web", 2))
    cluster.behave(selector="app=web", cpu_load="210m")
    cluster.create(scaler(resource("cpu", averageValue="100m"), **rules))
    cluster.advance(minutes=1)
    assert size(cluster) == wanted


@pytest.mark.parametrize(
    ("rules", "current", "wanted", "expected"),
    [
        (None, 2, 9, (4, "ScaleUpLimit")),
        (None, 4, 20, (8, "ScaleUpLimit")),
        (None, 8, 20, (10, "TooManyReplicas")),
        (None, 5, 5, (5, "DesiredWithinRange")),
        ({"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}, 2, 9, (3, "ScaleUpLimit")),
        ({"scaleUp": {"selectPolicy": "Disabled"}}, 2, 9, (2, "ScaleUpLimit")),
        ({"scaleDown": {"stabilizationWindowSeconds": 0,
                        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}]}}, 8, 1,
         (4, "ScaleDownLimit")),
        ({"scaleDown": {"stabilizationWindowSeconds": 0,
                        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]}}, 8, 0,
         (1, "TooFewReplicas")),
    ],
)  # fmt: skip
def test_rules_limit_how_fast_an_autoscaler_goes(
    rules: dict[str, Any] | None, current: int, wanted: int, expected: tuple[int, str]
) -> None:
    """Bounds, policies and windows, each with the reason that kube-controller-manager gives."""
    spec = {"maxReplicas": 10, **({"behavior": rules} if rules is not None else {})}
    found = History().limited(spec, current, wanted, 1, 1000.0)
    assert (found.replicas, found.limited.reason) == expected


def test_changes_within_a_period_count_together() -> None:
    """Of a rule of two pods a minute one is left after one; recent higher recommendations hold back."""
    rule = {"type": "Pods", "value": 2, "periodSeconds": 60}
    spec = {"maxReplicas": 10, "behavior": {"scaleUp": {"policies": [rule]}, "scaleDown": {"policies": [rule]}}}
    history = History()
    history.scaled(spec, 2, 3, 1000.0)
    assert history.limited(spec, 3, 9, 1, 1030.0).replicas == 4
    assert history.limited(spec, 3, 9, 1, 1061.0).replicas == 5
    held = history.limited(spec, 5, 1, 1, 1100.0)
    assert (held.replicas, held.able.reason) == (5, "ScaleDownStabilized")
    assert history.limited(spec, 5, 1, 1, 1400.0).replicas == 3
