"""Who owns which fields: what the server wipes, drops or keeps counts for managed fields and generations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request
from tests.kinds.comparison import MERGE, cluster_of, sent
from tests.kinds.widgets import WIDGET, with_widgets

MAPS = "/api/v1/namespaces/default/configmaps"


JOBS = "/apis/batch/v1/namespaces/default/jobs"


CONTAINER = {"name": "c", "image": "i"}


DEVICES = "/apis/resource.k8s.io/v1"


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def endpoint_slice(*endpoints: Any) -> dict[str, Any]:
    """A slice with endpoints."""
    head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "e"}}
    return {**head, "addressType": "IPv4", "endpoints": list(endpoints), "ports": []}


RANGES = "/apis/networking.k8s.io/v1/servicecidrs"


@pytest.mark.parametrize("release", ["1.21", "1.30", "1.36"])
def test_generations_that_clients_write(release: str) -> None:
    """A kind without generations keeps what a new object says, and nothing below zero."""
    cluster = simkit.Cluster(release=release)
    made = sent(cluster, "POST", MAPS, {"metadata": {"name": "a", "generation": 5, "clusterName": "x"}}).object
    assert (made["metadata"]["generation"], "clusterName" in made["metadata"]) == (5, False)
    changed = sent(cluster, "PATCH", f"{MAPS}/a", {"metadata": {"generation": 7, "labels": {"a": "b"}}}).object
    assert changed["metadata"]["generation"] == 5
    refused = sent(cluster, "POST", MAPS, {"metadata": {"name": "b", "generation": -1}})
    assert refused.object["details"]["causes"][0]["field"] == "metadata.generation"


@pytest.mark.parametrize(("release", "kept"), [("1.23", False), ("1.25", True)])
def test_the_deletion_that_an_apply_writes(release: str, kept: bool) -> None:
    """An object that an apply creates keeps when it is to be deleted, from 1.24 on."""
    cluster = simkit.Cluster(release=release)
    head = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head}
    made = sent(cluster, "PATCH", f"{MAPS}/a?fieldManager=one", body, kind="apply-patch+yaml")
    assert made.status == 201
    assert ({"deletionTimestamp", "deletionGracePeriodSeconds"} <= made.object["metadata"].keys()) == kept


@pytest.mark.parametrize("release", ["1.21", "1.27", "1.30"])
def test_who_owns_the_resources_of_a_claim(release: str) -> None:
    """The resources are a part of every claim, and so nobody owns them as a whole."""
    cluster = simkit.Cluster(release=release)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    made = sent(cluster, "POST", claims, {"metadata": {"name": "c"}, "spec": spec}).object
    assert "." not in made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:resources"]


@pytest.mark.parametrize(("release", "owners"), [("1.21", 1), ("1.22", 2)])
def test_owners_by_subresource(release: str, owners: int) -> None:
    """Who writes the status of an object owns it together with the rest up to 1.21."""
    cluster = simkit.Cluster(release=release)
    nodes = "/api/v1/nodes"
    sent(cluster, "POST", nodes, {"metadata": {"name": "n", "labels": {"a": "b"}}})
    changed = sent(cluster, "PATCH", f"{nodes}/n/status", {"status": {"phase": "Running"}}).object
    assert len(changed["metadata"]["managedFields"]) == owners
    assert ("subresource" in changed["metadata"]["managedFields"][-1]) == (owners == 2)


@pytest.mark.parametrize(("release", "owned"), [("1.21", {"f:completionMode"}), ("1.22", {"f:completionMode"})])
def test_who_owns_fields_of_disabled_features(release: str, owned: set[str]) -> None:
    """Who writes a field of a disabled feature owns it, though it is dropped; its default belongs to nobody."""
    cluster = simkit.Cluster(release=release)
    spec: dict[str, Any] = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}}
    plain = sent(cluster, "POST", JOBS, {"metadata": {"name": "a"}, "spec": spec}).object
    fields = plain["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert ("f:completionMode" in fields) == (release == "1.22")
    given = sent(cluster, "POST", JOBS, {"metadata": {"name": "b"}, "spec": {**spec, "completionMode": "NonIndexed"}})
    assert owned <= given.object["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].keys()


def test_fields_that_are_dropped_count_as_a_change_of_a_slice() -> None:
    """The generation is raised before they go."""
    cluster, path = simkit.Cluster(release="1.34"), f"{DEVICES}/resourceslices"
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    sent(cluster, "POST", path, named({"driver": "a.example.com", "allNodes": True, "pool": pool}))
    counters = [{"name": "c", "counters": {"m": {"value": "1"}}}]
    changed = sent(cluster, "PATCH", f"{path}/x", {"spec": {"sharedCounters": counters}})
    assert changed.object["metadata"]["generation"] == 2
    assert "sharedCounters" not in changed.object["spec"]


def test_deprecated_topology_counts_for_the_generation_and_is_dropped() -> None:
    """Written in v1 it is not stored, but it is a change."""
    cluster = simkit.Cluster(release="1.36")
    one = {"addresses": ["10.1.1.1"], "conditions": {}}
    cluster.perform(Request.of("POST", SLICES, endpoint_slice(one)))
    same = cluster.perform(Request.of("PUT", f"{SLICES}/e", endpoint_slice(one))).object
    assert same["metadata"]["generation"] == 1
    written = {**one, "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    found = cluster.perform(Request.of("PUT", f"{SLICES}/e", endpoint_slice(written))).object
    assert (found["metadata"]["generation"], found["endpoints"]) == (2, [one])


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


def test_finalizers_of_a_namespace_are_owned_by_whoever_writes_them() -> None:
    """They do not change that way; the entry is a change all the same."""
    cluster = cluster_of("1.36")
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    body = {"spec": {"finalizers": ["a/b"]}}
    changed = cluster.perform(Request.of("PATCH", "/api/v1/namespaces/n", body, headers=MERGE)).object
    assert changed["spec"] == made["spec"]
    records = changed["metadata"]["managedFields"]
    owned = [record["fieldsV1"].get("f:spec") for record in records]
    assert {"f:finalizers": {}} in owned
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_an_object_with_elements_without_their_keys_has_no_managers() -> None:
    """It cannot be compared, and so nothing can be applied to it."""
    cluster = cluster_of("1.36")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}
    cluster.create(account)
    path = "/api/v1/namespaces/default/serviceaccounts/x"
    made = cluster.perform(Request.of("PATCH", path, {"secrets": [{}]}, headers=MERGE)).object
    assert "managedFields" not in made["metadata"]
    headers = {"content-type": "application/apply-patch+yaml"}
    answer = cluster.perform(Request.of("PATCH", f"{path}?fieldManager=one", account, headers=headers))
    assert answer.status == 500
    assert answer.object["message"].startswith(
        "failed to create manager for existing fields: failed to convert new object (default/x; /v1, "
        "Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an element"
    )


def test_fields_of_features_that_are_off_are_owned() -> None:
    """They are dropped after the managed fields are known."""
    spec = {"strategy": "OldestEmulationVersion", "holderIdentity": "b"}
    made = cluster_of("1.36").create(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": spec}
    )
    assert made["spec"] == {"holderIdentity": "b"}
    owned: dict[str, dict[str, object]] = {"f:spec": {"f:holderIdentity": {}, "f:strategy": {}}}
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == owned


def test_a_scale_is_not_applied_to_a_custom_resource_whose_replicas_nobody_owns() -> None:
    """kube-apiserver has no way to compare them."""
    cluster = with_widgets("1.36")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w"}, "spec": {"replicas": 4}}
    headers = {"content-type": "application/apply-patch+yaml"}
    answer = cluster.perform(Request.of("PATCH", f"{WIDGET}/scale?fieldManager=one", scale, headers=headers))
    assert answer.status == 500
    assert answer.object["message"].endswith("request to convert CR to an invalid group/version: autoscaling/v1")


@pytest.mark.parametrize(("release", "owned"), [("1.30", False), ("1.36", True)])
def test_ephemeral_containers_are_owned_by_whoever_adds_them(release: str, owned: bool) -> None:
    """Later releases record the manager, with all that it wrote."""
    cluster = cluster_of(release)
    containers = [{"name": "c", "image": "i"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    body = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}, "status": {"phase": "Running"}}
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/p/ephemeralcontainers"
    made = cluster.perform(Request.of("PATCH", path, body, headers=headers)).object
    records = [record for record in made["metadata"]["managedFields"] if "subresource" in record]
    assert [*map(sorted, (record["fieldsV1"] for record in records))] == ([["f:spec", "f:status"]] if owned else [])


def test_what_a_resize_does_not_change_is_owned_all_the_same() -> None:
    """The image of a container in the request of somebody who resizes it."""
    cluster = cluster_of("1.36")
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    body = {"spec": {"containers": [{"name": "c", "image": "z"}]}}
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/p/resize"
    made = cluster.perform(Request.of("PATCH", path, body, headers=headers)).object
    assert made["spec"]["containers"][0]["image"] == "i"
    (record,) = [record for record in made["metadata"]["managedFields"] if record.get("subresource") == "resize"]
    assert record["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}}}
