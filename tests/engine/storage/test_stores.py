"""The promises of a store, kept by each implementation."""

from __future__ import annotations

from simkit.engine.seams import Store
from simkit.engine.storage.memory import MemoryStore
from simkit.engine.storage.overlay import overlay
from simkit.meta.clock import SimulatedClock
from tests.protocols.store_suite import MAPS, StoreSuite, key, value


class TestMemory(StoreSuite):
    """The default store."""

    def make(self, clock: SimulatedClock) -> Store:
        return MemoryStore(clock)


class TestOverlay(StoreSuite):
    """A fork of any store."""

    def make(self, clock: SimulatedClock) -> Store:
        return overlay(MemoryStore(clock), clock)


class TestOverlayOverChanges(StoreSuite):
    """A fork whose base held something else before and is changed behind its back."""

    def make(self, clock: SimulatedClock) -> Store:
        base = MemoryStore(clock)
        base.put(key("a"), value("a"), expect=None)
        base.delete(key("a"), expect=None)
        store = overlay(base, clock)
        for name in ("a", "b", "z"):
            base.put(key(name), value("of the base"), expect=None)
        base.compact(through=base.revision)
        assert base.count(MAPS) == 3
        return store


class TestOverlayOverOverlay(StoreSuite):
    """A fork of a fork, each made without the other's help."""

    def make(self, clock: SimulatedClock) -> Store:
        return overlay(overlay(MemoryStore(clock), clock), clock)


class TestOverlayHidingEverything(StoreSuite):
    """A fork that removed all that its base holds."""

    def make(self, clock: SimulatedClock) -> Store:
        base = MemoryStore(clock)
        for number in range(600):
            base.put(key(f"{number:03}", f"ns{number // 100}"), value("hidden"), expect=None)
        store = overlay(base, clock)
        for number in range(600):
            store.delete(key(f"{number:03}", f"ns{number // 100}"), expect=None)
        store.compact(through=store.revision)
        return store


class TestForkOfMemory(StoreSuite):
    """A fork of the default store, which shares its states."""

    def make(self, clock: SimulatedClock) -> Store:
        return MemoryStore(clock).fork()
