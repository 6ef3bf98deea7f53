"""Workloads of two thousand million pods are worked on in portions."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.controllers import daemon_set
from simkit.engine.controllers.pod_control import MOST_AT_ONCE
from simkit.engine.controllers.slice_reconciler import Group, SliceReconciler
from simkit.logic.workloads.indexes import Indexes, parse, write
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from tests.engine.controllers.test_aggregation import Recording
from tests.engine.controllers.worlds import job, names, patch, workload
from tests.security.prices import LINEAR, growth

MOST = 2**31 - 1


PORTION = 20


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> simkit.Cluster:
    """A cluster whose controllers work in small portions, and rest after some writes."""
    made = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    for controller in ("job", "replica_set", "stateful_set"):
        monkeypatch.setattr(f"simkit.engine.controllers.{controller}.MOST_AT_ONCE", PORTION)
    monkeypatch.setattr("simkit.engine.controllers.controller_manager._MOST_WRITES", 10)
    return made


def test_portions_are_those_of_the_real_controllers() -> None:
    """BurstReplicas and MaxPodCreateDeletePerSync."""
    assert (MOST_AT_ONCE, daemon_set._MOST_AT_ONCE) == (500, 250)


@pytest.mark.parametrize(
    "wanted",
    [
        job("j", parallelism=MOST),
        job("j", parallelism=100_000, completions=MOST, completionMode="Indexed"),
        workload("ReplicaSet", "r", replicas=MOST),
        workload("Deployment", "d", replicas=MOST),
        workload("StatefulSet", "s", replicas=MOST, serviceName="x", podManagementPolicy="Parallel"),
    ],
    ids=lambda obj: str(obj["kind"]),
)
def test_pods_are_made_in_portions(cluster: simkit.Cluster, wanted: Object) -> None:
    """As BurstReplicas and MaxPodCreateDeletePerSync say; who settles is told that there is more to do."""
    cluster.create(wanted)
    with pytest.raises(SimkitError, match="settle again"):
        cluster.settle()
    assert len(names(cluster, "pods")) == PORTION


def test_index_ranges_cost_their_text() -> None:
    """A status that says that two thousand million indexes are done is read as one span."""
    found = parse(f"0-{MOST},{'9' * 5000}-{'9' * 5001},²-3", below=MOST)
    assert (len(found), write(found), found.end_of_span(7)) == (MOST, f"0-{MOST - 1}", MOST)
    assert Indexes([(3, 5), (1, 2), (2, 3), (9, 9)]) == parse("1-4", below=9)


def test_a_status_full_of_indexes_is_no_burden(cluster: simkit.Cluster) -> None:
    """The next free index behind a wide span is found at once."""
    cluster.create(job("j", parallelism=1, completions=MOST, completionMode="Indexed", suspend=True))
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    patch(cluster, f"{path}/status", {"status": {"completedIndexes": f"0-{MOST - 3},{MOST - 1}"}})
    patch(cluster, path, {"spec": {"suspend": False}})
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == str(MOST - 2)


def test_slices_of_many_groups_cost_their_number() -> None:
    """Endpoints mirrored from thousands of subsets, each with ports of its own: each slice is looked at once."""

    def groups(count: int) -> tuple[dict[Group, list[dict[str, Any]]], list[Object]]:
        ends = [{"addresses": ["10.0.0.1"]}]
        wanted: dict[Group, list[dict[str, Any]]] = {("IPv4", ((("port", port),),)): ends for port in range(count)}
        labels = {"name": "s"}
        present = [
            {"metadata": {"name": f"s-{port}", "labels": labels}, "addressType": "IPv4", "ports": [{"port": port}]}
            for port in range(count)
        ]
        return wanted, [{**each, "endpoints": ends} for each in present]

    def reconcile(given: tuple[dict[Group, list[dict[str, Any]]], list[Object]]) -> None:
        SliceReconciler(Recording(), "default", "s", {"name": "s"}, {}, {}, 100).reconcile(*given)

    assert growth(reconcile, groups, 400) < LINEAR
