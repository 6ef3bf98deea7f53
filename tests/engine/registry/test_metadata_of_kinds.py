"""Metadata, where the kinds differ in what they demand of it."""

from __future__ import annotations

from typing import Any

import pytest

import simkit

REFERENCE = {"name": "one", "namespace": "elsewhere", "kind": "Secret"}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    return simkit.Cluster(seed=1)


def of(api_version: str, kind: str, metadata: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


BUDGET = {"spec": {"minAvailable": 1}}
EVENT = {"involvedObject": {"namespace": "default"}}
NEW_EVENT = {
    "regarding": {"namespace": "default"},
    "eventTime": "2024-05-01T00:00:00.000000Z",
    "reportingController": "a.example.com/b",
    "reportingInstance": "b-1",
    "action": "Done",
    "reason": "Because",
    "type": "Normal",
}
ROLE = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}


@pytest.mark.parametrize(
    ("api_version", "kind", "more"),
    [
        ("policy/v1", "PodDisruptionBudget", BUDGET),
        ("coordination.k8s.io/v1", "Lease", {}),
        ("node.k8s.io/v1", "RuntimeClass", {"handler": "runc"}),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {}),
        ("v1", "Event", EVENT),
    ],
)
def test_finalizers_of_one_word(cluster: simkit.Cluster, api_version: str, kind: str, more: dict[str, Any]) -> None:
    """Some kinds take any name for a finalizer; most want a qualified one."""
    made = cluster.create(of(api_version, kind, {"name": "held", "finalizers": ["word"]}, **more))
    assert made["metadata"]["finalizers"] == ["word"]
    with pytest.raises(simkit.StatusError, match="neither a standard finalizer name nor is it fully qualified"):
        cluster.create(of("v1", "ConfigMap", {"name": "held", "finalizers": ["word"]}))


def test_generated_names(cluster: simkit.Cluster) -> None:
    """Events are strict in the newer group; roles want a beginning that is a name; limits need no name at all."""
    cluster.create(of("v1", "Event", {"generateName": "Any_", "name": "a"}, **EVENT))
    with pytest.raises(simkit.StatusError, match="a lowercase RFC 1123 subdomain"):
        cluster.create(of("events.k8s.io/v1", "Event", {"generateName": "Any_", "name": "b"}, **NEW_EVENT))
    binding = of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"generateName": "..", "name": "b"}, **ROLE)
    with pytest.raises(simkit.StatusError, match=r"metadata.generateName: Invalid value: \"..\": may not be '..'"):
        cluster.create(binding)
    assert len(cluster.create(of("v1", "LimitRange", {}))["metadata"]["name"]) == 36


def test_references_of_accounts(cluster: simkit.Cluster) -> None:
    """Of secrets only names are kept; what names none stays without."""
    made = cluster.create(of("v1", "ServiceAccount", {"name": "robot"}, secrets=[REFERENCE], imagePullSecrets=[{}]))
    assert (made["secrets"], made["imagePullSecrets"]) == ([{"name": "one"}], [{}])


def test_metadata_of_a_review_is_shown_whole(cluster: simkit.Cluster) -> None:
    """A review has no name; the refusal shows all that metadata can hold."""
    asked = {"user": "ann", "nonResourceAttributes": {"path": "/", "verb": "get"}}
    review = of("authorization.k8s.io/v1", "SubjectAccessReview", {"name": "x"}, spec=asked)
    with pytest.raises(simkit.StatusError) as caught:
        cluster.create(review)
    told = caught.value.message
    assert 'metadata: Invalid value: v1.ObjectMeta{Name:"x", GenerateName:"", Namespace:"", SelfLink:"",' in told
    assert 'ManagedFields:[]v1.ManagedFieldsEntry{v1.ManagedFieldsEntry{Manager:"simkit", Operation:"Update",' in told
    assert told.endswith("}: must be empty")


@pytest.mark.parametrize("own", [{}, {"app": "x"}])
def test_labels_of_jobs(cluster: simkit.Cluster, own: dict[str, str]) -> None:
    """A job that says no labels has those of its pods, with all that they are given; one that does keeps its own."""
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "img:1"}]}
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    name = "own" if own else "shared"
    made = cluster.create(of("batch/v1", "Job", {"name": name, "labels": own}, spec={"template": pod}))
    of_pods = made["spec"]["template"]["metadata"]["labels"]
    assert of_pods["batch.kubernetes.io/job-name"] == name
    assert made["metadata"]["labels"] == (own or of_pods)
