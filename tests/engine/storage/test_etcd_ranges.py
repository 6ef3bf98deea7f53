"""Addresses and ports of Services, given out by several servers over one etcd."""

from __future__ import annotations

import base64
import threading
from collections import Counter
from random import Random

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.storage.etcd import EtcdStore
from simkit.engine.storage.etcd.range_allocations import RangeAllocations
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from simkit.schema.binary import decode
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed

pytestmark = pytest.mark.skipif(not installed(), reason=MISSING)
RANGE = "10.0.0.0/27"
ADDRESSES = 30


def served(etcd: EtcdServer, prefix: str, cidr: str = RANGE) -> simkit.Cluster:
    """A server over an etcd with few addresses."""
    options = Options(storage=f"etcd:{etcd.url}", etcd_prefix=prefix, service_cluster_ip_range=cidr)
    return simkit.Cluster(options=options)


def service(name: str, **spec: object) -> dict[str, object]:
    """A Service with one port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def ranges(cluster: simkit.Cluster) -> RangeAllocations:
    """The ranges that a server shares with others."""
    store = cluster._control_plane.store
    assert isinstance(store, EtcdStore)
    return store.number_ranges


def addresses(cluster: simkit.Cluster) -> list[str]:
    """The addresses of all Services."""
    return [each["spec"]["clusterIP"] for each in cluster.list("services")]


def bits(etcd: EtcdServer, prefix: str, name: str) -> int:
    """The bitmap of a range as kube-apiserver would read it."""
    client = EtcdClient(EtcdEndpoints([etcd.url]))
    stored = decode(client.read(f"{prefix}/ranges/{name}".encode()).kvs[0].value)
    client.close()
    assert stored["kind"] == "RangeAllocation"
    return int.from_bytes(base64.b64decode(stored["data"]), "big")


def expected(cluster: simkit.Cluster) -> int:
    """The bitmap that the Services need: the first address of the range is bit 0."""
    return sum(1 << (int(text.rpartition(".")[2]) - 1) for text in addresses(cluster))


@pytest.mark.slow
def test_no_address_is_given_twice(etcd: EtcdServer) -> None:
    """Two servers create and delete Services at once; at each moment all addresses and ports differ."""
    clusters = [served(etcd, "/twice") for _ in range(2)]
    full: list[str] = []

    def client(index: int) -> None:
        random, cluster, made = Random(index), clusters[index % 2], list[str]()
        for step in range(25):
            if made and random.random() < 0.4:
                cluster.delete("service", made.pop(random.randrange(len(made))))
                continue
            try:
                cluster.create(service(f"s{index}-{step}", type="NodePort"))
                made.append(f"s{index}-{step}")
            except StatusError as error:
                full.append(error.message)

    threads = [threading.Thread(target=client, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    services = clusters[0].list("services")
    ports = [port["nodePort"] for each in services for port in each["spec"]["ports"] if "nodePort" in port]
    counted = Counter(addresses(clusters[0])) + Counter(ports)
    assert [each for each, count in counted.items() if count > 1] == []
    assert set(full) <= {"Internal error occurred: failed to allocate a serviceIP: range is full"}
    assert bits(etcd, "/twice", "serviceips") == expected(clusters[0])
    assert bits(etcd, "/twice", "servicenodeports").bit_count() == len(ports)
    for cluster in clusters:
        cluster.close()


def test_an_address_that_another_server_holds_is_refused(etcd: EtcdServer) -> None:
    """It is refused while a write of the other server is under way, and free again when its Service is gone."""
    one, other = served(etcd, "/held"), served(etcd, "/held")
    assert ranges(one).claim("serviceips", RANGE, 8)
    with pytest.raises(StatusError, match=r"failed to allocate IP 10\.0\.0\.9: provided IP is already allocated"):
        other.create(service("a", clusterIP="10.0.0.9"))
    ranges(one).release("serviceips", RANGE, 8)
    other.create(service("a", clusterIP="10.0.0.9"))
    one.delete("service", "a")
    other.create(service("b", clusterIP="10.0.0.9"))
    with pytest.raises(StatusError, match="already allocated"):
        one.create(service("c", clusterIP="10.0.0.9"))
    for cluster in (one, other):
        cluster.close()


def test_addresses_that_an_update_drops_are_free(etcd: EtcdServer) -> None:
    """A Service that becomes an ExternalName has no address any more, for no server."""
    one, other = served(etcd, "/dropped"), served(etcd, "/dropped")
    one.create(service("a", clusterIP="10.0.0.9"))
    external = {"type": "ExternalName", "externalName": "example.com"}
    path = "/api/v1/namespaces/default/services/a"
    body = {"spec": {**external, "clusterIP": None, "clusterIPs": None}}
    patched = one.perform(Request.of("PATCH", path, body, content_type="application/merge-patch+json"))
    assert patched.status == 200
    other.create(service("b", clusterIP="10.0.0.9"))
    assert other.get("service", "b")["spec"]["clusterIP"] == "10.0.0.9"
    for cluster in (one, other):
        cluster.close()


def test_a_refused_service_holds_nothing(etcd: EtcdServer) -> None:
    """Numbers taken for a write that validation refused are given back."""
    one = served(etcd, "/refused")
    before = bits(etcd, "/refused", "serviceips")
    with pytest.raises(StatusError, match="Unsupported value"):
        one.create(service("a", sessionAffinity="Often"))
    assert bits(etcd, "/refused", "serviceips") == before
    one.close()


def test_repair_frees_what_no_service_has_at_the_third_look(etcd: EtcdServer) -> None:
    """A server that stopped between its claim and its write blocks an address for some minutes, not for ever."""
    one = served(etcd, "/repaired")
    wanted = expected(one)
    assert ranges(one).claim("serviceips", RANGE, 20)
    found = []
    for _ in range(3):
        one._control_plane.allocation.repair()
        found.append(bits(etcd, "/repaired", "serviceips"))
    assert found == [wanted | 1 << 20, wanted | 1 << 20, wanted]
    ranges(one).release("serviceips", RANGE, 0)
    one._control_plane.allocation.repair()
    assert bits(etcd, "/repaired", "serviceips") == wanted
    one.close()


def test_a_fork_gives_out_addresses_of_its_own(etcd: EtcdServer) -> None:
    """Addresses that a fork allocates are unknown to etcd."""
    one = served(etcd, "/forked")
    before = bits(etcd, "/forked", "serviceips")
    fork = one.fork()
    fork.create(service("a"))
    assert bits(etcd, "/forked", "serviceips") == before
    one.close()
