"""The order in which an update tells the errors of metadata, and what a write of the status keeps of it."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object

BAD = {
    "labels": {"bad key": "x"},
    "annotations": {"bad key": "x"},
    "ownerReferences": [{}],
    "finalizers": ["bad!"],
    "generateName": "x/y",
    "deletionGracePeriodSeconds": 5,
}
RULES: Object = {"rules": []}
POLICY: Object = {"spec": {"podSelector": {}}}
POD: Object = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SETS: Object = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}
CLAIM: Object = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
VOLUME: Object = {"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}


def letter(cause: Object) -> str:
    """A letter for each error: prefix, label, annotation, owner, finalizer, name of a finalizer, grace period."""
    field, message = cause.get("field", ""), cause.get("message", "")
    if field == "metadata.ownerReferences.apiVersion":
        return "O"
    if field.startswith("metadata.finalizers"):
        return "f" if "neither" in message else "F"
    marks = {"generateName": "G", "labels": "L", "annotations": "A", "deletionGracePeriodSeconds": "D"}
    return marks.get(field.removeprefix("metadata."), "")


def put(cluster: simkit.Cluster, obj: Object, path: str) -> Response:
    stored = cluster.create({**obj, "metadata": {"name": "t"}})
    given = {**BAD, "name": "t", "resourceVersion": stored["metadata"]["resourceVersion"]}
    namespace = stored["metadata"].get("namespace")
    metadata = {**given, "namespace": namespace} if namespace else given
    return cluster.perform(Request.of("PUT", path, {**obj, "metadata": metadata}))


@pytest.mark.parametrize(
    ("version", "kind", "body", "path", "at_1_30", "at_1_36"),
    [
        ("v1", "ConfigMap", {}, "/api/v1/namespaces/default/configmaps/t", "DLAOfGLAOFf", "DLAOfGLAOFf"),
        ("rbac.authorization.k8s.io/v1", "Role", RULES, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/t", "GLAOFfGLAOFfDLAOf", "GLAOFfDLAOf"),
        ("networking.k8s.io/v1", "NetworkPolicy", POLICY, "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/t", "GLAOFfDLAOf", "DLAOf"),
        ("apps/v1", "ReplicaSet", SETS, "/apis/apps/v1/namespaces/default/replicasets/t", "GLAOFfDLAOf", "DLAOf"),
        ("v1", "PersistentVolumeClaim", CLAIM, "/api/v1/namespaces/default/persistentvolumeclaims/t", "GLAOFfDLAOfGLAOFf", "DLAOfGLAOFf"),
        ("v1", "ResourceQuota", {"spec": {}}, "/api/v1/namespaces/default/resourcequotas/t", "DLAOf", "DLAOf"),
        ("storage.k8s.io/v1", "VolumeAttachment", VOLUME, "/apis/storage.k8s.io/v1/volumeattachments/t", "GLAOFfGLAOFf", "GLAOFf"),
    ],
)  # fmt: skip
def test_each_kind_checks_in_an_order_of_its_own(
    version: str, kind: str, body: Object, path: str, at_1_30: str, at_1_36: str
) -> None:
    """After what all kinds share; measured on kube-apiserver of both releases."""
    for release, told in (("1.30", at_1_30), ("1.36", at_1_36)):
        answer = put(simkit.Cluster(seed=1, release=release), {"apiVersion": version, "kind": kind, **body}, path)
        assert "".join(map(letter, answer.object["details"]["causes"])) == f"GLAOFDLAO{told}"


def test_errors_of_a_secret_stand_between_those_of_its_metadata() -> None:
    """The type is compared after the metadata were, and before they are looked at again."""
    cluster = simkit.Cluster(seed=1)
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "type": "example.com/a"})
    changed = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t", "labels": {"bad key": "x"}}}
    answer = cluster.perform(Request.of("PUT", "/api/v1/namespaces/default/secrets/t", changed))
    fields = [cause["field"] for cause in answer.object["details"]["causes"]]
    assert fields == ["metadata.labels"] * 3 + ["type", "metadata.labels"]


def test_a_write_of_the_status_keeps_the_metadata() -> None:
    """Invalid metadata are dropped with it, but for what stays of them in an attachment: the prefix and the period."""
    path = "/apis/storage.k8s.io/v1/volumeattachments/t/status"
    attachment = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", **VOLUME}
    answer = put(simkit.Cluster(seed=1), attachment, path)
    assert "".join(map(letter, answer.object["details"]["causes"])) == "GDGG"
    level = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration"}
    level["spec"] = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}  # type: ignore[assignment]
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/t/status"
    answer = put(simkit.Cluster(seed=1), level, path)
    assert (answer.status, answer.object["metadata"].get("labels")) == (200, None)


def test_a_write_of_its_status_creates_a_service() -> None:
    """As its strategy lets an update create, and the status has no strategy of its own for that."""
    cluster = simkit.Cluster(seed=1)
    path = "/api/v1/namespaces/default/services/t/status"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}]}}
    assert cluster.perform(Request.of("PUT", path, service)).status == 201
    assert cluster.get("service", "t", namespace="default")


def test_events_have_no_dependents() -> None:
    """A propagation policy does not keep one."""
    cluster = simkit.Cluster(seed=1)
    about = {"involvedObject": {"namespace": "default"}, "reason": "a", "type": "Normal"}
    cluster.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "t", "namespace": "default"}, **about})
    path = "/api/v1/namespaces/default/events/t"
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
    assert cluster.perform(Request.of("DELETE", path, options)).object["kind"] == "Status"
    assert cluster.perform(Request.of("GET", path)).status == 404


def test_a_status_without_a_time_keeps_the_time_of_a_phase() -> None:
    """The time stays if the phase of a volume is the same."""
    cluster = simkit.Cluster(seed=1)
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "t"}, "spec": spec}
    made = cluster.create(volume)
    answer = cluster.perform(Request.of("PUT", "/api/v1/persistentvolumes/t/status", volume))
    assert answer.object["status"] == made["status"]


def test_a_configuration_of_the_wrong_types_is_a_fault_of_the_conversion() -> None:
    """An applied time that is none has passed the types of the merge, which knows text only."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "t"}}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/t?fieldManager=a"
    body = {**lease, "spec": {"acquireTime": "x"}}
    request = Request.of("PATCH", path, body, content_type="application/apply-patch+yaml")
    answer = simkit.Cluster(seed=1).perform(request)
    assert answer.status == 500
    assert answer.object["message"].startswith(
        "failed to convert new object (/t; coordination.k8s.io/v1, Kind=Lease) to proper version: "
        "unable to convert unstructured object to coordination.k8s.io/v1, Kind=Lease: parsing time"
    )
