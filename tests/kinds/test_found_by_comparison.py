"""What random comparisons with kube-apiserver 1.30 and 1.36 showed, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request

MERGE = {"content-type": "application/merge-patch+json"}


def cluster_of(release: str) -> Cluster:
    return simkit.Cluster(options=Options(release=release, seed=1, disable_admission_plugins=("ServiceAccount",)))


def told(cluster: Cluster, method: str, path: str, body: Mapping[str, Any]) -> list[str]:
    """The causes of a refusal, each with its field."""
    headers = MERGE if method == "PATCH" else {}
    answer = cluster.perform(Request.of(method, path, body, headers=headers)).object
    return [f"{cause['field']}: {cause['message']}" for cause in answer["details"]["causes"]]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_causes_of_a_changed_node_stand_around_those_of_its_metadata(release: str) -> None:
    """The new node is validated as a whole, and the change after it with the metadata once more."""
    cluster = cluster_of(release)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    cluster.create(node)
    odd = {**node, "metadata": {"name": "n", "labels": {"a": "b c"}}, "spec": {"podCIDRs": ["other"]}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/nodes/n", odd)]
    assert fields == [*3 * ["metadata.labels"], "spec.podCIDRs[0]", "metadata.labels"]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_the_configuration_of_a_node_is_not_stored(release: str) -> None:
    """Its feature is gone; a stored one would stay."""
    cluster = cluster_of(release)
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    body = {"status": {"phase": "Running", "config": {"error": "x"}}}
    status = cluster.perform(Request.of("PATCH", "/api/v1/nodes/n/status", body, headers=MERGE)).object["status"]
    assert "config" not in status
    assert status["phase"] == "Running"


def test_a_class_of_volume_attributes_is_validated_after_its_change() -> None:
    """First what may not change, then the new object."""
    cluster = cluster_of("1.36")
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "a"}}
    cluster.create({**head, "driverName": "a.example.com", "parameters": {"a": "b"}})
    causes = told(cluster, "PUT", "/apis/storage.k8s.io/v1/volumeattributesclasses/a", head)
    assert [cause.partition(":")[0] for cause in causes] == ["driverName", "parameters", "driverName", "parameters"]


def test_a_volume_with_a_class_of_attributes_must_be_of_csi() -> None:
    """From the release on that has such classes by default."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/x"},
            "volumeAttributesClassName": "-5",
        },
    }
    causes = told(cluster_of("1.36"), "POST", "/api/v1/persistentvolumes", volume)
    assert [cause.partition(":")[0] for cause in causes] == ["spec.volumeAttributesClassName", "spec.csi"]
    assert cluster_of("1.30").create(volume)["spec"]["hostPath"] == {"path": "/tmp/x", "type": ""}


def test_claims_of_ephemeral_volumes_keep_what_only_claims_lose() -> None:
    """A source in another namespace is dropped when the claim is created, not from the template of a pod."""
    source = {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "a/b"}
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "dataSourceRef": source,
    }
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": spec}}
    causes = told(cluster_of("1.30"), "POST", "/api/v1/namespaces/default/podtemplates", template)
    place = "template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef.namespace"
    assert [cause.partition(":")[0] for cause in causes] == [place]


def test_a_scaled_version_needs_a_group() -> None:
    """A slash alone does not make one."""
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "/abs", "kind": "Deployment", "name": "d"}},
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert told(cluster_of("1.36"), "POST", path, scaler) == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "/abs": apiVersion must specify API group'
    ]


def test_fields_of_later_types_are_written_as_their_go_types_say() -> None:
    """A claim without requests has null there, and nobody owns what holds them."""
    cluster = cluster_of("1.36")
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {}}
    assert cluster.create(claim)["spec"] == {"devices": {"requests": None}}
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}
    made = cluster.create({**claim, "metadata": {"name": "d"}, "spec": {"devices": devices}})
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:devices": {"f:requests": {}}}}


