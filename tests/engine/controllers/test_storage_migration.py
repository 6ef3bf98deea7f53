"""Storage version migration: objects of custom kinds come to the version that is stored now."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object

WIDGETS = GroupResource("example.com", "widgets")
VERSION = "storagemigration.k8s.io/v1alpha1"


def definition(stored: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": n, "served": True, "storage": n == stored, "schema": schema} for n in ("v1", "v2")]
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }


def server() -> Cluster:
    settings = {"storagemigration.k8s.io/v1alpha1": True}
    gates = {"StorageVersionMigrator": True}
    return Cluster(options=Options(seed=1, runtime_config=settings, feature_gates=gates))


def migrate(cluster: Cluster, version: str, resource: str, group: str = "example.com") -> dict[str, Any]:
    """The status of a migration after the controllers came to rest."""
    spec = {"resource": {"group": group, "version": version, "resource": resource}}
    cluster.create({"apiVersion": VERSION, "kind": "StorageVersionMigration", "metadata": {"name": "m"}, "spec": spec})
    cluster.settle()
    found: dict[str, Any] = cluster.get("storageversionmigrations", "m").get("status", {})
    return found


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def stored(cluster: Cluster, key: Key) -> Object:
    """An object as the store holds it."""
    entry = cluster.engine.store.get(key)
    assert entry is not None
    return entry.object


def test_objects_come_to_the_version_that_is_stored_now() -> None:
    """One that was written before the change of the definition is kept in the old version until then."""
    cluster = server()
    cluster.apply([definition("v1")])
    cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 1})
    cluster.apply([definition("v2")])
    key = Key(WIDGETS, "default", "w")
    assert stored(cluster, key)["apiVersion"] == "example.com/v1"
    status = migrate(cluster, "v2", "widgets")
    assert stored(cluster, key)["apiVersion"] == "example.com/v2"
    assert cluster.get("widgets", "w")["size"] == 1
    assert conditions(status) == {
        "Running": ("False", "StorageVersionMigrationRunning"),
        "Succeeded": ("True", "StorageVersionMigrationSucceeded"),
    }
    assert status["resourceVersion"].isdigit()


def test_built_in_objects_that_are_stored_well_stay_as_they_are() -> None:
    """A write that changes nothing stores nothing."""
    cluster = server()
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    before = cluster.get("configmap", "a", "default")["metadata"]["resourceVersion"]
    assert "Succeeded" in conditions(migrate(cluster, "v1", "configmaps", ""))
    assert cluster.get("configmap", "a", "default")["metadata"]["resourceVersion"] == before


def test_a_resource_that_is_not_there_fails() -> None:
    """With a message, once."""
    status = migrate(server(), "v1", "nothing")
    assert conditions(status)["Failed"] == ("True", "StorageVersionMigrationFailed")
    assert status["conditions"][-1]["message"] == "resource does not exist"


def test_a_migration_names_a_resource_and_keeps_it() -> None:
    """A missing resource is reported, and a given one cannot change."""
    cluster = server()
    empty = {
        "apiVersion": VERSION,
        "kind": "StorageVersionMigration",
        "metadata": {"name": "m"},
        "spec": {"resource": {}},
    }
    with pytest.raises(StatusError, match=r"spec\.resource\.resource: Required value: resource is required"):
        cluster.create(empty)
    migrate(cluster, "v1", "configmaps", "")
    live = cluster.get("storageversionmigrations", "m")
    with pytest.raises(StatusError, match="field is immutable"):
        cluster.apply([{**live, "spec": {"resource": {"group": "", "version": "v1", "resource": "secrets"}}}])


def test_without_the_gate_nobody_serves_it() -> None:
    """The kind comes with the feature gate, whatever ``--runtime-config`` says."""
    cluster = Cluster(options=Options(seed=1, runtime_config={"storagemigration.k8s.io/v1alpha1": True}))
    with pytest.raises(SimkitError, match="StorageVersionMigration"):
        migrate(cluster, "v1", "configmaps", "")
