"""Applies of one autoscaler in several versions: fields of managers are compared in their own version."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


@pytest.fixture
def cluster() -> simkit.Cluster:
    return simkit.Cluster(seed=1)


def apply(cluster: simkit.Cluster, version: str, manager: str, **spec: Any) -> Response:
    path = (
        f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers/h?fieldManager={manager}&force=true"
    )
    body = {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": TARGET, **spec},
    }
    return cluster.perform(Request.of("PATCH", path, body, headers={"content-type": "application/apply-patch+yaml"}))


def owned(response: Response, manager: str) -> set[str]:
    """The names of the fields of the spec that a manager owns."""
    records = response.object["metadata"]["managedFields"]
    return {name for one in records if one["manager"] == manager for name in one["fieldsV1"].get("f:spec", {})}


def test_a_field_that_two_versions_name_differently_stays(cluster: simkit.Cluster) -> None:
    """A manager that moves on to the second version without metrics leaves them as the conversion gives them."""
    apply(cluster, "v1", "one", maxReplicas=5, targetCPUUtilizationPercentage=50)
    apply(cluster, "v2", "two", maxReplicas=6)
    moved = apply(cluster, "v2", "one", maxReplicas=7, behavior={"scaleDown": {"stabilizationWindowSeconds": 1}})
    spec = moved.object["spec"]
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 50
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 1
    assert owned(moved, "one") == {"f:maxReplicas", "f:behavior", "f:scaleTargetRef"}
    assert owned(moved, "two") == {"f:scaleTargetRef"}


def test_an_apply_without_a_change_keeps_its_time() -> None:
    """Pruning through another version finds the same object again, so that the entry stays in its place."""
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster(options=simkit.Options(seed=1, clock=clock))
    apply(cluster, "v1", "one", maxReplicas=5, targetCPUUtilizationPercentage=50)
    clock.advance(5)
    apply(cluster, "v2", "two", maxReplicas=6)
    clock.advance(5)
    again = apply(cluster, "v1", "one", maxReplicas=6)
    assert [one["manager"] for one in again.object["metadata"]["managedFields"]] == ["one", "two"]


@pytest.mark.parametrize("side", ["scaleUp", "scaleDown"])
def test_an_empty_list_of_policies_is_no_default(cluster: simkit.Cluster, side: str) -> None:
    """Policies are defaulted if there is no list; an empty one is refused, on create and in a patch."""
    refused = apply(cluster, "v2", "one", maxReplicas=5, behavior={side: {"policies": []}})
    assert refused.status == 422
    assert refused.object["details"]["causes"][0]["field"] == f"spec.behavior.{side}.policies"
    made = apply(cluster, "v2", "one", maxReplicas=5, behavior={side: {"policies": None}})
    assert made.object["spec"]["behavior"][side]["policies"]
