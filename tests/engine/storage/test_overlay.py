"""What only overlays and the views below them have to get right."""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence

from simkit.engine.seams import Change, Entry
from simkit.engine.storage.memory import MemoryStore
from simkit.engine.storage.overlay import overlay
from simkit.engine.storage.view import Pinned
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import Key
from tests.protocols.store_suite import MAPS, PODS, key, names, value


def filled(clock: SimulatedClock, count: int) -> MemoryStore:
    """A store with so many config maps."""
    store = MemoryStore(clock)
    store.seed((key(f"{number:04}"), value(f"{number:04}")) for number in range(count))
    return store


class RecordingStore(MemoryStore):
    """A store that counts who listens."""

    @property
    def listening(self) -> int:
        return len(self._listeners)


def test_pages_across_own_and_other_entries() -> None:
    """Pages of an overlay mix its entries with the base's, without gaps where many are hidden."""
    clock = SimulatedClock()
    store = overlay(filled(clock, 1000), clock)
    for number in range(0, 1000, 2):
        store.delete(key(f"{number:04}"), expect=None)
    for number in range(0, 1000, 10):
        store.put(key(f"{number:04}"), value("back"), expect=None)
        store.put(key(f"{number:04}x"), value("new"), expect=None)
    whole = store.scan(MAPS)
    assert len(whole) == store.count(MAPS) == 700
    for size in (1, 3, 50, 699, 2000):
        found: list[Entry] = []
        while page := store.scan(MAPS, after=found[-1].key if found else None, limit=size):
            found += page
        assert found == list(whole)


def test_a_view_stays_while_the_base_is_rewritten_in_another_thread() -> None:
    """Whatever instant a fork is read at, it shows the base as it was when it was made."""
    clock = SimulatedClock()
    base = filled(clock, 50)
    store = overlay(base, clock)
    expected = list(store.scan(MAPS))
    done = threading.Event()

    def rewrite() -> None:
        for step in range(30):
            for number in range(50):
                if step % 3 == 1:
                    base.delete(key(f"{number:04}"), expect=None)
                else:
                    base.put(key(f"{number:04}"), value("changed", step=str(step)), expect=None)
                base.put(key(f"{number:04}-new"), value("new"), expect=None)
            base.compact(through=base.revision)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        assert list(store.scan(MAPS)) == expected
        assert store.get(key("0007")) is expected[7]
        assert store.get(key("0007-new")) is None
        assert store.count(MAPS) == 50
    writer.join()


def test_a_view_can_be_read_by_a_listener_that_hears_first() -> None:
    """A change that the store shows already, and that the view was not told of yet, does not show in the view."""
    clock = SimulatedClock()
    base = filled(clock, 3)
    seen: list[tuple[list[str], bool, int]] = []

    def listener(changes: Sequence[Change]) -> None:
        seen.append((names(store.scan(MAPS)), store.get(key("0001")) is None, Pinned.count(view, MAPS)))

    base.listen(listener)
    store, view = overlay(base, clock), Pinned(base)
    base.delete(key("0001"), expect=None)
    base.put(key("0009"), value("new"), expect=None)
    assert seen == [(["0000", "0001", "0002"], False, 3)] * 2


def test_views_are_dropped_with_their_last_holder() -> None:
    """The base stops keeping states for a fork as soon as nobody holds the fork."""
    clock = SimulatedClock()
    base = RecordingStore(clock)
    base.put(key("a"), value("a"), expect=None)
    store = overlay(base, clock)
    second = store.fork()
    assert base.listening == 1
    del store
    gc.collect()
    assert base.listening == 1
    assert second.get(key("a")) is base.get(key("a"))
    del second
    gc.collect()
    assert base.listening == 0


def test_a_fork_of_nothing_does_not_see_what_is_seeded_later() -> None:
    """Seeding the base after the fork was made does not put anything under the fork."""
    clock = SimulatedClock()
    base = MemoryStore(clock)
    store = overlay(base, clock)
    base.seed([(Key(PODS, "default", "a"), {"metadata": {"resourceVersion": "77"}})])
    assert (list(store.scan(PODS)), store.count(PODS), store.get(Key(PODS, "default", "a"))) == ([], 0, None)
    assert base.count(PODS) == 1


def test_counts_of_a_view_come_from_the_base_without_listing() -> None:
    """A count is the base's, corrected by what was added and removed since."""
    clock = SimulatedClock()
    base = filled(clock, 10)
    view = Pinned(base)
    base.delete(key("0001"), expect=None)
    base.put(key("x"), value("x"), expect=None)
    base.put(key("y"), value("y"), expect=None)
    base.put(key("y"), value("y"), expect=None)
    assert (view.count(MAPS), view.count(PODS), base.count(MAPS)) == (10, 0, 11)
