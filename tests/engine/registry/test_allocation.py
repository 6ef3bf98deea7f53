"""Addresses and ports of Services: no two the same, free again when a Service goes, forked like everything else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.registry.reservation import BitmapAllocator, NotAvailable
from simkit.meta.clock import NameSource
from simkit.meta.errors import StatusError
from simkit.meta.message import Request


def service(name: str, **spec: Any) -> dict[str, Any]:
    ports = spec.pop("ports", [{"port": 80}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports, **spec}}


def small(text: str = "10.0.0.0/29", **more: Any) -> Cluster:
    return Cluster(options=Options(seed=1, service_cluster_ip_range=text, **more))


def address(obj: Any) -> str:
    return str(obj["spec"]["clusterIP"])


def test_addresses_are_of_the_range_and_differ() -> None:
    """Every Service gets another address of the range, the server's own the first one."""
    cluster = Cluster(seed=1)
    found = {address(cluster.create(service(f"s{index}"))) for index in range(50)}
    assert len(found) == 50
    assert all(ip_address(one) in ip_network("10.96.0.0/16") for one in found)
    assert address(cluster.get("svc", "kubernetes")) == "10.96.0.1"


def test_a_range_ends_and_what_is_deleted_is_free_again() -> None:
    """A range of six addresses serves six Services; a seventh waits until one goes."""
    cluster = small()
    made = [cluster.create(service(f"s{index}")) for index in range(5)]
    with pytest.raises(StatusError, match="failed to allocate a serviceIP: range is full"):
        cluster.create(service("more"))
    cluster.delete("svc", "s3")
    assert address(cluster.create(service("more"))) == address(made[3])


def test_requested_addresses() -> None:
    """An address that is free is given; one that is taken or elsewhere is refused in kube-apiserver's words."""
    cluster = Cluster(seed=1)
    assert address(cluster.create(service("a", clusterIP="10.96.0.77"))) == "10.96.0.77"
    with pytest.raises(StatusError, match=r"failed to allocate IP 10\.96\.0\.77: provided IP is already allocated"):
        cluster.create(service("b", clusterIP="10.96.0.77"))
    text = r"the provided IP \(192.0.2.1\) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
    with pytest.raises(StatusError, match=text):
        cluster.create(service("b", clusterIP="192.0.2.1"))


def test_a_refused_write_takes_nothing() -> None:
    """Numbers that a refused write had reserved are free afterwards."""
    cluster = small()
    for _ in range(20):
        with pytest.raises(StatusError, match="Unsupported value"):
            cluster.create(service("bad", sessionAffinity="Odd"))
    assert [cluster.create(service(f"s{index}")) for index in range(5)]


def test_a_dry_run_takes_nothing() -> None:
    """A dry run shows the start of the addresses and a port above all, and leaves everything free."""
    cluster = small()
    for _ in range(20):
        path = "/api/v1/namespaces/default/services?dryRun=All"
        response = cluster.perform(Request.of("POST", path, service("dry", type="NodePort")))
        assert response.status == 201
        assert address(response.object) == "10.0.0.0"
        assert response.object["spec"]["ports"][0]["nodePort"] == 32769
    assert [cluster.create(service(f"s{index}")) for index in range(5)]


def test_ports_of_a_dry_run() -> None:
    """A dry run counts up from the last port that it has shown, and refuses those that somebody has.

    So answered by kube-apiserver 1.30 and 1.36.
    """
    cluster = small()
    cluster.create(service("taken", type="NodePort", ports=[{"port": 1, "nodePort": 30001}]))

    def ports(*wanted: int) -> list[int]:
        asked = [{"name": f"p{index}", "port": index + 1, "nodePort": port} for index, port in enumerate(wanted)]
        path = "/api/v1/namespaces/default/services?dryRun=All"
        response = cluster.perform(Request.of("POST", path, service("dry", type="NodePort", ports=asked)))
        return [port["nodePort"] for port in response.object["spec"]["ports"]] if response.succeeded else []

    assert ports(0, 0, 0) == [32769, 32770, 32771]
    assert ports(30000, 0) == [30000, 30001]
    assert ports(30001) == []
    assert ports(30000, 0, 30001) == []


def test_many_at_once() -> None:
    """Writers in several threads never get the same address or port."""
    cluster = Cluster(seed=1)

    def create(index: int) -> tuple[str, int]:
        obj = cluster.create(service(f"s{index}", type="NodePort"))
        return address(obj), obj["spec"]["ports"][0]["nodePort"]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(create, range(200)))
    assert len({one for one, _ in found}) == 200
    assert len({port for _, port in found}) == 200


def test_forks_go_their_own_ways() -> None:
    """A fork knows what was given out before, and gives out the rest without its origin's knowing."""
    cluster = small()
    cluster.create(service("a"))
    fork = cluster.fork()
    for index in range(4):
        fork.create(service(f"f{index}"))
    with pytest.raises(StatusError, match="range is full"):
        fork.create(service("more"))
    assert [cluster.create(service(f"s{index}")) for index in range(4)]


