"""IPAddress objects that a Service lacks, and those of no Service."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from simkit.meta.objects import Object

MANAGED = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io", "ipaddress.kubernetes.io/ip-family": "IPv4"}


def server(clock: SimulatedClock) -> Cluster:
    return Cluster(options=Options(release="1.34", seed=1, clock=clock))


def record(name: str, service: str, **labels: str) -> dict[str, Any]:
    parent = {"resource": "services", "namespace": "default", "name": service}
    head = {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress"}
    return {**head, "metadata": {"name": name, "labels": labels or MANAGED}, "spec": {"parentRef": parent}}


def service(name: str, address: str) -> dict[str, Any]:
    spec = {"clusterIP": address, "clusterIPs": [address], "ports": [{"port": 80}], "type": "ClusterIP"}
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid", "creationTimestamp": "2024-01-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def parents(cluster: Cluster) -> dict[str, str]:
    return {each["metadata"]["name"]: each["spec"]["parentRef"]["name"] for each in cluster.list("ipaddresses")}


def told(cluster: Cluster) -> set[str]:
    return {str(each["reason"]) for each in cluster.list("events")}


def test_nothing_is_said_of_a_new_server() -> None:
    """Its own Service has its record from the beginning."""
    cluster = server(SimulatedClock())
    cluster.settle()
    assert parents(cluster) == {"10.96.0.1": "kubernetes"}
    assert not told(cluster)


def test_a_record_that_was_deleted_comes_back() -> None:
    """With an Event about the Service."""
    cluster = server(SimulatedClock())
    cluster.create({**service("web", "10.96.0.7"), "metadata": {"name": "web", "namespace": "default"}})
    cluster.delete("ipaddresses", "10.96.0.7")
    cluster.settle()
    assert parents(cluster)["10.96.0.7"] == "web"
    assert told(cluster) == {"ClusterIPNotAllocated"}


def test_a_record_of_a_service_that_is_not_there_goes_after_a_minute() -> None:
    """Those of somebody else stay."""
    clock = SimulatedClock()
    cluster = server(clock)
    cluster.create(record("10.96.0.9", "gone"))
    cluster.create(record("10.96.0.8", "gone", other="manager"))
    clock.advance(50)
    cluster.settle()
    assert {"10.96.0.8", "10.96.0.9"} <= {*parents(cluster)}
    clock.advance(20)
    cluster.settle()
    assert set(parents(cluster)) == {"10.96.0.1", "10.96.0.8"}
    assert told(cluster) == {"IPAddressNotAllocated"}


def test_a_record_that_names_another_service_than_the_one_that_has_the_address() -> None:
    """It is made anew for the Service that is there; one of a Service with another address goes."""
    clock = SimulatedClock()
    cluster = server(clock)
    cluster.create({**service("web", "10.96.0.7"), "metadata": {"name": "web", "namespace": "default"}})
    cluster.delete("ipaddresses", "10.96.0.7")
    cluster.create(record("10.96.0.7", "gone"))
    cluster.create(record("10.96.0.6", "web"))
    clock.advance(6)
    cluster.settle()
    assert parents(cluster) == {"10.96.0.1": "kubernetes", "10.96.0.7": "web"}


def test_services_of_a_dump_get_their_records() -> None:
    """If it holds all Services, ranges and records, once one of these changes. Others than in a range get an Event."""
    cidr = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"}}
    dump: list[Object] = [
        {**cidr, "spec": {"cidrs": ["10.96.0.0/16"]}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        service("web", "10.96.0.7"),
        service("far", "10.200.0.7"),
    ]
    captured = ["services", "ipaddresses", "servicecidrs", "events", "namespaces"]
    options = Options(release="1.34", seed=1, clock=SimulatedClock())
    cluster = Cluster.load(dump, options=options, captured=captured)
    cluster.settle()
    assert parents(cluster) == {}
    path, media = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes", "application/merge-patch+json"
    cluster.perform(Request.of("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type=media))
    cluster.settle()
    assert parents(cluster) == {"10.96.0.7": "web"}
    assert told(cluster) == {"ClusterIPNotAllocated", "ClusterIPOutOfRange"}
