"""The official Python client, typed and dynamic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

client = pytest.importorskip("kubernetes.client", reason="the official client is a development dependency")
config = pytest.importorskip("kubernetes.config")
dynamic = pytest.importorskip("kubernetes.dynamic")
watch = pytest.importorskip("kubernetes.watch")


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Any:
    """The client's connection."""
    with config.new_client_from_config(str(kubeconfig)) as connection:
        yield connection


def test_typed_objects(api: Any) -> None:
    """Create, read, patch, list and delete through the typed client."""
    core = client.CoreV1Api(api)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="typed", labels={"a": "b"}), data={"k": "v"})
    made = core.create_namespaced_config_map("default", body)
    assert made.metadata.uid
    patched = core.patch_namespaced_config_map("typed", "default", {"data": {"k": "w"}})
    assert patched.data == {"k": "w"}
    listed = core.list_namespaced_config_map("default", label_selector="a=b")
    assert [item.metadata.name for item in listed.items] == ["typed"]
    core.delete_namespaced_config_map("typed", "default")
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_config_map("typed", "default")
    assert caught.value.status == 404


def test_watch(api: Any) -> None:
    """A watch from a list's version tells of what came after it, then ends in time."""
    core = client.CoreV1Api(api)
    version = core.list_namespaced_config_map("default").metadata.resource_version
    for name in ("w1", "w2"):
        core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name)))
    events = watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=1
    )
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "w1"), ("ADDED", "w2")]


def test_dynamic_client_and_apply(api: Any) -> None:
    """Discovery, server-side apply and its conflict through the dynamic client."""
    found = dynamic.DynamicClient(api)
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"k": "1"}}
    first = maps.server_side_apply(body=body, namespace="default", field_manager="one")
    assert first.metadata.managedFields[0].operation == "Apply"
    with pytest.raises(dynamic.exceptions.ConflictError, match="conflict with"):
        maps.server_side_apply(body={**body, "data": {"k": "2"}}, namespace="default", field_manager="two")


def test_access_reviews(api: Any) -> None:
    """The client's own review of an administrator's access."""
    spec = client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="delete", resource="nodes")
    )
    review = client.AuthorizationV1Api(api).create_self_subject_access_review(
        client.V1SelfSubjectAccessReview(spec=spec)
    )
    assert review.status.allowed