def test_a_loaded_cluster_knows_what_its_dump_gave_out() -> None:
    """The addresses of a dump's Services are taken."""
    dump = {**service("old", clusterIP="10.96.0.9", clusterIPs=["10.96.0.9"], type="ClusterIP")}
    dump["metadata"] = {"name": "old", "namespace": "default"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}, "status": {"phase": "Active"}}
    cluster = Cluster.load([space, dump])
    with pytest.raises(StatusError, match="already allocated"):
        cluster.create(service("new", clusterIP="10.96.0.9"))
    cluster.delete("svc", "old")
    assert address(cluster.create(service("new", clusterIP="10.96.0.9"))) == "10.96.0.9"


def test_types_come_and_go() -> None:
    """Addresses and ports are given, kept and given back as the type changes."""
    cluster = Cluster(seed=1)
    first = cluster.create(service("a"))

    def become(**spec: Any) -> dict[str, Any]:
        path = "/api/v1/namespaces/default/services/a"
        media = "application/merge-patch+json"
        response = cluster.perform(Request.of("PATCH", path, {"spec": spec}, content_type=media))
        assert response.succeeded, response.object
        found: dict[str, Any] = response.object["spec"]
        return found

    on_nodes = become(type="NodePort")
    port = on_nodes["ports"][0]["nodePort"]
    assert on_nodes["clusterIP"] == address(first)
    assert 30000 <= port <= 32767
    balanced = become(type="LoadBalancer", externalTrafficPolicy="Local")
    assert balanced["ports"][0]["nodePort"] == port
    assert balanced["healthCheckNodePort"] not in (0, port)
    plain = become(type="ClusterIP")
    assert "nodePort" not in plain["ports"][0]
    assert "healthCheckNodePort" not in plain
    outside = become(type="ExternalName", externalName="db.example.com")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"} & outside.keys()
    assert address(cluster.create(service("b", clusterIP=address(first)))) == address(first)
    other = cluster.create(service("c", type="NodePort", ports=[{"port": 1, "nodePort": port}]))
    assert other["spec"]["ports"][0]["nodePort"] == port


def test_one_port_of_a_service_has_one_number_for_all_protocols() -> None:
    """TCP and UDP of the same port share a number on the nodes; another Service cannot have it."""
    cluster = Cluster(seed=1)
    ports = [{"port": 53, "name": "t"}, {"port": 53, "name": "u", "protocol": "UDP"}, {"port": 54, "name": "x"}]
    found = [port["nodePort"] for port in cluster.create(service("dns", type="NodePort", ports=ports))["spec"]["ports"]]
    assert found[0] == found[1] != found[2]
    with pytest.raises(StatusError, match="provided port is already allocated"):
        cluster.create(service("b", type="NodePort", ports=[{"port": 1, "nodePort": found[0]}]))


def test_two_families() -> None:
    """A cluster of two families gives an address of each where that is wanted, and takes the second back."""
    cluster = small("10.0.0.0/24,fd00::/112")
    single = cluster.create(service("a"))
    assert single["spec"]["ipFamilies"] == ["IPv4"]
    both = cluster.create(service("b", ipFamilyPolicy="PreferDualStack"))["spec"]
    assert both["ipFamilies"] == ["IPv4", "IPv6"]
    assert len(both["clusterIPs"]) == 2
    assert ip_address(both["clusterIPs"][1]) in ip_network("fd00::/112")
    six = cluster.create(service("c", ipFamilies=["IPv6"]))["spec"]
    assert ip_address(six["clusterIP"]).version == 6


NUMBERS = st.lists(
    st.tuples(st.sampled_from(["reserve", "any", "use", "free", "release"]), st.integers(0, 9)), max_size=40
)


@settings(max_examples=200)
@given(NUMBERS, st.integers(0, 8))
def test_a_pool_is_two_sets(steps: list[tuple[str, int]], static: int) -> None:
    """A pool behaves as a set of what is used and one of what is reserved."""
    pool, name_source = BitmapAllocator(0, 7, static=static), NameSource(1)
    used: set[int] = set()
    pending: set[int] = set()
    for step, number in steps:
        if step == "reserve":
            if number > 7 or number in used | pending:
                with pytest.raises(NotAvailable) as why:
                    pool.reserve(number)
                assert why.value.outside == (number > 7)
            else:
                pool.reserve(number)
                pending.add(number)
        elif step == "any" and len(used | pending) == 8:
            with pytest.raises(NotAvailable):
                pool.reserve_any(name_source)
        elif step == "any":
            found = pool.reserve_any(name_source)
            assert found in set(range(8)) - used - pending
            pending.add(found)
        elif step == "release" and number <= 7:
            pool.release(number)
            pending.discard(number)
        elif step == "use":
            pool.use(number)
            used |= {number} & set(range(8))
        elif step == "free":
            pool.free(number)
            used.discard(number)
    assert pool.used == sum(1 << number for number in used)
