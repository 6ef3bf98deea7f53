"""The official Python client, typed and dynamic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

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


def test_dynamic_watch_and_patches(api: Any) -> None:
    """The dynamic client watches by name, patches in all ways, scales, and deletes collections."""
    found = dynamic.DynamicClient(api)
    deployments = found.resources.get(api_version="apps/v1", kind="Deployment")
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    made = deployments.create(body=body, namespace="default")
    for kind, patch in (
        ("application/merge-patch+json", {"spec": {"paused": True}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"a": "b"}}}),
        ("application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 0}]),
    ):
        deployments.patch(name="d", namespace="default", body=patch, content_type=kind)
    assert deployments.scale.get(name="d", namespace="default").spec.replicas in (0, None)
    version = made.metadata.resourceVersion
    events = deployments.watch(namespace="default", name="d", resource_version=version, timeout=2)
    seen = [event["raw_object"]["spec"] for event in events if event["type"] == "MODIFIED"]
    assert {"paused": True, "replicas": 0}.items() <= seen[-1].items()
    deployments.delete(namespace="default", label_selector="a=b")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        deployments.get(name="d", namespace="default")


def test_leader_election(kubeconfig: Path) -> None:
    """The client's own election over a lock that the server keeps: one leads, and the next takes over."""
    election = pytest.importorskip("kubernetes.leaderelection.leaderelection")
    electionconfig = pytest.importorskip("kubernetes.leaderelection.electionconfig")
    locks = pytest.importorskip("kubernetes.leaderelection.resourcelock.configmaplock")
    config.load_kube_config(str(kubeconfig))
    led: list[str] = []
    for name in ("one", "two"):
        lock = locks.ConfigMapLock("leader", "default", name)
        settings = electionconfig.Config(
            lock,
            lease_duration=3,
            renew_deadline=2,
            retry_period=1,
            onstarted_leading=lambda: None,
            onstopped_leading=None,
        )
        candidate = election.LeaderElection(settings)
        assert _acquires(candidate)
        led.append(lock.get("leader", "default")[1].holder_identity)
    assert led == ["one", "two"]


def _acquires(candidate: Any) -> bool:
    """True if a candidate becomes the leader within some seconds."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if candidate.try_acquire_or_renew():
            return True
        time.sleep(0.3)
    return False
