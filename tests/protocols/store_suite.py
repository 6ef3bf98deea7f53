"""The suite of the Store protocol: subclass StoreSuite, say how a store is made, and pytest runs it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.names import Revision
from simkit.seams import ABSENT, Change, Compacted, Entry, Future, Stale, Store
from tests.protocols.store_apart import MAPS, PODS, Apart, fields, key, names, rows, same, value

__all__ = ["MAPS", "PODS", "StoreSuite", "key", "names", "value"]


class StoreSuite(Apart):
    """The promises of the Store protocol, one test each."""

    def test_begins_above_zero_and_empty(self, store: Store) -> None:
        """A new store has a positive revision, which is its oldest, and holds nothing."""
        assert store.revision > 0
        assert store.oldest == store.revision
        assert store.count(MAPS) == 0
        assert list(store.scan(MAPS)) == []
        assert store.get(key("a")) is None

    def test_put_numbers_and_stamps(self, store: Store) -> None:
        """A write takes a later revision and stands under it in the object's metadata."""
        before = store.revision
        entry = store.put(key("a"), value("a", x="1"), expect=ABSENT)
        assert entry.revision == store.revision > before
        assert entry.object == {"metadata": {"name": "a", "resourceVersion": str(entry.revision)}, "data": {"x": "1"}}
        assert same(store.get(key("a")), entry)

    def test_put_leaves_the_given_object_alone(self, store: Store) -> None:
        """The revision is written into a copy of the metadata, not into what the caller gave."""
        given = value("a")
        store.put(key("a"), given, expect=None)
        assert given == value("a")

    def test_put_absent_refuses_what_exists(self, store: Store) -> None:
        """ABSENT refuses a key that is taken and says what is there; nothing is written."""
        entry = store.put(key("a"), value("a"), expect=ABSENT)
        with pytest.raises(Stale) as raised:
            store.put(key("a"), value("a", x="2"), expect=ABSENT)
        assert same(raised.value.current, entry)
        assert store.revision == entry.revision

    def test_put_compares_revisions(self, store: Store) -> None:
        """A write with an expected revision passes on that revision only."""
        first = store.put(key("a"), value("a"), expect=None)
        second = store.put(key("a"), value("a", x="2"), expect=first.revision)
        with pytest.raises(Stale) as raised:
            store.put(key("a"), value("a", x="3"), expect=first.revision)
        assert same(raised.value.current, second)

    def test_put_expecting_something_refuses_nothing(self, store: Store) -> None:
        """An expected revision of a key that is not stored is stale."""
        with pytest.raises(Stale) as raised:
            store.put(key("a"), value("a"), expect=store.revision)
        assert raised.value.current is None

    def test_delete(self, store: Store) -> None:
        """A removal has a revision of its own and gives the last state under it."""
        entry = store.put(key("a"), value("a", x="1"), expect=None)
        change = store.delete(key("a"), expect=entry.revision)
        assert change.type == "DELETED"
        assert same(change.previous, entry)
        assert change.revision == store.revision > entry.revision
        assert change.entry.object["metadata"]["resourceVersion"] == str(change.revision)
        assert change.entry.object["data"] == {"x": "1"}
        assert store.get(key("a")) is None
        assert store.count(MAPS) == 0

    def test_delete_compares(self, store: Store) -> None:
        """A removal of another revision, or of nothing, is stale."""
        with pytest.raises(Stale):
            store.delete(key("a"), expect=None)
        entry = store.put(key("a"), value("a"), expect=None)
        with pytest.raises(Stale):
            store.delete(key("a"), expect=Revision(entry.revision - 1))
        with pytest.raises(Stale):
            store.delete(key("a"), expect=ABSENT)
        assert same(store.get(key("a")), entry)

    def test_scan_in_order(self, store: Store) -> None:
        """Lists are sorted by the text namespace/name, as kube-apiserver stores it, so that a-b comes before a."""
        for namespace, name in [("b", "x"), ("a", "z"), ("a-b", "y"), ("a", "b"), ("", "c")]:
            store.put(key(name, namespace), value(name), expect=None)
        store.put(key("p", resource=PODS), value("p"), expect=None)
        assert names(store.scan(MAPS)) == ["c", "y", "b", "z", "x"]
        assert names(store.scan(MAPS, "a")) == ["b", "z"]
        assert names(store.scan(MAPS, "")) == ["c"]
        assert names(store.scan(MAPS, "none")) == []
        assert names(store.scan(PODS)) == ["p"]

    def test_scan_in_pages(self, store: Store) -> None:
        """Pages of any size, each after the last key of the one before, give the whole list; keys may be gone."""
        expected = [f"{number:03}" for number in range(700)]
        for name in reversed(expected):
            store.put(key(name, f"ns{int(name) // 100}"), value(name), expect=None)
        for size in (1, 7, 100, 699, 700, 1000):
            found: list[Entry] = []
            while page := store.scan(MAPS, after=found[-1].key if found else None, limit=size):
                assert len(page) <= size
                found += page
            assert names(found) == expected
        assert names(store.scan(MAPS, "ns3", after=key("350x", "ns3"), limit=2)) == ["351", "352"]
        assert names(store.scan(MAPS, "ns3", after=key("000", "ns0"), limit=2)) == ["300", "301"]
        assert names(store.scan(MAPS, "ns3", after=key("999", "ns9"))) == []
        assert names(store.scan(MAPS, limit=0)) == []

    def test_count(self, store: Store) -> None:
        """Counts follow creations and removals of one resource, not updates."""
        for name in "abc":
            store.put(key(name), value(name), expect=None)
        store.put(key("a"), value("a"), expect=None)
        store.put(key("a", resource=PODS), value("a"), expect=None)
        store.delete(key("b"), expect=None)
        assert (store.count(MAPS), store.count(PODS)) == (2, 1)

    def test_reads_of_the_past(self, store: Store) -> None:
        """Every revision since the beginning can be read as it was, also far back and after removals."""
        states: dict[Revision, list[tuple[str, Revision]]] = {store.revision: []}
        live: dict[str, Revision] = {}
        for step in range(1500):
            name = f"{step * 7 % 40:02}"
            if name in live and step % 3 == 0:
                store.delete(key(name), expect=live.pop(name))
            else:
                live[name] = store.put(key(name), value(name, step=str(step)), expect=None).revision
            states[store.revision] = sorted(live.items())
        for revision in list(states)[::37]:
            found = store.scan(MAPS, at=revision)
            assert [(entry.key.name, entry.revision) for entry in found] == states[revision]
            for name, stored in states[revision]:
                entry = store.get(key(name), at=revision)
                assert entry is not None
                assert entry.revision == stored
        page = store.scan(MAPS, "default", at=list(states)[700], after=key("10"), limit=3)
        assert names(page) == [name for name, _ in states[list(states)[700]] if name > "10"][:3]

    def test_reads_out_of_reach(self, store: Store) -> None:
        """A revision that has not come is Future, one that was compacted is Compacted, for all that reads at one."""
        start = store.revision
        for step in range(4):
            store.put(key("a"), value("a", step=str(step)), expect=None)
        written = [change.revision for change in store.changes(after=start)]
        store.compact(through=written[-2])
        for revision, error in ((store.revision + 1, Future), (written[-3], Compacted)):
            with pytest.raises(error):
                store.get(key("a"), at=Revision(revision))
            with pytest.raises(error):
                store.scan(MAPS, at=Revision(revision))
            with pytest.raises(error):
                store.changes(after=Revision(revision))
        assert store.get(key("a"), at=written[-2]) is not None

    def test_changes(self, store: Store) -> None:
        """The changes after a revision come oldest first, with what they replaced."""
        start = store.revision
        first = store.put(key("a"), value("a"), expect=None)
        second = store.put(key("a"), value("a", x="1"), expect=None)
        removed = store.delete(key("a"), expect=None)
        found = list(store.changes(after=start))
        assert [change.type for change in found] == ["ADDED", "MODIFIED", "DELETED"]
        assert [fields(change.previous) for change in found] == [None, fields(first), fields(second)]
        assert same(found[2].entry, removed.entry)
        assert rows([change.entry for change in store.changes(after=second.revision)]) == [fields(removed.entry)]
        assert list(store.changes(after=store.revision)) == []

    def test_many_changes(self, store: Store) -> None:
        """No change is lost where the history is long, from whatever revision it is read."""
        start = store.revision
        written = [store.put(key("a"), value("a", step=str(step)), expect=None).revision for step in range(2000)]
        for index in range(0, 2000, 111):
            after = written[index - 1] if index else start
            assert [change.revision for change in store.changes(after=after)] == written[index:]

    def test_compaction(self, store: Store) -> None:
        """Compaction moves the oldest revision forward only, keeps its state, and not beyond the present."""
        written = [store.put(key("a"), value("a", step=str(step)), expect=None) for step in range(10)]
        store.compact(through=written[5].revision)
        assert store.oldest == written[5].revision
        assert same(store.get(key("a"), at=written[5].revision), written[5])
        assert rows([change.entry for change in store.changes(after=written[5].revision)]) == rows(written[6:])
        store.compact(through=written[2].revision)
        assert store.oldest == written[5].revision
        store.compact(through=store.revision)
        assert list(store.changes(after=store.revision)) == []
        assert same(store.get(key("a")), written[9])
        with pytest.raises(Future):
            store.compact(through=Revision(store.revision + 1))

    def test_compaction_is_told(self, store: Store) -> None:
        """Listeners hear an empty batch after a compaction, so that they can forget too."""
        heard: list[int] = []
        store.put(key("a"), value("a"), expect=None)
        store.listen(lambda changes: heard.append(len(changes)))
        store.compact(through=store.revision)
        assert heard == [0]

    def test_history_ends_with_time(self, store: Store, clock: SimulatedClock) -> None:
        """A state stays readable for five minutes after it was superseded, and the present one for ever."""
        first = store.put(key("a"), value("a", x="1"), expect=None)
        clock.advance(minutes=4)
        second = store.put(key("a"), value("a", x="2"), expect=None)
        clock.advance(minutes=4)
        assert store.oldest == first.revision
        assert same(store.get(key("a"), at=first.revision), first)
        clock.advance(minutes=2)
        assert store.oldest == second.revision
        with pytest.raises(Compacted):
            store.get(key("a"), at=first.revision)
        clock.advance(days=1)
        assert same(store.get(key("a"), at=second.revision), second)

    def test_old_history_is_compacted(self, store: Store, clock: SimulatedClock) -> None:
        """While writes go on, changes older than five minutes go, and younger ones stay."""
        for step in range(3000):
            store.put(key("a"), value("a", step=str(step)), expect=None)
            clock.advance(1)
        assert len(list(store.changes(after=store.oldest))) == 299

    def test_seed(self, store: Store) -> None:
        """Seeded objects are there as they came; those without a version get the highest; nothing is announced."""
        heard: list[Change] = []
        store.listen(heard.extend)
        kept = {"metadata": {"name": "a", "resourceVersion": "90000"}}
        store.seed([(key("c"), value("c")), (key("a"), kept), (key("b", resource=PODS), value("b"))])
        assert store.revision == store.oldest == 90000
        assert (names(store.scan(MAPS)), store.count(MAPS), store.count(PODS)) == (["a", "c"], 2, 1)
        entry, other = store.get(key("a")), store.get(key("c"))
        assert entry is not None
        assert entry.object == kept
        assert entry.revision == 90000
        assert other is not None
        assert other.object["metadata"]["resourceVersion"] == str(other.revision) == "90000"
        assert heard == []
        assert store.put(key("a"), value("a"), expect=Revision(90000)).revision > 90000
        assert same(store.get(key("a"), at=Revision(90000)), entry)

    def test_seed_once(self, store: Store) -> None:
        """A store that holds objects cannot be seeded."""
        store.put(key("a"), value("a"), expect=None)
        with pytest.raises(SimkitError):
            store.seed([(key("b"), value("b"))])

    def test_seed_of_nothing(self, store: Store) -> None:
        """Seeding no objects changes nothing."""
        before = store.revision
        store.seed([])
        assert store.revision == before

    def test_listen(self, store: Store) -> None:
        """A listener hears each change after it can be read, until it is stopped."""
        heard: list[tuple[str, Revision, bool]] = []

        def listener(changes: Sequence[Change]) -> None:
            heard.extend((change.type, change.revision, store.revision >= change.revision) for change in changes)

        stop = store.listen(listener)
        first = store.put(key("a"), value("a"), expect=None)
        removed = store.delete(key("a"), expect=None)
        stop()
        stop()
        store.put(key("b"), value("b"), expect=None)
        assert heard == [("ADDED", first.revision, True), ("DELETED", removed.revision, True)]

    def test_listen_to_some_resources(self, store: Store) -> None:
        """A listener of some resources hears of these, also after others came and went; of batches the whole."""
        heard: list[str] = []
        store.listen(lambda changes: heard.extend(change.entry.key.name for change in changes), (PODS,))
        store.put(key("a"), value("a"), expect=None)
        store.put(key("b", resource=PODS), value("b"), expect=None)
        stop = store.listen(lambda changes: heard.append("all" if changes else "compacted"))
        store.put(key("c"), value("c"), expect=None)
        store.put(key("d", resource=PODS), value("d"), expect=None)
        stop()
        store.put(key("e", resource=PODS), value("e"), expect=None)
        store.compact(through=store.revision)
        assert heard == ["b", "all", "d", "all", "e"]

    def test_listeners_do_not_write(self, store: Store) -> None:
        """A listener that writes is told that this is wrong, and the store goes on."""

        def listener(changes: Sequence[Change]) -> None:
            if changes:
                store.put(key("b"), value("b"), expect=None)

        stop = store.listen(listener)
        with pytest.raises(SimkitError):
            store.put(key("a"), value("a"), expect=None)
        stop()
        store.put(key("c"), value("c"), expect=None)
        assert names(store.scan(MAPS)) == ["a", "c"]
