"""Stores over an etcd of three members: what clients are told, and keep, while members fail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simkit.engine.seams import ABSENT
from simkit.engine.storage.etcd import EtcdStore, open_store
from simkit.meta.clock import SystemClock
from simkit.meta.errors import StatusError
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed, members
from tests.engine.storage.histories import check, record
from tests.engine.storage.test_etcd import BUILT_IN, PLAIN
from tests.protocols.store_suite import MAPS, key, value

pytestmark = pytest.mark.skipif(not installed(), reason=MISSING)


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
