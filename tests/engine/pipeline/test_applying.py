"""Applies through the whole handler chain whose bodies are of odd shapes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import simkit
from simkit.meta.message import Request, Response

MAPS = "/api/v1/namespaces/default/configmaps"
ABOUT = {"apiVersion": "v1", "kind": "ConfigMap"}
UNTYPED = "failed to create typed patch object (/; /v1, Kind=ConfigMap): "


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """An empty cluster."""
    return simkit.Cluster(seed=1)


def apply(cluster: simkit.Cluster, body: bytes) -> Response:
    """The answer to an apply."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    return cluster.perform(Request.of("PATCH", f"{MAPS}/a?fieldManager=m", body, headers=headers))


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({**ABOUT, "metadata": "x"}, 500, f"{UNTYPED}.metadata: expected map, got &{{x}}"),
        (
            {**ABOUT, "metadata": {"name": 5}},
            500,
            f"{UNTYPED}.metadata.name: expected string, got &value.valueUnstructured{{Value:5}}",
        ),
        (
            {**ABOUT, "metadata": {"managedFields": "x"}},
            500,
            f"{UNTYPED}.metadata.managedFields: expected list, got &{{x}}",
        ),
        ({**ABOUT, "metadata": {"managedFields": [{}]}}, 400, "metadata.managedFields must be nil"),
        ({"apiVersion": 5, "kind": "ConfigMap"}, 400, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1", "kind": 5}, 400, "invalid object type: /v1, Kind="),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, 400, "invalid object type: /, Kind="),
    ],
)
def test_bodies_of_odd_shapes(cluster: simkit.Cluster, body: dict[str, Any], status: int, message: str) -> None:
    """Metadata of wrong types in an intent is refused, whatever it is."""
    answer = apply(cluster, orjson.dumps(body))
    assert (answer.status, answer.object["message"]) == (status, message)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\t", "found character that cannot start any token"),
        (b"a: b: c", "mapping values are not allowed in this context"),
        (b"a:\n  b: c\n d: e\n", "line 2: did not find expected key"),
        (b"a:\n- 'b\n", "line 2: found unexpected end of stream"),
        (b"a: \x01", "control characters are not allowed"),
    ],
)
def test_bodies_that_are_no_yaml(cluster: simkit.Cluster, body: bytes, why: str) -> None:
    """Broken text is refused in the words of kube-apiserver's reader, which has no name for the first line."""
    answer = apply(cluster, body)
    assert answer.status == 400
    assert answer.object["message"] == f"error decoding YAML: error converting YAML to JSON: yaml: {why}"


def test_intents_are_compared_with_owners_in_other_versions(cluster: simkit.Cluster) -> None:
    """An intent is converted before it is read as the kind: nulls in lists, and values"""
    where = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    about = {"name": "h"}
    assert (
        cluster.perform(Request.of("POST", where.replace("v2", "v1"), {"metadata": about, "spec": spec})).status == 201
    )
    intent: dict[str, Any] = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": about}
    intent["spec"] = {**spec, "metrics": [None]}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    answer = cluster.perform(Request.of("PATCH", f"{where}/h?fieldManager=m&force=true", intent, headers=headers))
    assert (answer.status, answer.object["reason"]) == (422, "Invalid")
