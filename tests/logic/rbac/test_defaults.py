"""A starting server puts the default roles and bindings in place, and takes nothing away."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.logic.rbac.aggregate import is_aggregated
from simkit.logic.rbac.defaults import AUTOUPDATE, default_objects, outdated_bindings, reconcile
from simkit.meta.objects import Object, copied, name_of
from tests.logic.rbac.worlds import World, empty_cluster

FRESH = default_objects("1.30")


def changed(name: str, kind: str, **fields: Any) -> list[Object]:
    """The defaults with some fields of one object changed."""
    return [{**obj, **fields} if (name_of(obj), obj["kind"]) == (name, kind) else obj for obj in FRESH]


def named(name: str, kind: str) -> Object:
    return next(obj for obj in FRESH if (name_of(obj), obj["kind"]) == (name, kind))


def test_empty_cluster_gets_everything() -> None:
    """On an empty cluster all defaults are created, in order; a second start has nothing to do."""
    steps = list(reconcile(World([])))
    assert [obj for obj, _ in steps] == FRESH
    assert not any(exists for _, exists in steps)
    assert list(reconcile(World(FRESH))) == []


def test_recorded_fresh_cluster() -> None:
    """A recorded fresh cluster has all defaults already."""
    assert list(reconcile(World(empty_cluster()))) == []


def test_missing_permissions_come_back() -> None:
    """Lost rules are added in pieces, and rules that were added stay."""
    mine = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}
    [(repaired, exists)] = reconcile(World(changed("system:basic-user", "ClusterRole", rules=[mine])))
    assert exists
    assert repaired["rules"][0] == mine
    assert {
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    } in repaired["rules"]
    assert all(len(rule["resources"]) == 1 for rule in repaired["rules"])


def test_missing_subjects_come_back() -> None:
    """Lost subjects are added after those that are there."""
    mine = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}
    [(repaired, exists)] = reconcile(World(changed("system:discovery", "ClusterRoleBinding", subjects=[mine])))
    assert exists
    assert [subject["name"] for subject in repaired["subjects"]] == ["ann", "system:authenticated"]


def test_labels_and_annotations_come_back() -> None:
    """Lost labels are added; values that somebody set win."""
    metadata = {"name": "view", "labels": {"kubernetes.io/bootstrapping": "mine"}, "annotations": {"a": "b"}}
    [(repaired, _)] = reconcile(World(changed("view", "ClusterRole", metadata=metadata)))
    assert repaired["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "mine"
    assert repaired["metadata"]["annotations"] == {"a": "b", AUTOUPDATE: "true"}
    assert "rbac.authorization.k8s.io/aggregate-to-edit" in repaired["metadata"]["labels"]


def test_selectors_come_back() -> None:
    """An aggregated role that lost its selectors gets them, and its gathered rules are left alone."""
    assert is_aggregated(named("admin", "ClusterRole"))
    plain = copied(named("admin", "ClusterRole"))
    del plain["aggregationRule"]
    objects = [plain if obj["kind"] == "ClusterRole" and name_of(obj) == "admin" else obj for obj in FRESH]
    [(repaired, _)] = reconcile(World(objects))
    assert repaired["aggregationRule"] == named("admin", "ClusterRole")["aggregationRule"]


def test_another_role_means_anew() -> None:
    """A binding to another role is deleted and created; its own subjects go with it."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    world = World(changed("system:discovery", "ClusterRoleBinding", roleRef=reference))
    assert [key.name for key in outdated_bindings(world)] == ["system:discovery"]
    assert list(reconcile(world)) == [(named("system:discovery", "ClusterRoleBinding"), False)]


@pytest.mark.parametrize("fields", [{"subjects": []}, {"roleRef": {"kind": "ClusterRole", "name": "view"}}])
def test_protected(fields: dict[str, Any]) -> None:
    """An object that says so is left as it is."""
    metadata = {"name": "system:discovery", "annotations": {AUTOUPDATE: "false"}}
    world = World(changed("system:discovery", "ClusterRoleBinding", metadata=metadata, **fields))
    assert list(reconcile(world)) == []
    assert list(outdated_bindings(world)) == []
