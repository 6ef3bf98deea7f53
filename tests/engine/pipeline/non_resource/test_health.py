"""Health endpoints: what they check, and what they say when something is not as it should be."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response


def get(cluster: Cluster, path: str) -> Response:
    return cluster.perform(Request.of("GET", path))


CLUSTER = Cluster(seed=1)


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_every_listed_check_can_be_asked_alone(endpoint: str) -> None:
    """Each line of the verbose answer names a path below the endpoint, slashes included, that answers ok."""
    lines = get(CLUSTER, f"/{endpoint}?verbose").body.decode().splitlines()
    assert lines[-1] == f"{endpoint} check passed"
    names = [line.removeprefix("[+]").removesuffix(" ok") for line in lines[:-1]]
    assert names[:3] == ["ping", "log", "etcd"]
    assert "poststarthook/rbac/bootstrap-roles" in names
    assert ("shutdown" in names) == (endpoint == "readyz")
    listed = get(CLUSTER, "/").object["paths"]
    for name in names:
        answer = get(CLUSTER, f"/{endpoint}/{name}")
        assert (answer.status, answer.body) == (200, b"ok")
        assert f"/{endpoint}/{name}" in listed


def test_a_check_that_fails() -> None:
    """The server is not ready, but alive; reasons are told for a single check only."""
    cluster = Cluster(seed=1)
    cluster.engine.own_checks["mine"] = lambda: "out of order"
    answer = get(cluster, "/readyz")
    assert answer.status == 500
    assert answer.body.endswith(b"[-]mine failed: reason withheld\nreadyz check failed\n")
    assert get(cluster, "/readyz?exclude=mine").status == 200
    assert get(cluster, "/readyz/mine").body == b"internal server error: out of order\n"
    assert get(cluster, "/livez").status == get(cluster, "/healthz").status == 200


def test_grace_period() -> None:
    """During the grace period, checks that follow the start may fail for livez, not for readyz."""
    clock = SimulatedClock()
    cluster = Cluster(options=Options(clock=clock, livez_grace_period=30))
    cluster.engine.started = False
    assert get(cluster, "/livez").status == 200
    assert get(cluster, "/readyz").status == 500
    clock.advance(31)
    assert get(cluster, "/livez").status == 500
    assert get(cluster, "/livez/ping").status == 200
    cluster.engine.started = True
    assert get(cluster, "/livez").status == 200


def test_checks_of_features_that_are_off_by_default() -> None:
    """They come with the gates, those of storage versions with two."""
    gates = {"CoordinatedLeaderElection": True, "StorageVersionAPI": True}
    on = get(Cluster(options=Options(release="1.36", feature_gates=gates)), "/readyz?verbose").body.decode()
    off = get(Cluster("1.36"), "/readyz?verbose").body.decode()
    for name in ("start-kube-apiserver-coordinated-leader-election-controller", "built-in-resources-storage-version"):
        assert name in on
        assert name not in off
