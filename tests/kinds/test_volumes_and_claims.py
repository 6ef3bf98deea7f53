"""Volumes, claims, their classes and attachments: sizes, sources, and changes of what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response
from tests.kinds.comparison import cluster_of, sent, told

CORE = "/api/v1/namespaces/default"


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.31", []),
        ("1.33", ["allocatedResourceStatus", "allocatedResourceStatus", "allocatedResources[storage]"]),
        ("1.34", ["allocatedResourceStatuses", "allocatedResourceStatuses", "allocatedResources[storage]"]),
    ],
)
def test_what_a_claim_tells_about_its_expansion(release: str, told: list[str]) -> None:
    """It is checked where expansions can be recovered from."""
    cluster, path = simkit.Cluster(release=release), f"{CORE}/persistentvolumeclaims"
    amount = {"requests": {"storage": "1Gi"}}
    sent(cluster, "POST", path, named({"accessModes": ["ReadWriteOnce"], "resources": amount}))
    status = {"allocatedResourceStatuses": {"cpu": "Odd"}, "allocatedResources": {"storage": "-1"}}
    answer = sent(cluster, "PATCH", f"{path}/x/status", {"status": status})
    assert (
        [field for field, _ in causes(answer)] == [f"status.{each}" for each in told] if told else answer.status == 200
    )


@pytest.mark.parametrize(("release", "code"), [("1.33", None), ("1.35", 5)])
def test_codes_of_errors_of_attachments(release: str, code: int | None) -> None:
    """They are kept where counts of volumes may change."""
    cluster, path = simkit.Cluster(release=release), "/apis/storage.k8s.io/v1/volumeattachments"
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    sent(cluster, "POST", path, named(spec))
    changed = sent(cluster, "PATCH", f"{path}/x/status", {"status": {"attachError": {"message": "m", "errorCode": 5}}})
    assert changed.object["status"]["attachError"].get("errorCode") == code


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 1)])
def test_errors_of_changed_attribute_classes(release: str, times: int) -> None:
    """Up to 1.34 those of the whole object are told twice."""
    cluster, path = simkit.Cluster(release=release), "/apis/storage.k8s.io/v1/volumeattributesclasses"
    sent(cluster, "POST", path, {"metadata": {"name": "x"}, "driverName": "d", "parameters": {"a": "b"}})
    refused = sent(cluster, "PUT", f"{path}/x", {"metadata": {"name": "x"}})
    causes = [each["message"] for each in refused.object["details"]["causes"]]
    assert causes.count("Required value") == times


def test_claims_of_devices_in_volume_claims_are_forgotten() -> None:
    """Up to 1.28 a volume claim had a field for claims of devices, which never counted."""
    cluster = simkit.Cluster(release="1.27")
    wanted = {"requests": {"storage": "1Gi"}, "claims": [{"name": "a"}]}
    body = {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": wanted}}
    assert sent(cluster, "POST", CLAIMS, body).object["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
    patched = sent(cluster, "PATCH", f"{CLAIMS}/x", {"spec": {"resources": {"claims": [{"name": "b"}]}}})
    assert patched.status == 200


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


def test_a_code_of_an_attacher_is_not_negative() -> None:
    """From the release on that has it."""
    cluster = cluster_of("1.36")
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    cluster.create(
        {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": spec}
    )
    body = {"status": {"attachError": {"errorCode": -1}}}
    assert told(cluster, "PATCH", "/apis/storage.k8s.io/v1/volumeattachments/a/status", body) == [
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ]


def test_sources_of_a_claim_that_differ_are_told_with_a_path() -> None:
    """As Go prints the struct of the path."""
    cluster = cluster_of("1.30")
    source = {"kind": "PersistentVolumeClaim", "name": "o"}
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "dataSource": source}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": spec}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    odd = {**claim, "spec": {**spec, "dataSourceRef": {**source, "name": "p"}}}
    (cause,) = told(cluster, "POST", path, odd)
    assert cause.startswith('spec: Invalid value: field.Path{name:"dataSource", index:"", parent:(*field.Path)(0x')
    assert cause.endswith(")}: must match dataSourceRef")
