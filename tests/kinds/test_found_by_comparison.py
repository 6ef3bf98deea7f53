"""What random comparisons with kube-apiserver 1.30 and 1.36 showed, kind by kind."""

from __future__ import annotations

import pytest

from simkit.meta.message import Request
from tests.kinds.comparison import MERGE, cluster_of, told


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
