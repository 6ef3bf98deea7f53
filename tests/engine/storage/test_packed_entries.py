"""Events are kept as the bytes of their JSON."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.storage.entries import PACKED, RECENT, PackedEntry
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key
from simkit.seams import ABSENT


def test_events_are_kept_as_bytes() -> None:
    """They read as they were written, in each way in which a store is read, and its forks too."""
    for resource in PACKED:
        store = MemoryStore(SimulatedClock())
        key = Key(resource, "default", "e")
        wanted = {"metadata": {"name": "e"}, "count": 1, "message": "ü\u2028", "deep": {"a": [1.5, None, True, 2**63]}}
        first = store.put(key, wanted, expect=ABSENT)
        assert isinstance(first, PackedEntry)
        assert first.object == {**wanted, "metadata": {"name": "e", "resourceVersion": "2"}}
        assert first.size == len(first.json)
        second = store.put(key, {**first.object, "count": 2}, expect=first.revision)
        gone = store.fork().delete(key, expect=second.revision)
        assert (gone.entry.object["count"], gone.entry.object["metadata"]["resourceVersion"]) == (2, "4")
        assert [entry.object["count"] for entry in store.scan(resource)] == [2]
        assert [change.entry.object["count"] for change in store.changes(after=first.revision)] == [2]


def test_bytes_for_clients_are_kept_for_the_latest_events_alone() -> None:
    """Watches send the same bytes to all their clients; a list of all Events does not double what they take."""
    store = MemoryStore(SimulatedClock())
    resource = min(PACKED)
    entries = [
        store.put(Key(resource, "default", f"e-{number}"), {"metadata": {"name": f"e-{number}"}}, expect=ABSENT)
        for number in range(RECENT + 1)
    ]
    for entry in entries:
        entry.encodings["v1"] = b"{}"
    assert entries[-1].encodings == {"v1": b"{}"}
    assert entries[0].encodings == {}


def test_an_event_of_a_controller_takes_little() -> None:
    """What Events have in common is not kept for each of them; texts that have nothing in common are kept whole."""
    cluster = Cluster(options=Options(seed=1))
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    cluster.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    cluster.settle()
    entries = cluster.engine.store.scan(GroupResource("", "events"))
    assert len(entries) == 3
    for entry in entries:
        assert isinstance(entry, PackedEntry)
        assert len(entry._packed) < entry.size / 3
    strange = bytes(range(32, 127)).decode() * 10_000
    value = {"metadata": {"name": "strange"}, "message": strange}
    entry = MemoryStore(SimulatedClock()).put(Key(min(PACKED), "default", "strange"), value, expect=ABSENT)
    assert entry.object["message"] == strange
