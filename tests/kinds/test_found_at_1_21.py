"""What a comparison with kube-apiserver 1.21 found."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response
from tests.kinds.bases import REQUEST

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONTAINER = {"name": "c", "image": "i"}


def sent(cluster: simkit.Cluster, method: str, path: str, body: Any = None, *, kind: str = "") -> Response:
    """The answer to a request with an object, or with a patch of some kind (merge-patch+json)."""
    patch = f"application/{kind or 'merge-patch+json'}"
    headers = {"content-type": patch if method == "PATCH" else "application/json"}
    return cluster.perform(Request.of(method, path, body, headers=headers))


def with_account(release: str) -> simkit.Cluster:
    """A cluster in which pods can be created."""
    cluster = simkit.Cluster(release=release)
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    return cluster


@pytest.mark.parametrize(("release", "statuses"), [("1.22", (201, 201)), ("1.23", (422, 201)), ("1.25", (422, 400))])
def test_the_option_field_validation(release: str, statuses: tuple[int, int]) -> None:
    """1.22 does not know it, 1.24 looks at its value alone, and 1.25 refuses unknown fields."""
    cluster = simkit.Cluster(release=release)
    assert sent(cluster, "POST", f"{MAPS}?fieldValidation=Other", {"metadata": {"name": "a"}}).status == statuses[0]
    unknown = {"metadata": {"name": "b"}, "more": 1}
    assert sent(cluster, "POST", f"{MAPS}?fieldValidation=Strict", unknown).status == statuses[1]
    warned = "warning" in {name.lower() for name, _ in sent(cluster, "PUT", f"{MAPS}/b", unknown).headers}
    assert warned == (release == "1.25")


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


@pytest.mark.parametrize(("release", "generation"), [("1.21", None), ("1.23", 1)])
def test_jobs_have_generations(release: str, generation: int | None) -> None:
    """Jobs count their changes, and whoever deletes one is told of its pods, from 1.23 on."""
    cluster = simkit.Cluster(release=release)
    body = {
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}},
    }
    assert sent(cluster, "POST", JOBS, body).object["metadata"].get("generation") == generation
    warned = "warning" in {name.lower() for name, _ in sent(cluster, "DELETE", f"{JOBS}/j").headers}
    assert warned == (generation is not None)


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.21", "failed to create typed patch object: .spec.containers"),
        ("1.28", "failed to create typed patch object (/q; /v1, Kind=Pod): .spec.containers"),
    ],
)
def test_repeated_elements_before_1_29(release: str, told: str) -> None:
    """An object with them has no managed fields, and nothing can be applied to it."""
    cluster = with_account(release)
    spec = {"containers": [{**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]}
    assert (
        "managedFields" not in sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).object["metadata"]
    )
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}}
    refused = sent(cluster, "PATCH", f"{PODS}/p?fieldManager=one", applied, kind="apply-patch+yaml").object
    assert refused["message"].startswith("failed to create manager for existing fields: failed to convert new object (")
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": spec}
    refused = sent(cluster, "PATCH", f"{PODS}/q?fieldManager=one", applied, kind="apply-patch+yaml").object
    assert refused["message"].startswith(told)
    assert refused["message"].endswith('duplicate entries for key [name="A"]')


@pytest.mark.parametrize(("release", "labels"), [("1.21", {"a": ""}), ("1.25", None)])
def test_nulls_of_strategic_patches(release: str, labels: dict[str, str] | None) -> None:
    """A null below a field that the object lacks becomes an empty text before 1.24."""
    cluster = simkit.Cluster(release=release)
    sent(cluster, "POST", MAPS, {"metadata": {"name": "a"}})
    body = {"metadata": {"labels": {"a": None}}}
    changed = sent(cluster, "PATCH", f"{MAPS}/a", body, kind="strategic-merge-patch+json").object
    assert changed["metadata"].get("labels") == labels


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


@pytest.mark.parametrize(("release", "kind"), [("1.21", "Status"), ("1.23", "Service")])
def test_the_answer_to_the_deletion_of_a_service(release: str, kind: str) -> None:
    """Services are told after their deletion from 1.23 on."""
    cluster = simkit.Cluster(release=release)
    services = "/api/v1/namespaces/default/services"
    sent(cluster, "POST", services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    answer = sent(cluster, "DELETE", f"{services}/s").object
    assert (answer["kind"], answer.get("details", {}).get("name", "s")) == (kind, "s")


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.21", ["must specify a handler type", "must not be set for init containers"]),
        ("1.25", ["may not be set for init containers"]),
    ],
)
def test_probes_of_init_containers(release: str, told: list[str]) -> None:
    """Up to 1.24 init containers are checked like regular ones, and then refused for having probes."""
    cluster = with_account(release)
    spec = {"initContainers": [{**CONTAINER, "name": "i", "readinessProbe": {}}], "containers": [CONTAINER]}
    refused = sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).object
    messages = [each["message"] for each in refused["details"]["causes"]]
    assert len(messages) == len(told)
    assert all(end in message for end, message in zip(told, messages, strict=True))


@pytest.mark.parametrize(("release", "sign"), [("1.21", "-"), ("1.25", "+")])
def test_the_direction_of_a_change(release: str, sign: str) -> None:
    """The error of a changed pod showed the change backwards up to 1.24."""
    cluster = with_account(release)
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}})
    refused = sent(cluster, "PATCH", f"{PODS}/p", {"spec": {"affinity": {}}}).object
    assert f"\n{sign} \tAffinity: " in refused["message"].replace("\u00a0", " ")
    assert "&core.Affinity{}" in refused["message"].split(f"\n{sign}", 1)[1].split("\n")[0]


@pytest.mark.parametrize(("release", "kept"), [("1.21", True), ("1.22", False)])
def test_the_configuration_source_of_a_node(release: str, kept: bool) -> None:
    """Nodes may take their configuration from a ConfigMap up to 1.21, and changes of it are checked."""
    cluster = simkit.Cluster(release=release)
    source = {"configMap": {"name": "c", "namespace": "n"}}
    answer = sent(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"configSource": source}})
    assert ("configSource" in answer.object["spec"]) == kept
    changed = sent(cluster, "PATCH", "/api/v1/nodes/n", {"spec": {"configSource": {"configMap": {"uid": "u"}}}})
    assert (changed.status == 422) == kept


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


@pytest.mark.parametrize("release", ["1.17", "1.21"])
def test_topology_keys_of_services(release: str) -> None:
    """They belong to a feature that was always off, and that 1.30 does not know any more."""
    cluster = simkit.Cluster(release=release)
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "topologyKeys": ["*"]}}
    made = sent(cluster, "POST", "/api/v1/namespaces/default/services", body).object
    assert "topologyKeys" not in made["spec"]


def test_signing_requests_for_the_legacy_signer() -> None:
    """One that v1beta1 made can be approved and signed through v1beta1, with any certificate."""
    cluster = simkit.Cluster(release="1.21")
    requests = "/apis/certificates.k8s.io/v1beta1/certificatesigningrequests"
    sent(cluster, "POST", requests, {"metadata": {"name": "r"}, "spec": {"request": REQUEST, "usages": ["any"]}})
    made = cluster.perform(Request.of("GET", f"{requests}/r")).object
    assert made["spec"]["signerName"] == "kubernetes.io/legacy-unknown"
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    assert sent(cluster, "PATCH", f"{requests}/r/approval", approved).status == 200
    assert sent(cluster, "PATCH", f"{requests}/r/status", {"status": {"certificate": "eA=="}}).status == 200


def test_addresses_of_load_balancers_without_modes() -> None:
    """Before 1.30 an address of a load balancer has no mode, whatever the type of its service."""
    cluster = simkit.Cluster(release="1.21")
    services = "/api/v1/namespaces/default/services"
    sent(cluster, "POST", services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    assert sent(cluster, "PATCH", f"{services}/s/status", status).status == 200


@pytest.mark.parametrize(("release", "grace"), [("1.25", -1), ("1.27", 1)])
def test_negative_grace_periods_of_pods(release: str, grace: int) -> None:
    """They are kept up to 1.26."""
    cluster = with_account(release)
    spec = {"containers": [CONTAINER], "terminationGracePeriodSeconds": -1}
    made = sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).object
    assert made["spec"]["terminationGracePeriodSeconds"] == grace
