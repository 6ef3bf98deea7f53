"""The running controllers, their times and their users."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

import simkit
from simkit.client.controller import Client
from simkit.cluster.options import Options
from simkit.engine.controllers.controller_manager import ControllerManager, select_controllers
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot
from tests.engine.controllers.worlds import job, names, obj, workload

ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def test_flags_choose_controllers() -> None:
    """All, some, all but some; old names work, and what is only in kube-apiserver can be left out."""
    known = ("a-controller", "b-controller", "c-controller")
    on = known[:2]
    assert select_controllers(["*"], known, on) == list(on)
    assert select_controllers(["*", "c", "-a-controller"], known, on, aliases={"c": "c-controller"}) == [
        "b-controller",
        "c-controller",
    ]
    assert select_controllers(["*", "-x"], known, on, foreign=["x"]) == list(on)
    assert select_controllers([], known, on) == []
    for wrong in ("x", "nonsense"):
        with pytest.raises(SimkitError, match="is not a controller"):
            select_controllers([wrong], known, on, foreign=["x"])


def test_controllers_leave_their_name_in_what_they_write(cluster: simkit.Cluster) -> None:
    """Fields belong to the controller manager; who asked is the controller's account."""
    cluster.create(workload("ReplicaSet", "r", replicas=1))
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    assert pod["metadata"]["managedFields"][0]["manager"] == "kube-controller-manager"


def test_controllers_have_no_more_rights_than_their_roles() -> None:
    """Without its binding a controller is refused; it says so and goes on trying."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    cluster.delete("clusterrolebinding", "system:controller:replicaset-controller")
    cluster.create(workload("ReplicaSet", "r", replicas=1))
    cluster.settle()
    assert names(cluster, "pods") == []


def test_the_same_seed_gives_the_same_cluster() -> None:
    """Whatever controllers make follows the seed and the clock."""
    from simkit.snapshot.diff import difference

    def grown() -> simkit.Cluster:
        cluster = simkit.Cluster(options=Options(seed=3, clock=simkit.SimulatedClock()))
        cluster.create(workload("Deployment", "d", replicas=3))
        cluster.create(job("j", completions=2, parallelism=2))
        cluster.settle()
        return cluster

    assert not difference(grown().snapshot(), grown().snapshot())


def test_settling_again_does_nothing(cluster: simkit.Cluster) -> None:
    """At rest is at rest."""
    cluster.create(workload("Deployment", "d", replicas=2))
    cluster.settle()
    revision = cluster.snapshot()
    assert cluster.settle() == 0
    assert cluster.snapshot() is revision


def test_a_loaded_cluster_is_taken_to_be_at_rest() -> None:
    """No object is made for the content of a dump; later changes are reconciled."""
    namespace = obj("v1", "Namespace", "old", spec={"finalizers": ["kubernetes"]}, meta={"uid": "1"})
    role = obj("rbac.authorization.k8s.io/v1", "ClusterRole", "system:controller:service-account-controller", rules=ALL)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}
    subject = {"kind": "ServiceAccount", "namespace": "kube-system", "name": "service-account-controller"}
    binding = obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "b", roleRef=reference, subjects=[subject])
    account = obj("v1", "ServiceAccount", "a", meta={"namespace": "old", "uid": "2"})
    cluster = simkit.load([namespace, account, role, binding])
    assert cluster.settle() == 0
    assert names(cluster, "sa", "old") == ["a"]
    cluster.create(obj("v1", "Namespace", "new"))
    cluster.settle()
    assert names(cluster, "sa", "new") == ["default"]


def test_controllers_that_would_guess_stay_away() -> None:
    """Over a dump without pods nobody makes pods for its replica sets."""
    meta = {"name": "r", "namespace": "default", "uid": "1"}
    cluster = simkit.load([{**workload("ReplicaSet", "r", replicas=3), "metadata": meta}])
    path = "/apis/apps/v1/namespaces/default/replicasets/r"
    body = {"metadata": {"labels": {"a": "b"}}}
    cluster.perform(Request.of("PATCH", path, body, content_type="application/merge-patch+json"))
    cluster.settle()
    assert "observedGeneration" not in (cluster.get("rs", "r").get("status") or {})


def test_controllers_run_in_the_background() -> None:
    """While a server runs they answer by themselves."""
    cluster = simkit.Cluster(seed=1)
    runner = cluster._control_plane.runner
    runner.start()
    try:
        cluster.create(obj("v1", "Namespace", "x"))
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and "default" not in names(cluster, "sa", "x"):
            time.sleep(0.01)
        assert names(cluster, "sa", "x") == ["default"]
    finally:
        runner.stop()


class Failing:
    """A controller that fails the first time, and notes what it was given."""

    name = account = "failing-controller"
    next_time: float | None = None

    def __init__(self) -> None:
        self.given: list[Sequence[Change] | None] = []

    def concerns(self, change: Change) -> bool:
        return change.entry.key.resource.resource == "configmaps"

    def reset_backoff(self) -> None:
        """Nothing to reset."""

    def resume_from(self, other: Any) -> None:
        """Nothing to resume."""

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        self.given.append(changes)
        if len(self.given) == 1:
            raise RuntimeError("not today")


def test_one_that_fails_keeps_no_other_from_its_work_and_starts_over(cluster: simkit.Cluster) -> None:
    """The error is not lost, the others are done, and next time it looks at everything."""
    made, failing = cluster._control_plane, Failing()
    own = made.runner._controllers
    runner = ControllerManager(
        made.store,
        lambda: [failing, *own],
        lambda request, who: cluster.perform(request, identity=who),
        made.snapshot,
        clock=made.clock,
        rested=True,
    )
    cluster.create(obj("v1", "ConfigMap", "a"))
    cluster.create(obj("v1", "Namespace", "x"))
    with pytest.raises(RuntimeError, match="not today"):
        runner.settle()
    runner.settle()
    assert names(cluster, "sa", "x") == ["default"]
    assert [None if given is None else len(given) for given in failing.given] == [1, None]
