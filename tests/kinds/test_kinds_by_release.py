"""Kinds other than pods at the releases whose rules about them differ."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.logic.podsecurity.evaluate import violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.meta.message import Request
from simkit.schema.behaviour import default_behaviour

SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
SELECTOR = {"matchLabels": {"a": "b"}}
SERVICE = {"type": "ClusterIP", "ports": [{"port": 1}]}
AUTOSCALER = {"scaleTargetRef": {"apiVersion": "v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 0}


@pytest.fixture(scope="module")
def clusters() -> dict[str, simkit.Cluster]:
    """A cluster of each release that is asked."""
    return {release: simkit.Cluster(release=release, seed=1) for release in ("1.30", "1.33", "1.36")}


def refused(cluster: simkit.Cluster, path: str, obj: dict[str, Any]) -> list[str]:
    """The causes of the refusal of a new object."""
    answer = cluster.perform(Request.of("POST", f"{path}?dryRun=All", obj))
    assert answer.status in (201, 422), answer.object
    return [f"{one['field']}: {one['message']}" for one in answer.object.get("details", {}).get("causes", ())]


def test_names_of_services(clusters: dict[str, simkit.Cluster]) -> None:
    """A name may begin with a digit since 1.36."""
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "9a"}, "spec": SERVICE}
    found = [bool(refused(clusters[each], "/api/v1/namespaces/default/services", obj)) for each in ("1.33", "1.36")]
    assert found == [True, False]


def test_statefulsets(clusters: dict[str, simkit.Cluster]) -> None:
    """The service is checked since 1.33, the whole template since 1.34; volumes of claims can be mounted there."""
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    mounts = [{"name": "data", "mountPath": "/d"}, {"name": "none", "mountPath": "/n"}]
    spec = {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}]}
    modes = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": modes}]
    obj = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}}
    whole = {"selector": SELECTOR, "template": {**TEMPLATE, "spec": spec}, "volumeClaimTemplates": claims}
    obj["spec"] = {**whole, "serviceName": "A_b"}
    found = {
        release: [text.partition(":")[0] for text in refused(made, path, obj)] for release, made in clusters.items()
    }
    mount = "spec.template.spec.containers[0].volumeMounts[1].name"
    assert found == {"1.30": [], "1.33": ["spec.serviceName"], "1.36": ["spec.serviceName", mount]}


def test_status_of_jobs(clusters: dict[str, simkit.Cluster]) -> None:
    """A job that is complete needs a time of completion where others may write its status."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    job["spec"] = {"template": {"spec": {**SPEC, "restartPolicy": "Never"}}}
    patch = {"status": {"conditions": [{"type": "Complete", "status": "True"}], "active": 1}}
    media, path = "application/merge-patch+json", "/apis/batch/v1/namespaces/default/jobs"
    for release, fields in (("1.30", []), ("1.36", ["completionTime", "conditions", "active", "startTime"])):
        clusters[release].perform(Request.of("POST", path, job))
        answer = clusters[release].perform(Request.of("PATCH", f"{path}/j/status", patch, content_type=media)).object
        causes = answer.get("details", {}).get("causes", ())
        assert [cause["field"].removeprefix("status.") for cause in causes] == fields


def test_autoscalers(clusters: dict[str, simkit.Cluster]) -> None:
    """The scaled object must have a group since 1.34; the largest number is called required since 1.36."""
    obj = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    obj["spec"] = AUTOSCALER
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    old, new = (refused(clusters[release], path, obj) for release in ("1.33", "1.36"))
    assert old[0] == "spec.maxReplicas: Invalid value: 0: must be greater than 0"
    assert new[0] == "spec.maxReplicas: Required value: must be set and greater than 0"
    version = 'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'
    assert (version in old, version in new) == (False, True)


def test_volume_attributes_classes(clusters: dict[str, simkit.Cluster]) -> None:
    """They are protected, and quotas can count the claims of some of them."""
    cluster = clusters["1.36"]
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "gold"}}
    body = {**head, "driverName": "d.example.com", "parameters": {"a": "b"}}
    made = cluster.perform(Request.of("POST", "/apis/storage.k8s.io/v1/volumeattributesclasses", body)).object
    assert made["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    named = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    spec = {"hard": {"persistentvolumeclaims": "0"}, "scopeSelector": {"matchExpressions": [named]}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}
    cluster.perform(Request.of("POST", "/api/v1/namespaces/default/resourcequotas", quota))
    patch = {"status": {"hard": spec["hard"], "used": {"persistentvolumeclaims": "0"}}}
    where = "/api/v1/namespaces/default/resourcequotas/q/status"
    cluster.perform(Request.of("PATCH", where, patch, content_type="application/merge-patch+json"))
    statuses = []
    for name in ("silver", "gold"):
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}}
        claim["spec"] = {**wanted, "volumeAttributesClassName": name}
        path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All"
        statuses.append(cluster.perform(Request.of("POST", path, claim)).status)
    assert statuses == [201, 403]


