"""Stores and servers over an etcd of three members: what clients are told, and keep, while members fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from simkit.engine.storage.etcd import EtcdStore, open_store
from simkit.meta.clock import SystemClock
from simkit.meta.errors import StatusError
from simkit.seams import ABSENT
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed, members
from tests.engine.storage.histories import check, record
from tests.engine.storage.served_over_etcd import MAPS as CONFIG_MAPS
from tests.engine.storage.served_over_etcd import Administrator
from tests.engine.storage.served_over_etcd import cluster as served_cluster
from tests.engine.storage.test_etcd import BUILT_IN, PLAIN
from tests.protocols.store_suite import MAPS, key, value

pytestmark = [pytest.mark.skipif(not installed(), reason=MISSING), pytest.mark.slow]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[EtcdServer]]:
    servers = members(tmp_path_factory.mktemp("etcd"))
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.wait()
    yield servers
    for server in servers:
        server.kill()


def opened(servers: list[EtcdServer], prefix: str) -> EtcdStore:
    """A server's store, which knows all members."""
    endpoints = EtcdEndpoints([server.url for server in servers], prefix)
    return open_store(endpoints, Layout(endpoints.root, BUILT_IN), Values(PLAIN), SystemClock(), {})


@pytest.mark.parametrize("how", ["killed", "cut off"])
def test_histories_stay_linear_while_members_fail(three: list[EtcdServer], how: str) -> None:
    """One member after the other fails under load, the leader among them: nothing acknowledged is lost or seen twice."""
    stores = [opened(three, f"/{how[:3]}") for _ in range(2)]
    start = stores[0].revision

    def faults() -> None:
        for server in three:
            server.kill() if how == "killed" else server.pause()
            time.sleep(0.7)
            server.start(wait=False) if how == "killed" else server.go_on()
            server.wait()

    done = record(stores, steps=150, faults=faults)
    check(stores[0], start, done)
    check(stores[1], start, done)
    assert sum(each.kind == "write" for each in done) > 100
    for store in stores:
        store.close()


def counted(client: Administrator, name: str, end: threading.Event) -> tuple[list[str], list[str]]:
    """The numbers that a client was told it had stored in a counter, and the names of objects that it had made."""
    stored: list[str] = []
    made: list[str] = []
    while not end.is_set():
        held = client.ask("GET", f"{CONFIG_MAPS}/counter")
        if held.status != 200:
            continue
        counter = held.object
        counter["data"]["count"] = str(int(counter["data"]["count"]) + 1)
        if client.ask("PUT", f"{CONFIG_MAPS}/counter", orjson.dumps(counter)).status == 200:
            stored.append(counter["data"]["count"])
        one = f"{name}-{len(made)}-{len(stored)}"
        body = orjson.dumps({"metadata": {"name": one}})
        if client.ask("POST", CONFIG_MAPS, body).status == 201:
            made.append(one)
    return stored, made


def test_clients_of_two_servers_lose_nothing_while_members_fail(three: list[EtcdServer], tmp_path: Path) -> None:
    """Over HTTP, where requests are paused in an event loop: no number is given out twice, and no object is lost."""
    clusters = [served_cluster(",".join(each.url for each in three), "/clients") for _ in range(2)]
    servers = [each.serve(kubeconfig=tmp_path / str(number)) for number, each in enumerate(clusters)]
    clients = [Administrator(server.url) for server in servers for _ in range(3)]
    clients[0].ask("POST", CONFIG_MAPS, orjson.dumps({"metadata": {"name": "counter"}, "data": {"count": "0"}}))
    end = threading.Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(counted, client, f"made-{number}", end) for number, client in enumerate(clients)]
        for number, member in enumerate((*three, *three)):
            time.sleep(0.5)
            member.pause() if number % 2 else member.kill()
            time.sleep(0.7)
            member.go_on() if number % 2 else member.start(wait=False)
            member.wait()
        end.set()
        found = [each.result() for each in running]
    stored = [number for numbers, _ in found for number in numbers]
    last = int(clients[-1].ask("GET", f"{CONFIG_MAPS}/counter").object["data"]["count"])
    assert len(stored) == len(set(stored))
    assert len(stored) <= last
    there = {each["metadata"]["name"] for each in clients[0].ask("GET", CONFIG_MAPS).object["items"]}
    made = [name for _, names in found for name in names]
    assert set(made) <= there
    assert len(made) > 50
    for client in clients:
        client.close()
    for server in servers:
        server.stop()
    for each in clusters:
        each.engine.store.close()


def test_without_a_majority_writes_fail_and_reads_say_so(three: list[EtcdServer]) -> None:
    """Two of three members are lost: consistent reads and writes are refused; with one of them back all goes on."""
    store = opened(three, "/minority")
    store.put(key("a"), value("a"), expect=ABSENT)
    for server in three[:2]:
        server.kill()
    with pytest.raises(StatusError) as raised:
        store.put(key("b"), value("b"), expect=ABSENT)
    assert raised.value.code == 500
    with pytest.raises(StatusError):
        store.refresh()
    assert store.count(MAPS) == 1
    for server in three[:2]:
        server.start(wait=False)
    for server in three[:2]:
        server.wait()
    store.refresh()
    store.put(key("c"), value("c"), expect=ABSENT)
    assert store.get(key("c")) is not None
    store.close()


def test_a_full_quota_refuses_writes_and_keeps_reads(tmp_path: Path) -> None:
    """etcd whose space is used up says so to the client that writes; what is stored can still be read."""
    server = EtcdServer(tmp_path / "data", "--quota-backend-bytes", str(2**20))
    server.start()
    store = opened([server], "/quota")
    kept, refused = 0, ""
    while not refused:
        try:
            store.put(key(str(kept)), value(str(kept), x="x" * 50_000), expect=ABSENT)
            kept += 1
        except StatusError as error:
            refused = error.message
    assert "database space exceeded" in refused
    store.refresh()
    assert 0 < kept <= store.count(MAPS) <= kept + 1  # etcd applies the write that crosses the quota, and refuses it
    again = opened([server], "/quota")
    assert again.count(MAPS) == store.count(MAPS)
    for each in (store, again):
        each.close()
    server.kill()
