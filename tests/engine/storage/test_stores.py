"""The suite of the Store protocol over each implementation in memory."""

from __future__ import annotations

from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.seams import Store
from tests.protocols.sparse_store import SparseStore
from tests.protocols.store_suite import StoreSuite, key, value


class TestMemory(StoreSuite):
    """The default store."""

    def make(self, clock: SimulatedClock) -> Store:
        return MemoryStore(clock)

    def test_revisions_are_contiguous(self, store: Store) -> None:
        """This store counts its revisions one by one, as etcd does; the protocol does not ask for that."""
        first = store.put(key("a"), value("a"), expect=None)
        second = store.put(key("b"), value("b"), expect=None)
        assert second.revision == first.revision + 1 == store.revision


class TestSparse(StoreSuite):
    """A store whose revisions have gaps: nothing that uses a store may count on the next one."""

    def make(self, clock: SimulatedClock) -> Store:
        return SparseStore(MemoryStore(clock))


class TestForkOfMemory(StoreSuite):
    """A fork of the default store, which shares its states."""

    def make(self, clock: SimulatedClock) -> Store:
        return MemoryStore(clock).fork()