@pytest.mark.parametrize(
    ("release", "version", "reasons"),
    [
        ("1.30", None, ["procMount", "forbidden sysctls"]),
        ("1.31", 36, ["procMount", "forbidden sysctls"]),
        ("1.33", None, ["procMount"]),
        ("1.34", None, ["probe or lifecycle host", "procMount"]),
        ("1.36", None, ["probe or lifecycle host"]),
        ("1.36", 31, ["procMount", "forbidden sysctls"]),
    ],
)
def test_pod_security_of_a_release(release: str, version: int | None, reasons: list[str]) -> None:
    """A server knows the versions up to its own; the newest is the latest."""
    container = {"name": "c", "securityContext": {"procMount": "Unmasked"}}
    probed = {**container, "livenessProbe": {"tcpSocket": {"port": 1, "host": "h"}}}
    context = {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}
    spec = {"containers": [probed], "hostUsers": False, "securityContext": context}
    found = violations(LevelVersion("baseline", version), {}, spec, default_behaviour(release))
    assert [one.reason for one in found] == reasons


CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def claiming(*requests: dict[str, Any]) -> dict[str, Any]:
    """A claim of devices."""
    return {**CLAIM, "spec": {"devices": {"requests": list(requests)}}}


def test_claims_of_devices(clusters: dict[str, simkit.Cluster]) -> None:
    """A claim asks for one device if nothing else is said, and cannot be changed; a status follows its requests."""
    cluster = clusters["1.36"]
    made = cluster.perform(Request.of("POST", CLAIMS, claiming({"name": "r", "exactly": {"deviceClassName": "k"}})))
    exactly = made.object["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "k", "allocationMode": "ExactCount", "count": 1}
    changed = cluster.perform(Request.of("PUT", f"{CLAIMS}/c", claiming()))
    assert changed.object["message"].endswith('"Constraints":null,"Config":null}}: field is immutable')
    user = {"resource": "pods", "name": "p", "uid": "u"}
    status = {**made.object, "status": {"reservedFor": [user]}}
    refusal = cluster.perform(Request.of("PUT", f"{CLAIMS}/c/status", status))
    assert "may not be specified when `allocated` is not set" in refusal.object["message"]


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        ({"name": "r"}, ["spec.devices.requests[0]"]),
        ({"name": "r", "exactly": {}}, ["spec.devices.requests[0].exactly.deviceClassName"]),
        (
            {"name": "r", "exactly": {"deviceClassName": "k", "adminAccess": True}},
            ["spec.devices.requests[0].adminAccess"],
        ),
    ],
)
def test_refused_claims(clusters: dict[str, simkit.Cluster], request_: dict[str, Any], fields: list[str]) -> None:
    """A request names a class, and devices in use need a namespace that is labelled for it."""
    found = refused(clusters["1.36"], CLAIMS, claiming(request_))
    assert [text.partition(":")[0] for text in found] == fields


MUTATION = {"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/data"}]'}}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"mutations": []}, ["spec.mutations"]),
        ({"mutations": [{"patchType": "Odd"}]}, ["spec.mutations[0].patchType"]),
        ({"mutations": [{"patchType": "JSONPatch"}]}, ["spec.mutations[0].jsonPatch"]),
        ({"mutations": [{**MUTATION, "applyConfiguration": {}}]}, ["spec.mutations[0].applyConfiguration"]),
        ({"mutations": [{**MUTATION, "jsonPatch": {"expression": " "}}]}, ["spec.mutations[0].jsonPatch.expression"]),
        ({"reinvocationPolicy": "Odd"}, ["spec.reinvocationPolicy"]),
        ({"matchConstraints": None}, ["spec.matchConstraints"]),
    ],
)
def test_mutating_policies(clusters: dict[str, simkit.Cluster], change: dict[str, Any], fields: list[str]) -> None:
    """A mutation has the part of its type and no other."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", "mutations": [MUTATION]}
    obj = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "m"},
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    found = refused(clusters["1.36"], path, {**obj, "spec": {**spec, **change}})
    assert [text.partition(":")[0] for text in found] == fields


def test_bindings_of_mutating_policies(clusters: dict[str, simkit.Cluster]) -> None:
    """A policy is mutating for requests that leave an object."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding"}
    spec = {"policyName": "", "matchResources": {"resourceRules": [rule]}}
    found = refused(clusters["1.36"], path, {**group, "metadata": {"name": "b"}, "spec": spec})
    assert [text.partition(":")[0] for text in found] == [
        "spec.policyName",
        "spec.matchResources.resourceRules.operations",
    ]