def test_a_value_of_extra_that_is_no_list_is_told_with_its_type() -> None:
    """The type has a name of its own."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "a", "extra": {"a": "b"}},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = cluster_of("1.30").perform(Request.of("POST", path, review)).object
    assert answer["message"].endswith("SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue")


@pytest.mark.parametrize(("release", "first"), [("1.32", "endpoints[0].addresses"), ("1.33", "ports[0].protocol")])
def test_ports_of_endpoint_slices_are_checked_first(release: str, first: str) -> None:
    """From the release on that checks addresses by family."""
    made = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "e"},
        "addressType": "IPv4",
        "endpoints": [{}],
        "ports": [{"protocol": "/abs"}],
    }
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    assert told(cluster_of(release), "POST", path, made)[0].partition(":")[0] == first


def test_an_immutable_config_map_is_validated_after_its_change() -> None:
    """The metadata of the new object comes after what may not change."""
    cluster = cluster_of("1.30")
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    cluster.create({**head, "immutable": True})
    odd = {**head, "metadata": {"name": "c", "labels": {"a": "b c"}}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/namespaces/default/configmaps/c", odd)]
    assert fields == [*3 * ["metadata.labels"], "immutable", "metadata.labels"]


def test_an_empty_field_selector_of_two_signs_selects_everything() -> None:
    """A term without a field and a value says nothing."""
    answer = cluster_of("1.30").perform(Request.of("GET", "/api/v1/nodes?fieldSelector=%3D%3D"))
    assert answer.status == 200


def test_a_deletion_of_all_jobs_warns_of_orphans() -> None:
    """Even if there are none."""
    answer = cluster_of("1.30").perform(Request.of("DELETE", "/apis/batch/v1/namespaces/default/jobs"))
    assert "child pods are preserved by default" in dict(answer.headers)["Warning"]


def revisions(cluster: Cluster, requests: list[Request]) -> list[str]:
    """The revision of the object in each answer."""
    return [cluster.perform(request).object["metadata"]["resourceVersion"] for request in requests]


def test_a_job_without_labels_is_stored_by_every_write_that_brings_none() -> None:
    """Its labels are a default that reads add, so that the object never equals what is stored."""
    cluster = cluster_of("1.30")
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}
    path = "/apis/batch/v1/namespaces/default/jobs/j/status"
    cluster.create(job)
    put, patch = Request.of("PUT", path, job), Request.of("PATCH", path, {"status": {}}, headers=MERGE)
    first, second, third, fourth, fifth = revisions(cluster, [put, put, patch, patch, patch])
    assert first != second != third == fourth == fifth


def test_a_job_with_labels_is_stored_once() -> None:
    """Writes of an equal object change nothing."""
    cluster = cluster_of("1.30")
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"template": {"metadata": {"labels": {"q": "r"}}, "spec": pod}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}
    made = cluster.create(job)
    patch = Request.of("PATCH", "/apis/batch/v1/namespaces/default/jobs/j", {"metadata": {}}, headers=MERGE)
    assert revisions(cluster, [patch]) == [made["metadata"]["resourceVersion"]]


def test_finalizers_of_a_namespace_are_owned_by_whoever_writes_them() -> None:
    """They do not change that way; the entry is a change all the same."""
    cluster = cluster_of("1.36")
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    body = {"spec": {"finalizers": ["a/b"]}}
    changed = cluster.perform(Request.of("PATCH", "/api/v1/namespaces/n", body, headers=MERGE)).object
    assert changed["spec"] == made["spec"]
    owned = [record["fieldsV1"].get("f:spec") for record in changed["metadata"]["managedFields"]]
    assert {"f:finalizers": {}} in owned
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_handlers_of_a_node_are_dropped_by_the_node_itself() -> None:
    """Writes of the status keep a field whose feature is off, and others take it away."""
    cluster = cluster_of("1.30")
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    handlers = {"status": {"runtimeHandlers": [{"name": "a"}]}}
    kept = cluster.perform(Request.of("PATCH", "/api/v1/nodes/n/status", handlers, headers=MERGE)).object
    assert kept["status"]["runtimeHandlers"] == [{"name": "a"}]
    labels = {"metadata": {"labels": {"a": "b"}}}
    left = cluster.perform(Request.of("PATCH", "/api/v1/nodes/n", labels, headers=MERGE)).object
    assert "runtimeHandlers" not in left["status"]


def test_mounts_of_a_container_are_dropped_by_the_pod_itself() -> None:
    """As the handlers of a node."""
    cluster = cluster_of("1.30")
    containers = [{"name": "c", "image": "i"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    mounts = [{"name": "a", "mountPath": "/x"}]
    state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "volumeMounts": mounts}
    path = "/api/v1/namespaces/default/pods/p"
    body = {"status": {"containerStatuses": [state]}}
    kept = cluster.perform(Request.of("PATCH", f"{path}/status", body, headers=MERGE)).object
    assert kept["status"]["containerStatuses"][0]["volumeMounts"] == mounts
    labels = {"metadata": {"labels": {"a": "b"}}}
    left = cluster.perform(Request.of("PATCH", path, labels, headers=MERGE)).object
    assert "volumeMounts" not in left["status"]["containerStatuses"][0]


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("release", "kind", "expected"),
    [
        ("1.30", "ReplicaSet", "lglsls"),
        ("1.30", "DaemonSet", "lglsls"),
        ("1.36", "DaemonSet", "ls"),
        ("1.36", "ReplicaSet", "ls"),
    ],
)
def test_a_changed_workload_is_checked_as_a_whole_and_then_as_a_change(release: str, kind: str, expected: str) -> None:
    """Up to some release; each check looks at the labels of the object, and then at its spec."""
    cluster = cluster_of(release)
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    cluster.create(made)
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {**spec, "minReadySeconds": -1}}
    causes = told(cluster, "PUT", f"/apis/apps/v1/namespaces/default/{kind.lower()}s/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.minReadySeconds": "s"}
    whole = "".join(letters[cause.partition(":")[0]] for cause in causes)
    assert whole == f"l{'' if expected == 'lglsls' else 'l'}{expected}"


@pytest.mark.parametrize(("release", "expected"), [("1.30", "llglsls"), ("1.36", "llls")])
def test_a_changed_network_policy_is_checked_twice(release: str, expected: str) -> None:
    """Up to the release that checks it once."""
    cluster = cluster_of(release)
    made = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}}
    cluster.create({**made, "spec": {"podSelector": {}}})
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"podSelector": {}, "policyTypes": ["x"]}}
    causes = told(cluster, "PUT", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.policyTypes[0]": "s"}
    assert "".join(letters[cause.partition(":")[0]] for cause in causes) == expected


def test_addresses_of_a_changed_service_stand_before_its_metadata() -> None:
    """What may not change is told first."""
    cluster = cluster_of("1.30")
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}
    cluster.create(made)
    head = {"name": "x", "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"ports": [{"port": 0}], "clusterIP": "None"}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/namespaces/default/services/x", odd)]
    assert fields == ["spec.clusterIPs[0]", "metadata.generateName", "spec.ports[0].port", "spec.ports[0].targetPort"]


def test_a_service_that_a_write_of_its_status_creates_warns() -> None:
    """As any other new service."""
    spec = {"ports": [{"port": 80}], "externalIPs": ["1.2.3.4"]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": spec}
    answer = cluster_of("1.36").perform(Request.of("PUT", "/api/v1/namespaces/default/services/s/status", body))
    assert answer.status == 201
    assert "spec.externalIPs is deprecated" in dict(answer.headers)["Warning"]


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
    owned = {"f:spec": {"f:holderIdentity": {}, "f:strategy": {}}}
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == owned


def test_the_manager_of_an_old_job_may_not_change_even_if_the_feature_is_off() -> None:
    """Only new jobs lose the field."""
    cluster = cluster_of("1.30")
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {**spec, "managedBy": "a/b"}}
    assert "managedBy" not in cluster.create(job)["spec"]
    body = {"spec": {"managedBy": "a/b"}}
    assert told(cluster, "PATCH", "/apis/batch/v1/namespaces/default/jobs/j", body) == [
        'spec.managedBy: Invalid value: "a/b": field is immutable'
    ]


def test_slices_of_devices_are_selected_by_node_and_driver() -> None:
    """In every version that has them."""
    cluster = cluster_of("1.36")
    path = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector="
    assert cluster.perform(Request.of("GET", f"{path}spec.nodeName%3Da,spec.driver%3Db")).object["items"] == []
    answer = cluster.perform(Request.of("GET", f"{path}spec.nothing%3Dx")).object
    assert answer["message"] == "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.nothing"


def test_the_moment_of_an_event_has_no_zeros_at_its_end() -> None:
    """Go prints them so."""
    cluster = cluster_of("1.30")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "a.b/c",
        "reportingInstance": "x",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": {"namespace": "default"},
    }
    cluster.create(event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    moment = {"eventTime": "2021-01-01T00:00:00.500000Z"}
    assert "eventTime: Invalid value: 2021-01-01 00:00:00.5 +0000 UTC: field is immutable" in told(
        cluster, "PATCH", path, moment
    )
