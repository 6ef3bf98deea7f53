"""One object that a controller cannot bear stops nothing but itself."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simkit
from simkit.client.reconciler import Reconciler
from simkit.cluster.options import Options
from simkit.engine.controllers.deployment import DeploymentController
from simkit.logic.rbac.aggregate import aggregated_rules
from simkit.logic.workloads import rollout
from simkit.meta.domain import label
from tests.engine.controllers.worlds import TEMPLATE, job, names, obj, patch, told, workload

HOSTILE = ("²", "9" * 5000, "-" + "9" * 5000, "1_0", "٣", "--1", "", "1e999", "-", "0x10")
"""Texts of annotations that are no number, or none that anybody counts with."""


def _cluster() -> simkit.Cluster:
    return simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))


def _poisoned(cluster: simkit.Cluster, name: str, text: str) -> None:
    """A workload, its pods and its sets with a text in every annotation that a controller reads a number from."""
    notes = dict.fromkeys((rollout.REVISION, rollout.MAXIMUM, rollout.DESIRED), text)
    notes[label("template.generation", "deprecated.daemonset")] = text
    template = {**TEMPLATE, "metadata": {"labels": {"app": "web"}, "annotations": notes}}
    meta = {"annotations": notes}
    cluster.create(
        {
            **workload("ReplicaSet", f"{name}-set", replicas=1, template=template),
            "metadata": {"name": f"{name}-set", **meta},
        }
    )
    cluster.create({**workload("Deployment", name, replicas=2, template=template), "metadata": {"name": name, **meta}})
    cluster.create(
        {
            **job(f"{name}-job", completions=2, parallelism=2, completionMode="Indexed"),
            "metadata": {"name": f"{name}-job", **meta},
        }
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_a_number_that_is_none_stops_no_controller(text: str) -> None:
    """A revision annotation ``²`` of one Deployment: it and all others get their pods."""
    cluster = _cluster()
    _poisoned(cluster, "aaa", text)
    cluster.create(workload("Deployment", "healthy", replicas=1))
    cluster.settle()
    for deployment in cluster.list("deployments", "default"):
        meta = deployment["metadata"]
        assert deployment["status"]["observedGeneration"] == meta["generation"]
    patch(cluster, "/apis/apps/v1/namespaces/default/deployments/aaa", {"spec": {"replicas": 3}})
    cluster.settle()
    assert len([name for name in names(cluster, "pods") if name.startswith(("aaa-", "healthy-"))]) >= 4


class _Unbearable(Exception):
    """An error of ours."""


def _breaking(monkeypatch: pytest.MonkeyPatch, kind: type[Reconciler], poisoned: set[str]) -> None:
    sane: Any = kind.reconcile

    def reconcile(self: Any, client: Any, lister: Any, key: Any) -> float | None:
        if key.name in poisoned:
            raise _Unbearable(key.name)
        result: float | None = sane(self, client, lister, key)
        return result

    monkeypatch.setattr(kind, "reconcile", reconcile)


@settings(max_examples=5, deadline=None)
@given(poisoned=st.sets(st.sampled_from(["a", "b", "c", "d"])))
def test_whichever_objects_fail_the_others_converge(poisoned: set[str]) -> None:
    """An error concerns its key: all other keys come to rest in the same call."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _breaking(monkeypatch, DeploymentController, poisoned)
        cluster = _cluster()
        for name in ("a", "b", "c", "d"):
            cluster.create(workload("Deployment", name, replicas=1))
        cluster.settle()
        owners = {name.partition("-")[0] for name in names(cluster, "replicasets")}
        assert owners == {"a", "b", "c", "d"} - poisoned


def test_a_failure_is_told_and_tried_again_with_back_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the trace, the object an Event that says nothing of our insides; later the key is tried again."""
    poisoned = {"a"}
    _breaking(monkeypatch, DeploymentController, poisoned)
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster(options=Options(seed=1, clock=clock))
    cluster.create(workload("Deployment", "a", replicas=1))
    with caplog.at_level(logging.ERROR, "simkit.controllers"):
        cluster.settle()
    assert any(record.exc_info and record.exc_info[0] is _Unbearable for record in caplog.records)
    text = "deployment-controller cannot reconcile it: _Unbearable"
    assert told(cluster, "a") == [("Warning", "ReconcileError", text, 1)]
    poisoned.clear()
    cluster.settle()
    assert [name.partition("-")[0] for name in names(cluster, "replicasets")] == ["a"]


def test_a_role_that_cannot_be_gathered_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error of one role is in the log, and the other roles are gathered in the same call."""
    sane = aggregated_rules

    def failing(role: Any, roles: Any) -> Any:
        if role["metadata"]["name"] == "a-poisoned":
            raise _Unbearable("a-poisoned")
        return sane(role, roles)

    cluster = _cluster()
    monkeypatch.setattr("simkit.engine.controllers.cluster_role_aggregation.aggregated_rules", failing)
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    selector = {"clusterRoleSelectors": [{"matchLabels": {"part": "x"}}]}
    group = "rbac.authorization.k8s.io/v1"
    cluster.create(obj(group, "ClusterRole", "part", rules=[rule], meta={"labels": {"part": "x"}}))
    for name in ("a-poisoned", "b-sound"):
        cluster.create(obj(group, "ClusterRole", name, rules=[], aggregationRule=selector))
    with caplog.at_level(logging.ERROR, "simkit.controllers"):
        cluster.settle()
    assert any(record.exc_info and record.exc_info[0] is _Unbearable for record in caplog.records)
    assert cluster.get("clusterrole", "b-sound")["rules"] == [rule]
