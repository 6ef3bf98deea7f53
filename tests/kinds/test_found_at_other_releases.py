"""What comparisons with kube-apiserver 1.27 and 1.33 found, besides what their recordings repeat."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response

RANGES = "/apis/networking.k8s.io/v1/servicecidrs"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CONDITION = {"type": "A", "status": "True", "reason": "B", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}


def sent(cluster: simkit.Cluster, method: str, path: str, body: dict[str, Any]) -> Response:
    """The answer to a request with an object or a merge patch."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return cluster.perform(Request.of(method, path, body, headers={"content-type": kind}))


@pytest.mark.parametrize(("release", "kept"), [("1.33", True), ("1.35", True), ("1.36", False)])
def test_the_status_of_service_ranges(release: str, kept: bool) -> None:
    """Up to 1.35 whoever writes a ServiceCIDR writes its status too."""
    cluster = simkit.Cluster(release=release)
    body = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.98.0.0/24"]}, "status": {"conditions": [CONDITION]}}
    made = sent(cluster, "POST", RANGES, body)
    assert made.object["status"] == ({"conditions": [CONDITION]} if kept else {})
    changed = sent(cluster, "PATCH", f"{RANGES}/more", {"status": {"conditions": [{**CONDITION, "type": "C"}]}})
    types = [each["type"] for each in changed.object["status"].get("conditions", ())]
    assert types == (["C"] if kept else [])


@pytest.mark.parametrize(("release", "changed"), [("1.33", True), ("1.36", False)])
def test_who_writes_only_the_status_of_service_ranges(release: str, changed: bool) -> None:
    """Up to 1.35 a status without a spec takes the spec from its owners, though the spec stays."""
    cluster = simkit.Cluster(release=release)
    made = sent(cluster, "POST", RANGES, {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.98.0.0/24"]}}).object
    bare = {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": {"name": "more"}}
    after = sent(cluster, "PUT", f"{RANGES}/more/status", bare).object
    assert after["spec"] == made["spec"]
    assert ("managedFields" not in after["metadata"]) == changed
    assert (after["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]) == changed


@pytest.mark.parametrize(("release", "path"), [("1.32", "spec.cidrs"), ("1.33", "spec.cidrs[0]")])
def test_changes_of_service_ranges(release: str, path: str) -> None:
    """From 1.33 on each range is told by itself, and a second one may come."""
    cluster = simkit.Cluster(options=Options(release=release, runtime_config={"networking.k8s.io/v1beta1": True}))
    ranges = RANGES if release == "1.33" else RANGES.replace("v1", "v1beta1")
    sent(cluster, "POST", ranges, {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.98.0.0/24"]}})
    refused = sent(cluster, "PATCH", f"{ranges}/more", {"spec": {"cidrs": ["10.97.0.0/24"]}})
    assert [each["field"] for each in refused.object["details"]["causes"]] == [path]


@pytest.mark.parametrize(("release", "owners"), [("1.34", 2), ("1.35", 1)])
def test_who_owns_metadata_that_a_status_does_not_change(release: str, owners: int) -> None:
    """Up to 1.34 whoever writes the status of a claim of devices owns the labels that it named in vain."""
    cluster = simkit.Cluster(release=release)
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    assert sent(cluster, "POST", claims, {"metadata": {"name": "x"}, "spec": {"devices": {"requests": requests}}})
    after = sent(cluster, "PATCH", f"{claims}/x/status", {"metadata": {"labels": {"a": "b"}}}).object
    assert "labels" not in after["metadata"]
    assert len(after["metadata"]["managedFields"]) == owners


def test_names_of_signing_requests_are_looked_at_last() -> None:
    """A prefix that is no part of a path is told where nothing else is wrong."""
    cluster = simkit.Cluster()
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    bare = sent(cluster, "POST", requests, {"metadata": {"name": "x", "generateName": "/abs"}, "spec": {}})
    told = [each["field"] for each in bare.object["details"]["causes"]]
    assert told == ["spec.request", "spec.usages", "spec.signerName"]


def test_claims_of_devices_in_volume_claims_are_forgotten() -> None:
    """Up to 1.28 a volume claim had a field for claims of devices, which never counted."""
    cluster = simkit.Cluster(release="1.27")
    wanted = {"requests": {"storage": "1Gi"}, "claims": [{"name": "a"}]}
    body = {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": wanted}}
    assert sent(cluster, "POST", CLAIMS, body).object["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    patched = sent(cluster, "PATCH", f"{CLAIMS}/x", {"spec": {"resources": {"claims": [{"name": "b"}]}}})
    assert patched.status == 200


@pytest.mark.parametrize(("release", "listed"), [("1.27", 3), ("1.28", 4)])
def test_actions_of_failure_policies(release: str, listed: int) -> None:
    """The action FailIndex came with 1.28."""
    cluster = simkit.Cluster(release=release)
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    rules = [{"action": "Other", "onExitCodes": {"operator": "In", "values": [1]}}]
    body = {"metadata": {"name": "x"}, "spec": {"template": pods, "podFailurePolicy": {"rules": rules}}}
    refused = sent(cluster, "POST", "/apis/batch/v1/namespaces/default/jobs", body)
    assert refused.object["message"].count('", "') == listed - 1
