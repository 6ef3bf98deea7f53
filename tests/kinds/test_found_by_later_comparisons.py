"""What comparisons with kube-apiserver 1.30 and 1.36 showed last: empty lists, sizes of claims, collections."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request
from tests.kinds.comparison import MERGE, cluster_of, told

INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
BACKEND = {"service": {"name": "x", "port": {"number": 1}}}


def ingress(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("release", "spec", "shown"),
    [
        ("1.30", {"rules": []}, "[]networking.IngressRule{}"),
        ("1.30", {}, "[]networking.IngressRule(nil)"),
        ("1.36", {"rules": []}, "[]"),
        ("1.36", {}, "null"),
    ],
)
def test_rules_that_are_an_empty_list_are_told_from_none(release: str, spec: dict[str, Any], shown: str) -> None:
    """The error of an Ingress without any backend shows its rules."""
    expected = f"spec: Invalid value: {shown}: either `defaultBackend` or `rules` must be specified"
    assert told(cluster_of(release), "POST", INGRESSES, ingress(spec)) == [expected]


def test_rules_that_are_an_empty_list_are_not_kept() -> None:
    """Beside a default backend nobody owns them, they are not stored, and they are no change."""
    cluster = cluster_of("1.30")
    made = cluster.perform(Request.of("POST", INGRESSES, ingress({"rules": [], "defaultBackend": BACKEND}))).object
    assert made["spec"] == {"defaultBackend": BACKEND}
    assert set(made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]) == {"f:defaultBackend"}
    patched = cluster.perform(Request.of("PATCH", f"{INGRESSES}/x", {"spec": {"rules": []}}, headers=MERGE)).object
    assert patched["metadata"]["generation"] == 1


@pytest.mark.parametrize(("size", "kept"), [("8Gi", ""), ("9Gi", 's: "9Gi", '), ("1500m", 's: "1500m", ')])
def test_a_size_of_a_claim_keeps_its_text_as_kube_apiserver_parses_it(size: str, kept: str) -> None:
    """A multiple of eight of a binary unit is written anew, all else stays as it was stored."""
    cluster = cluster_of("1.30")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": spec}
    cluster.perform(Request.of("POST", CLAIMS, claim))
    (cause,) = told(cluster, "PATCH", f"{CLAIMS}/x", {"spec": {"selector": {}}})
    family = "BinarySI" if size.endswith("i") else "DecimalSI"
    assert f's"storage": {{i: {{...}}, {kept}Format: "{family}"}}' in cause


def test_a_definition_deleted_in_a_collection_leaves_its_objects() -> None:
    """It goes at once, without its finalizer; its objects are there again once it is."""
    cluster = simkit.Cluster(release="1.36")
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {"plural": "ws", "kind": "W"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "q.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = "CustomResourceDefinition"
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": {"name": "ws.q.example.com"}}
    path = "/apis/q.example.com/v1/namespaces/default/ws"
    cluster.perform(Request.of("POST", definitions, {**definition, "spec": spec}))
    cluster.settle()
    widget = {"apiVersion": "q.example.com/v1", "kind": "W", "metadata": {"name": "a"}}
    assert cluster.perform(Request.of("POST", path, widget)).status == 201
    chosen = f"{definitions}?fieldSelector=metadata.name%3Dws.q.example.com"
    wrong = cluster.perform(Request.of("DELETE", chosen, {"preconditions": {"resourceVersion": "1"}}))
    assert "the ResourceVersion in the precondition (1) does not match" in wrong.object["message"]
    assert cluster.perform(Request.of("DELETE", chosen)).status == 200
    assert cluster.perform(Request.of("GET", f"{path}/a")).status == 404
    cluster.perform(Request.of("POST", definitions, {**definition, "spec": spec}))
    cluster.settle()
    assert cluster.perform(Request.of("GET", f"{path}/a")).status == 200


@pytest.mark.parametrize(("release", "checked"), [("1.30", True), ("1.36", False)])
def test_a_prefix_of_a_replication_controllers_name(release: str, checked: bool) -> None:
    """Later releases look at the name alone."""
    body = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "x", "generateName": ".."}}
    causes = told(cluster_of(release), "POST", "/api/v1/namespaces/default/replicationcontrollers", body)
    assert any("metadata.generateName" in cause for cause in causes) is checked


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_terminating_replicas_are_not_negative(kind: str) -> None:
    """The count of the status that came with 1.33 is checked as the others are."""
    cluster = cluster_of("1.36")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    cluster.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    path = f"/apis/apps/v1/namespaces/default/{kind.lower()}s/x/status"
    causes = told(cluster, "PATCH", path, {"status": {"terminatingReplicas": -1}})
    assert causes == ["status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0"]


def test_a_prefix_that_no_path_can_have_is_refused_last() -> None:
    """The kind leaves the prefix alone at 1.36; what all kinds share is checked once nothing else is wrong."""
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "x", "generateName": "/a"}}
    causes = told(cluster_of("1.36"), "POST", "/apis/resource.k8s.io/v1/deviceclasses", {**body, "spec": {}})
    assert causes == ["metadata.generateName: Invalid value: \"/a\": may not contain '/'"]
