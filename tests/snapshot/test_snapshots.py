"""The suite of the Snapshot protocol over every snapshot that reads objects from memory or from a dump."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot
from simkit.testing.suites.snapshots import MAPS, NODES, SnapshotSuite, config, node


class TestMemory(SnapshotSuite):
    """Plain objects."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return MemorySnapshot(objects, captured=captured)


class TestDump(SnapshotSuite):
    """Objects that were loaded."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return load(list(objects), captured=captured).snapshot()


class TestOverlayOverNothing(SnapshotSuite):
    """All objects are put, over a snapshot that is empty."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        return OverlaySnapshot(MemorySnapshot([], captured=captured), put=objects)


class TestOverlayHidingSome(SnapshotSuite):
    """Half of the objects are below, the others are put, and what else is below is removed."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        below = [*objects[::2], config("shop", "old"), node("old")]
        gone = [Key(MAPS, "shop", "old"), Key(NODES, "", "old")]
        return OverlaySnapshot(MemorySnapshot(below, captured=captured), put=objects[1::2], remove=gone)


class TestOverlayOverOverlay(SnapshotSuite):
    """Two overlays, of which the upper one replaces what the lower one put."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        lower = OverlaySnapshot(MemorySnapshot(objects[:2], captured=captured), put=objects[2:])
        return OverlaySnapshot(lower, put=objects[3:])
