"""Options, patches, selectors and identities of requests: what each release makes of them."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request
from tests.kinds.comparison import cluster_of, sent, told

MAPS = "/api/v1/namespaces/default/configmaps"


PODS = "/api/v1/namespaces/default/pods"


CONTAINER = {"name": "c", "image": "i"}


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


@pytest.mark.parametrize(("release", "status"), [("1.34", 500), ("1.35", 400)])
def test_a_group_without_a_user(release: str, status: int) -> None:
    """Nobody can be it."""
    headers = {"impersonate-group": "g"}
    assert simkit.Cluster(release=release).perform(Request.of("GET", "/version", headers=headers)).status == status


def test_the_watch_of_an_old_path_takes_the_options_of_a_list() -> None:
    """Unless it says that it is a watch, it may not ask for initial events."""
    path = "/api/v1/watch/namespaces/default/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    refused = simkit.Cluster(release="1.34").perform(Request.of("GET", f"{path}&timeoutSeconds=1"))
    assert refused.status == 422
    fields = [each["field"] for each in refused.object["details"]["causes"]]
    assert fields == ["resourceVersionMatch", "sendInitialEvents"]


def test_an_empty_field_selector_of_two_signs_selects_everything() -> None:
    """A term without a field and a value says nothing."""
    answer = cluster_of("1.30").perform(Request.of("GET", "/api/v1/nodes?fieldSelector=%3D%3D"))
    assert answer.status == 200


def test_a_prefix_that_no_path_can_have_is_refused_last() -> None:
    """The kind leaves the prefix alone at 1.36; what all kinds share is checked once nothing else is wrong."""
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "x", "generateName": "/a"}}
    causes = told(cluster_of("1.36"), "POST", "/apis/resource.k8s.io/v1/deviceclasses", {**body, "spec": {}})
    assert causes == ["metadata.generateName: Invalid value: \"/a\": may not contain '/'"]
