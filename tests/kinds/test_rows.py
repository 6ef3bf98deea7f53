"""Cells of Tables for objects that are far along: what kube-apiserver's printer shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import simkit
from simkit.kinds.strategy import strategy_of
from simkit.meta.message import Request
from simkit.meta.names import GroupKind
from simkit.meta.objects import Object
from tests.releases import BASE

RUNNING = {"running": {"startedAt": "1970-01-01T00:00:00Z"}}


def cells(group: str, kind: str, obj: Object) -> Sequence[Any]:
    row = strategy_of(GroupKind(group, kind)).print_row
    assert row is not None
    return row(BASE, {"metadata": {"name": "x"}, **obj}, 0)


def started(name: str, restarts: int = 0, *, ready: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": RUNNING, **more}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [started("a", 2, ready=False), started("s", 5, started=True)],
            },
            ["0/2", "Init:0/2", "2"],
        ),
        (
            {
                "phase": "Running",
                "initContainerStatuses": [
                    started("a", 3, ready=False, state={"terminated": {"exitCode": 0}}),
                    started("s", 5, started=True),
                ],
                "containerStatuses": [started("c", 1)],
            },
            ["2/2", "Running", "6"],
        ),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "Initialized", "status": "True"}],
                "initContainerStatuses": [started("a", 3, state={"waiting": {"reason": "CrashLoopBackOff"}})],
                "containerStatuses": [started("c", 1)],
            },
            ["1/2", "Init:CrashLoopBackOff", "1"],
        ),
    ],
)
def test_pods_that_begin(status: Object, shown: list[str]) -> None:
    """Only containers up to the one that must still end count, until the pod says that all have ended."""
    inits = [{"name": "a"}, {"name": "s", "restartPolicy": "Always"}]
    spec = {"containers": [{"name": "c"}], "initContainers": inits}
    assert cells("", "Pod", {"spec": spec, "status": status})[1:4] == shown


@pytest.mark.parametrize(
    ("hosts", "shown"),
    [
        (["", ""], "*"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", ""], "a,b,c + 1 more..."),
        (["", "a", "b", "c", "d"], "a,b,c + 2 more..."),
        (["", "a", "b", "c"], "a,b,c"),
    ],
)
def test_hosts_of_ingresses(hosts: list[str], shown: str) -> None:
    """Rules without a host count as well once three hosts are told."""
    rules = [{"host": host} if host else {} for host in hosts]
    assert cells("networking.k8s.io", "Ingress", {"spec": {"rules": rules}})[2] == shown


@pytest.mark.parametrize(
    ("current", "shown"),
    [
        (None, "cpu: <unknown>/100m"),
        ({"averageUtilization": 3}, "cpu: <nil>/100m"),
        ({"averageValue": "50m"}, "cpu: 50m/100m"),
    ],
)
def test_metrics_of_autoscalers(current: Object | None, shown: str) -> None:
    """A metric that is known, but not in the wanted form, is not unknown."""
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "100m"}}}
    status = {} if current is None else {"currentMetrics": [{"type": "Resource", "resource": {"current": current}}]}
    obj = {"spec": {"metrics": [metric], "maxReplicas": 1}, "status": status}
    assert cells("autoscaling", "HorizontalPodAutoscaler", obj)[2] == shown


@pytest.mark.parametrize(
    ("meta", "status", "shown"),
    [
        ({}, {}, "pending"),
        ({}, {"allocation": {}}, "allocated"),
        ({}, {"allocation": {}, "reservedFor": [{}], "deallocationRequested": True}, "allocated,reserved"),
        ({"deletionTimestamp": "1970-01-01T00:00:00Z"}, {}, "deleted"),
        ({"deletionTimestamp": "1970-01-01T00:00:00Z"}, {"allocation": {}}, "deleted,allocated,deallocating"),
    ],
)
def test_states_of_claims(meta: Object, status: Object, shown: str) -> None:
    """A claim goes back when nobody holds it any more."""
    obj = {"metadata": {"name": "x", **meta}, "spec": {}, "status": status}
    assert cells("resource.k8s.io", "ResourceClaim", obj)[3] == shown


def table(cluster: simkit.Cluster, path: str) -> list[dict[str, Any]]:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    rows: list[dict[str, Any]] = cluster.perform(Request.of("GET", path, headers={"accept": accept})).object["rows"]
    return rows


def test_flow_schemas_stand_in_the_order_in_which_they_match() -> None:
    """Other than in the list itself, which is sorted by name."""
    rows = table(simkit.Cluster(), "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
    matched = [(row["cells"][2], row["cells"][0]) for row in rows]
    assert matched == sorted(matched)
    assert [name for _, name in matched[:2]] == ["exempt", "probes"]


def test_rows_of_pods_that_have_ended_say_so() -> None:
    """Beside the cells, for clients that leave them out."""
    cluster = simkit.Cluster()
    for name, phase in (("a", "Running"), ("b", "Succeeded"), ("c", "Failed")):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        path = f"/api/v1/namespaces/default/pods/{name}/status"
        change = {"status": {"phase": phase}}
        cluster.perform(Request.of("PATCH", path, change, content_type="application/merge-patch+json"))
    rows = table(cluster, "/api/v1/namespaces/default/pods")
    assert [row.get("conditions") for row in rows] == [
        None,
        [_completed("Succeeded", "The pod has completed successfully.")],
        [_completed("Failed", "The pod failed.")],
    ]


def _completed(reason: str, message: str) -> dict[str, str]:
    return {"type": "Completed", "status": "True", "reason": reason, "message": message}
