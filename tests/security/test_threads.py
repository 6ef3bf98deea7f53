"""Threads that share a cluster, each at the worst moment for another one."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

import simkit
from simkit.engine.pipeline.custom_resources.definitions import CustomResources
from simkit.meta.clock import NameSource
from tests.security.test_restarts import definition

if TYPE_CHECKING:
    import pytest


def test_a_write_while_a_fork_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fork knew of a binding that its store did not have, and its controllers could not run."""
    cluster, child, written = simkit.Cluster(seed=1), NameSource.child, list[str]()

    def write(names: NameSource) -> NameSource:
        if not written:  # while the parts are forked, after the store
            written.append("late")
            role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "late"}}
            cluster.create({**role, "rules": []})
            cluster.settle()
        return child(names)

    monkeypatch.setattr(NameSource, "child", write)
    fork = cluster.fork()
    assert written
    assert fork.get("clusterrole", "late")["metadata"]["name"] == "late"
    fork.settle()


def test_a_definition_is_served_when_its_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another request between the write and those who listen to it made the server forget what follows from it."""
    cluster, learn = simkit.Cluster(seed=1), CustomResources._learn

    def slow(custom: CustomResources, changes: Any) -> None:
        other = Thread(target=cluster.get, args=("namespace", "default"))
        other.start()
        other.join(1)  # it may wait for what goes on here
        learn(custom, changes)

    monkeypatch.setattr(CustomResources, "_learn", slow)
    cluster.create(definition("things"))
    cluster.create({"apiVersion": "a.example/v1", "kind": "Things", "metadata": {"name": "one"}})
