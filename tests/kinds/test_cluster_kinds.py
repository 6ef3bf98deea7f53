"""Nodes, namespaces, registrations, signing requests, priorities, config maps and events: special rules of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response
from tests.kinds.bases import REQUEST
from tests.kinds.comparison import MERGE, cluster_of, sent, told

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


@pytest.mark.parametrize(("release", "kept"), [("1.21", True), ("1.22", False)])
def test_the_configuration_source_of_a_node(release: str, kept: bool) -> None:
    """Nodes may take their configuration from a ConfigMap up to 1.21, and changes of it are checked."""
    cluster = simkit.Cluster(release=release)
    source = {"configMap": {"name": "c", "namespace": "n"}}
    answer = sent(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"configSource": source}})
    assert ("configSource" in answer.object["spec"]) == kept
    changed = sent(cluster, "PATCH", "/api/v1/nodes/n", {"spec": {"configSource": {"configMap": {"uid": "u"}}}})
    assert (changed.status == 422) == kept


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


@pytest.mark.parametrize("release", ["1.21", "1.32", "1.36"])
def test_classes_of_the_system_cannot_be_deleted(release: str) -> None:
    """Nobody deletes a priority class of the system by its name, whether it is there or not."""
    cluster = simkit.Cluster(release=release)
    for _ in range(2):
        refused = sent(cluster, "DELETE", f"{CLASSES}/system-node-critical")
        assert refused.status == 403
        assert refused.object["message"].endswith("this is a system priority class and cannot be deleted")
        assert sent(cluster, "DELETE", CLASSES).status == 200


@pytest.mark.parametrize(("release", "word"), [("1.33", "type must be"), ("1.34", "must be")])
def test_priority_levels_that_are_exempt(release: str, word: str) -> None:
    """There is one, and it has the name."""
    cluster, path = simkit.Cluster(release=release), "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    assert f": {word} 'Exempt'" in causes(sent(cluster, "POST", path, named({"type": "Exempt"})))[0][1]


def test_names_of_signing_requests_are_looked_at_last() -> None:
    """A prefix that is no part of a path is told where nothing else is wrong."""
    cluster = simkit.Cluster()
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    bare = sent(cluster, "POST", requests, {"metadata": {"name": "x", "generateName": "/abs"}, "spec": {}})
    told = [each["field"] for each in bare.object["details"]["causes"]]
    assert told == ["spec.request", "spec.usages", "spec.signerName"]


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


def test_an_immutable_config_map_is_validated_after_its_change() -> None:
    """The metadata of the new object comes after what may not change."""
    cluster = cluster_of("1.30")
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    cluster.create({**head, "immutable": True})
    odd = {**head, "metadata": {"name": "c", "labels": {"a": "b c"}}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/namespaces/default/configmaps/c", odd)]
    assert fields == [*3 * ["metadata.labels"], "immutable", "metadata.labels"]


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


def test_a_wrong_prefix_of_a_registration_stands_before_its_metadata() -> None:
    """A prefix is held against the version and the group as a name is."""
    cluster = cluster_of("1.36")
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    head = {"name": "v1.a.example.com"}
    made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": head, "spec": spec}
    cluster.create(made)
    body = {"metadata": {"generateName": "x-", "labels": {"a": "b c"}}, "spec": {"versionPriority": -1}}
    causes = told(cluster, "PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1.a.example.com", body)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.versionPriority": "s"}
    assert "".join(letters[cause.partition(":")[0]] for cause in causes) == "lllgls"


def test_conditions_of_registrations_are_those_of_the_server() -> None:
    """The manager is kube-apiserver."""
    cluster = simkit.Cluster(release="1.36")
    service = {"namespace": "default", "name": "none"}
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    whole = {**spec, "service": service, "insecureSkipTLSVerify": True}
    head = {"name": "v1.a.example.com"}
    cluster.create({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": head, "spec": whole})
    cluster.settle()
    found = cluster.perform(Request.of("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.a.example.com")).object
    managers = {record["manager"] for record in found["metadata"]["managedFields"] if "subresource" in record}
    assert managers == {"kube-apiserver"}


def test_a_terminating_namespace_with_finalizers_stays_as_it_is() -> None:
    """A second deletion with another policy changes nothing."""
    cluster = cluster_of("1.36")
    finalizers = {"metadata": {"finalizers": ["a.example.com/b"]}}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", **finalizers["metadata"]}})
    first = cluster.perform(Request.of("DELETE", "/api/v1/namespaces/n")).object
    second = cluster.perform(Request.of("DELETE", "/api/v1/namespaces/n", {"propagationPolicy": "Foreground"})).object
    assert second["metadata"]["finalizers"] == first["metadata"]["finalizers"]
