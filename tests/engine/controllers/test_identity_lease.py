"""The lease by which a server is known."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.controllers.server_records import LEASE_SECONDS, IdentityLease
from simkit.meta.clock import SimulatedClock, micro_time

NAME = "apiserver-wlv32tlttr4jl3gtroqexyxapa"
"""What kube-apiserver names its lease on a host named vm."""


class Idle:
    """A runner that tells what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def start(self) -> None:
        self.told.append("start")

    def stop(self) -> None:
        self.told.append("stop")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(options=Options(release="1.36", seed=1, clock=SimulatedClock()))


def lease_of(cluster: Cluster) -> IdentityLease:
    return IdentityLease(Idle(), cluster.perform, cluster.clock, "vm")


def leases(cluster: Cluster) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in cluster.list("leases", namespace="kube-system")}


def test_it_is_made_and_renewed(cluster: Cluster) -> None:
    """With the labels, the owner and the term of kube-apiserver."""
    lease = lease_of(cluster)
    lease.step()
    made = leases(cluster)[NAME]
    labels = {"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": "vm"}
    assert made["metadata"]["labels"] == labels
    assert [each["manager"] for each in made["metadata"]["managedFields"]] == ["kube-apiserver"]
    assert made["spec"]["holderIdentity"].startswith(f"{NAME}_")
    assert made["spec"]["leaseDurationSeconds"] == LEASE_SECONDS
    cluster.advance(10)
    lease.step()
    renewed = leases(cluster)[NAME]
    assert renewed["metadata"]["uid"] == made["metadata"]["uid"]
    assert renewed["spec"]["renewTime"] > made["spec"]["renewTime"]


def test_a_server_that_starts_again_takes_it_over(cluster: Cluster) -> None:
    """Its name is that of the host, its holder another one."""
    holders = []
    for _ in range(2):
        lease_of(cluster).step()
        holders.append(leases(cluster)[NAME]["spec"]["holderIdentity"])
    assert len(set(holders)) == 2


@pytest.mark.parametrize(("age", "stays"), [(LEASE_SECONDS - 5, True), (LEASE_SECONDS + 5, False), (None, False)])
def test_those_of_servers_that_are_gone_end(cluster: Cluster, age: float | None, stays: bool) -> None:
    """Once they were not renewed for an hour, or do not say when they were; leases of others are left alone."""
    spec: dict[str, Any] = {"holderIdentity": "h", "leaseDurationSeconds": LEASE_SECONDS}
    if age is not None:
        spec["renewTime"] = micro_time(cluster.clock.now() - age)
    for name, labels in (("gone", {"apiserver.kubernetes.io/identity": "kube-apiserver"}), ("other", {})):
        head = {"name": name, "namespace": "kube-system", "labels": labels}
        cluster.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": head, "spec": spec})
    lease_of(cluster).step()
    assert ("gone" in leases(cluster)) is stays
    assert {"other", NAME} <= leases(cluster).keys()


def test_it_goes_when_the_server_stops(cluster: Cluster) -> None:
    """Beside the controllers, which start and stop with it."""
    idle = Idle()
    lease = IdentityLease(idle, cluster.perform, cluster.clock, "vm")
    lease.start()
    lease.stop()
    assert idle.told == ["start", "stop"]
    assert NAME not in leases(cluster)


@pytest.mark.parametrize(("release", "has_one"), [("1.25", False), ("1.26", True), ("1.36", True)])
def test_releases_with_a_lease(release: str, has_one: bool) -> None:
    """Since 1.26, unless its gate is closed."""
    assert isinstance(Cluster(release)._control_plane.identified, IdentityLease) is has_one
