"""Lists whose amounts kube-apiserver compares without their text."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request

PATH = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


def autoscaler(amount: str) -> dict[str, Any]:
    """An autoscaler that keeps the memory of pods at an amount."""
    target = {"type": "AverageValue", "averageValue": amount}
    metrics = [{"type": "Resource", "resource": {"name": "memory", "target": target}}]
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "metrics": metrics,
    }
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "x"}, "spec": spec}


def owners(answer: Any) -> set[str]:
    """The managers that own the metrics."""
    records = answer.object["metadata"]["managedFields"]
    return {each["manager"] for each in records if "f:metrics" in each["fieldsV1"].get("f:spec", {})}


@pytest.mark.parametrize(
    ("amount", "owner"),
    [("512Mi", "two"), ("8Ki", "two"), ("100Ti", "two"), ("500Mi", "one"), ("1Gi", "one"), ("1500m", "one")],
)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_metrics_with_a_multiple_of_eight_belong_to_the_last_writer(amount: str, owner: str, method: str) -> None:
    """A writer of something else comes to own the metrics if their amount has no text of its own."""
    cluster = simkit.Cluster(release="1.36")
    cluster.perform(Request.of("POST", f"{PATH}?fieldManager=one", autoscaler(amount)))
    labelled = {**autoscaler(amount), "metadata": {"name": "x", "labels": {"a": "b"}}}
    body = {"metadata": {"labels": {"a": "b"}}} if method == "PATCH" else labelled
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
    answer = cluster.perform(Request.of(method, f"{PATH}/x?fieldManager=two", body, headers=headers))
    assert answer.status == 200
    assert owners(answer) == {owner}


def test_an_apply_compares_what_is_written() -> None:
    """To apply the same metrics conflicts with nobody."""
    cluster = simkit.Cluster(release="1.36")
    cluster.perform(Request.of("POST", f"{PATH}?fieldManager=one", autoscaler("512Mi")))
    headers = {"content-type": "application/apply-patch+yaml"}
    body = autoscaler("512Mi")
    answer = cluster.perform(Request.of("PATCH", f"{PATH}/x?fieldManager=two", body, headers=headers))
    assert answer.status == 200
    assert owners(answer) == {"one", "two"}


@pytest.mark.parametrize(
    ("amount", "policy", "owner"),
    [
        ("512Mi", {}, "one"),
        ("1Gi", {"default": "512Mi"}, "two"),
        ("1Gi", {"default": "500Mi"}, "one"),
        ("1Gi", {"default": "1Gi", "validRange": {"min": "512Mi"}}, "two"),
    ],
)
def test_policies_of_devices_belong_to_the_last_writer(amount: str, policy: dict[str, Any], owner: str) -> None:
    """The capacity itself is the value of a map, and stays with who wrote it."""
    cluster = simkit.Cluster(release="1.36")
    capacity = {"memory": {"value": amount, **({"requestPolicy": policy} if policy else {})}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "d", "capacity": capacity, "allowMultipleAllocations": True}
    spec = {"driver": "d.example.com", "pool": pool, "allNodes": True, "devices": [device]}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    path = "/apis/resource.k8s.io/v1/resourceslices"
    cluster.perform(Request.of("POST", f"{path}?fieldManager=one", {**head, "spec": spec}))
    merge = {"content-type": "application/merge-patch+json"}
    body = {"metadata": {"labels": {"a": "b"}}}
    answer = cluster.perform(Request.of("PATCH", f"{path}/s?fieldManager=two", body, headers=merge))
    records = answer.object["metadata"]["managedFields"]
    assert [each["manager"] for each in records if "f:devices" in each["fieldsV1"].get("f:spec", {})] == [owner]
