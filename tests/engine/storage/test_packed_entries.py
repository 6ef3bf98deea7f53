"""Events are kept as the bytes of their JSON."""

from __future__ import annotations

from simkit.engine.seams import ABSENT
from simkit.engine.storage.memory import MemoryStore
from simkit.engine.storage.packed_entry import PACKED, PackedEntry
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import Key


def test_events_are_kept_as_bytes() -> None:
    """They read as they were written, in each way in which a store is read, and its forks too."""
    for resource in PACKED:
        store = MemoryStore(SimulatedClock())
        key = Key(resource, "default", "e")
        wanted = {"metadata": {"name": "e"}, "count": 1, "message": "ü\u2028", "deep": {"a": [1.5, None, True, 2**63]}}
        first = store.put(key, wanted, expect=ABSENT)
        assert isinstance(first, PackedEntry)
        assert first.object == {**wanted, "metadata": {"name": "e", "resourceVersion": "2"}}
        assert first.size == len(first._json)
        second = store.put(key, {**first.object, "count": 2}, expect=first.revision)
        gone = store.fork().delete(key, expect=second.revision)
        assert (gone.entry.object["count"], gone.entry.object["metadata"]["resourceVersion"]) == (2, "4")
        assert [entry.object["count"] for entry in store.scan(resource)] == [2]
        assert [change.entry.object["count"] for change in store.changes(after=first.revision)] == [2]
