"""The suite of the Store protocol over etcd, and what is special about a store that several servers share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from simkit.engine.storage.etcd import EtcdStore, open_store
from simkit.engine.storage.etcd.follower import Follower, reader
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock, SystemClock
from simkit.meta.errors import StatusError
from simkit.schema.catalogue import Catalogue
from simkit.seams import ABSENT, Change, Stale, Store
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed
from tests.protocols.store_suite import MAPS, PODS, StoreSuite, key, names, value

pytestmark = [pytest.mark.skipif(not installed(), reason=MISSING), pytest.mark.slow]

CATALOGUE = Catalogue.for_release("1.30", everything=True)
BUILT_IN = [each.storage for each in CATALOGUE.stored()]
PLAIN = CATALOGUE.without(lambda resource: True)
"""No kind is built in: objects are stored as they come."""


def opened(
    etcd: EtcdServer, prefix: str, clock: SimulatedClock | None = None, catalogue: Catalogue = PLAIN
) -> EtcdStore:
    """A server's store under a prefix of its own."""
    endpoints = EtcdEndpoints([etcd.url], prefix)
    return open_store(endpoints, Layout(endpoints.root, BUILT_IN), Values(catalogue), clock or SystemClock(), {})


class TestEtcd(StoreSuite):
    """A store in etcd, each test under a prefix of its own."""

    prefixes: ClassVar = count()
    made: list[EtcdStore]

    @pytest.fixture(autouse=True)
    def _server(self, etcd: EtcdServer) -> Iterator[None]:
        self.etcd, self.made = etcd, []
        yield
        for store in self.made:
            store.close()

    def make(self, clock: SimulatedClock) -> Store:
        store = opened(self.etcd, f"/suite{next(self.prefixes)}", clock)
        self.made.append(store)
        return store

    def test_seed(self, store: Store) -> None:
        """Seeded objects are there under revisions that etcd gives; nothing is announced."""
        heard: list[Change] = []
        store.listen(heard.extend)
        kept = {"metadata": {"name": "a", "resourceVersion": "90000"}}
        store.seed([(key("c"), value("c")), (key("a"), kept), (key("b", resource=PODS), value("b"))])
        assert (names(store.scan(MAPS)), store.count(MAPS), store.count(PODS)) == (["a", "c"], 2, 1)
        entry = store.get(key("a"))
        assert entry is not None
        assert entry.object["metadata"]["resourceVersion"] == str(entry.revision) == str(store.revision)
        assert heard == []


class TestShared:
    """Two servers on one etcd."""

    @pytest.fixture
    def two(self, etcd: EtcdServer, request: pytest.FixtureRequest) -> Iterator[tuple[EtcdStore, EtcdStore]]:
        prefix = f"/{request.node.name}"
        one, other = opened(etcd, prefix), opened(etcd, prefix)
        yield one, other
        one.close()
        other.close()

    def test_a_write_is_seen_after_a_refresh(self, two: tuple[EtcdStore, EtcdStore]) -> None:
        """A consistent read sees what another server has written before."""
        one, other = two
        for step in range(50):
            written = one.put(key("a"), value("a", step=str(step)), expect=None)
            other.refresh()
            found = other.get(key("a"))
            assert found is not None
            assert (found.revision, found.object) == (written.revision, written.object)

    def test_a_refresh_does_not_wait_for_a_write(self, two: tuple[EtcdStore, EtcdStore], etcd: EtcdServer) -> None:
        """Revisions that others have made outside the prefix are passed by a write that is no object."""
        one, _ = two
        outside = opened(etcd, "/outside")
        outside.put(key("a"), value("a"), expect=None)
        outside.close()
        one.refresh()
        assert one.revision >= outside.revision

    def test_one_of_two_creations_wins(self, two: tuple[EtcdStore, EtcdStore]) -> None:
        """The loser is told what is there, although it had not heard of it."""
        one, other = two
        written = one.put(key("a"), value("a", by="one"), expect=ABSENT)
        with pytest.raises(Stale) as raised:
            other.put(key("a"), value("a", by="other"), expect=ABSENT)
        assert raised.value.current is not None
        assert raised.value.current.object == written.object

    def test_watchers_hear_of_both(self, two: tuple[EtcdStore, EtcdStore]) -> None:
        """Both servers tell all changes in one order, under the same revisions."""
        one, other = two
        start = one.revision
        for step in range(10):
            (one, other)[step % 2].put(key(str(step)), value(str(step)), expect=None)
        one.delete(key("3"), expect=None)
        one.refresh()
        other.refresh()
        first, second = ([(c.type, c.entry.key, c.revision) for c in store.changes(after=start)] for store in two)
        assert first == second
        assert len(first) == 11


def test_acknowledged_writes_survive_a_killed_etcd(tmp_path: Path) -> None:
    """A server goes on after etcd was killed and started again; requests meanwhile fail, and nothing is lost."""
    etcd = EtcdServer(tmp_path / "data")
    etcd.start()
    try:
        store = opened(etcd, "/registry")
        for step in range(20):
            store.put(key(str(step)), value(str(step)), expect=ABSENT)
        etcd.kill()
        with pytest.raises(StatusError):
            store.put(key("lost"), value("lost"), expect=ABSENT)
        with pytest.raises(StatusError):
            store.refresh()
        etcd.start()
        store.refresh()
        assert store.count(MAPS) == 20
        store.put(key("after"), value("after"), expect=ABSENT)
        again = opened(etcd, "/registry")
        assert names(again.scan(MAPS)) == names(store.scan(MAPS))
        again.close()
        store.close()
    finally:
        etcd.kill()


def test_changes_that_etcd_forgot_are_found_by_listing(tmp_path: Path) -> None:
    """A server that was cut off while etcd was compacted finds what changed, and tells its listeners."""
    etcd = EtcdServer(tmp_path / "data")
    etcd.start()
    try:
        other = opened(etcd, "/registry")
        for name in "abc":
            other.put(key(name), value(name), expect=None)
        client, seen = EtcdClient(EtcdEndpoints([etcd.url])), MemoryStore(SystemClock())
        layout, values = Layout("/registry/", BUILT_IN), Values(PLAIN)
        follower = Follower(client, seen, layout.root, reader(layout, values, {}))
        follower.begin()
        heard: list[tuple[str, str]] = []
        seen.listen(lambda changes: heard.extend((change.type, change.entry.key.name) for change in changes))
        other.put(key("a"), value("a", x="2"), expect=None)
        other.delete(key("b"), expect=None)
        last = other.put(key("d"), value("d"), expect=None)
        client.compact(last.revision)
        follower.start()
        follower.wait_for(last.revision, 10.0, followed=True)
        assert names(seen.scan(MAPS)) == ["a", "c", "d"]
        assert sorted(heard) == [("ADDED", "d"), ("DELETED", "b"), ("MODIFIED", "a")]
        assert seen.oldest == last.revision
        follower.stop()
        client.close()
        other.close()
    finally:
        etcd.kill()
