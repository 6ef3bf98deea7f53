"""Discovery documents are those that kube-apiserver answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import at
from simkit.schema import discovery
from simkit.schema.catalogue import Catalogue, Resource, SubresourceInfo
from tests.shared import SHARED, needs_shared

CATALOGUE = Catalogue.for_release("1.30")


def test_core_events_and_new_events_have_one_storage_mark() -> None:
    """The mark follows the stored form, so that clients see that two resources are one."""
    new = discovery.resource_list(CATALOGUE, "events.k8s.io", "v1")["resources"][0]
    core = discovery.resource_list(CATALOGUE, "", "v1")["resources"]
    assert new["storageVersionHash"] == next(entry for entry in core if entry["name"] == "events")["storageVersionHash"]
    assert discovery.storage_version_hash(GroupVersionKind("", "v1", "Pod")) == "xPOwRZ+Yhw8="


def test_unknown_groups_are_no_documents() -> None:
    """A group without resources is a KeyError."""
    with pytest.raises(KeyError):
        discovery.group(CATALOGUE, "no.such.group")


def test_custom_resources_keep_the_order_of_their_definition() -> None:
    """Verbs and subresources of custom resources are listed as they were given."""
    verbs = ("get", "patch", "update")
    info = {
        "status": SubresourceInfo("Widget", verbs, True),
        "scale": SubresourceInfo("Scale", verbs, True, "autoscaling/v1"),
    }
    widget = Resource("example.com", "v1", "widgets", "Widget", "widget", subresources=info, custom=True)
    document = discovery.resource_list(CATALOGUE.with_resources([widget]), "example.com", "v1")
    assert [entry["name"] for entry in document["resources"]] == ["widgets", "widgets/status", "widgets/scale"]
    assert document["resources"][2]["group"] == "autoscaling"


def answered(path: str, accept: str) -> dict[str, Any] | None:
    """The document for a path, None for paths that are none of discovery's."""
    parts = path.split("?")[0].strip("/").split("/")
    if "as=APIGroupDiscoveryList" in accept:
        return discovery.aggregated(CATALOGUE, "v2beta1", core=parts[0] == "api")
    if parts == ["api"]:
        return discovery.api_versions(CATALOGUE)
    if parts == ["apis"]:
        return discovery.group_list(CATALOGUE)
    if len(parts) == 2 and parts[0] == "apis" and CATALOGUE.group(parts[1]):
        return discovery.group(CATALOGUE, parts[1])
    if len(parts) == 2 + (parts[0] == "apis") and CATALOGUE.resources("/".join(parts[1:-1]), parts[-1]):
        return discovery.resource_list(CATALOGUE, "/".join(parts[1:-1]), parts[-1])
    return None


def conversations() -> Iterator[dict[str, Any]]:
    cases = SHARED / "conformance" / "cases"
    for path in [
        *sorted((cases / "discovery").glob("*.json")),
        cases / "versions" / "versions-discovery-preferred.json",
    ]:
        for step in orjson.loads(path.read_bytes())["steps"]:
            if step["method"] == "GET" and step.get("expect", {}).get("status") == 200:
                yield step


def without_marks(document: Any) -> Any:
    """The document without what the recordings leave out."""
    if isinstance(document, dict):
        left_out = ("storageVersionHash", "serverAddress", "serverAddressByClientCIDRs")
        return {key: without_marks(item) for key, item in document.items() if key not in left_out}
    return [without_marks(item) for item in document] if isinstance(document, list) else document


@needs_shared
def test_recorded_answers_are_repeated() -> None:
    """Every recorded discovery document that names built-in resources alone comes out the same."""
    compared = 0
    for step in conversations():
        expected = step["expect"].get("body")
        document = answered(step["path"], step.get("headers", {}).get("Accept", ""))
        if document is None or not isinstance(expected, dict):
            continue
        if step.get("pick"):
            steps = {name: [int(word) if word.isdigit() else word for word in name.split(".")] for name in step["pick"]}
            document = {name: at(document, *steps[name]) for name in expected}
        assert without_marks(document) == without_marks(expected), step["path"]
        compared += 1
    assert compared > 25
