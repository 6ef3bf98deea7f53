"""Clusters with simulated nodes have the workloads in kube-system that clients look for."""

from __future__ import annotations

import pytest

from simkit.cluster.bootstrap import ADDONS, add_addons
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError
from tests.simulation.worlds import simulated


def _running(cluster: Cluster) -> list[str]:
    pods = cluster.list("pods", namespace="kube-system")
    assert {each["status"]["phase"] for each in pods} <= {"Running"}
    return sorted(each["metadata"]["labels"]["k8s-app"] for each in pods)


def test_addons_run() -> None:
    """Two name servers and a proxy for each node run; to add them again changes nothing."""
    cluster = simulated(3)
    for _ in range(2):
        add_addons(cluster._control_plane, ADDONS)
        cluster.settle()
        assert _running(cluster) == ["kube-dns"] * 2 + ["kube-proxy"] * 3
    assert cluster.get("service", "kube-dns", namespace="kube-system")["spec"]["clusterIP"] == "10.96.0.10"


def test_another_range_of_addresses() -> None:
    """Where services have other addresses, that of the name server is a free one."""
    cluster = Cluster(options=Options(service_cluster_ip_range="10.0.0.0/24"))
    add_addons(cluster._control_plane, ["coredns"])
    service = cluster.get("service", "kube-dns", namespace="kube-system")
    assert service["spec"]["clusterIP"].startswith("10.0.0.")


def test_an_unknown_addon() -> None:
    """A name that is not known is told with those that are."""
    with pytest.raises(SimkitError, match="no addon 'dns'; there are coredns, kube-proxy"):
        add_addons(Cluster()._control_plane, ["dns"])
