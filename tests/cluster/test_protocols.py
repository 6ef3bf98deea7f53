"""The suites of the Snapshot and Sandbox protocols over what a cluster hands to analyses."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import simkit
from simkit.cluster.store_snapshot import StoreSnapshot
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.seams import Store
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.testing.suites.sandboxes import SandboxSuite
from simkit.testing.suites.snapshots import MAPS, NODES, SnapshotSuite, config


def _stored(objects: Sequence[Object]) -> Store:
    store = MemoryStore(SimulatedClock())
    for obj in objects:
        resource = MAPS if obj["kind"] == "ConfigMap" else NODES
        store.put(Key(resource, namespace_of(obj), name_of(obj)), obj, expect=None)
    return store


class TestStore(SnapshotSuite):
    """A store that stands still."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return StoreSnapshot(_stored(objects), Catalogue.for_release("1.30"), captured)


class TestStoreThatGoesOn(SnapshotSuite):
    """A store that is written to after the snapshot was taken."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        store = _stored(objects)
        snapshot = StoreSnapshot(store, Catalogue.for_release("1.30"), captured)
        store.put(Key(MAPS, "shop", "late"), config("shop", "late"), expect=None)
        store.delete(Key(NODES, "", "a"), expect=None)
        return snapshot


class TestFork(SnapshotSuite):
    """A fork of a store."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return StoreSnapshot(_stored(objects).fork(), Catalogue.for_release("1.30"), captured)


class TestLoadedCluster(SnapshotSuite):
    """A cluster whose store was seeded with a dump."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return simkit.load(list(objects), captured=captured).snapshot()


class TestCluster(SandboxSuite):
    """A fresh cluster."""

    def make(self) -> Sandbox:
        return simkit.Cluster(seed=1)


class TestForkOfCluster(SandboxSuite):
    """A fork of a fresh cluster."""

    def make(self) -> Sandbox:
        return simkit.Cluster(seed=1).fork()
