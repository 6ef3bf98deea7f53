"""Watches: what a cursor reads, when it is overtaken, and who is woken how often."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.engine.storage import revision_log
from simkit.engine.storage.memory import MemoryStore
from simkit.engine.watch import watch_cache, watcher
from simkit.engine.watch.watch_cache import WatchCache
from simkit.engine.watch.watcher import Watcher
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key, Revision
from simkit.seams import Change, Compacted

MAPS, PODS = GroupResource("", "configmaps"), GroupResource("", "pods")


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def store(clock: SimulatedClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def hub(store: MemoryStore) -> WatchCache:
    return WatchCache(store)


def put(store: MemoryStore, name: str, namespace: str = "default", resource: GroupResource = MAPS) -> Revision:
    """The revision under which a new state of an object was written."""
    return store.put(Key(resource, namespace, name), {}, expect=None).revision


def told(changes: Sequence[Change]) -> list[tuple[str, str]]:
    """Types and names."""
    return [(change.type, change.entry.key.name) for change in changes]


class Calls:
    """A callback that counts; each instance is one event loop."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_a_cursor_reads_what_comes_after_it(store: MemoryStore, hub: WatchCache) -> None:
    """Changes come once, in order, with their types; then there is nothing."""
    put(store, "before")
    cursor = hub.watch(MAPS, after=store.revision)
    assert cursor.poll() == []
    put(store, "a")
    put(store, "a")
    store.delete(Key(MAPS, "default", "a"), expect=None)
    assert told(cursor.poll()) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert cursor.poll() == []


def test_a_cursor_may_begin_in_the_past(store: MemoryStore) -> None:
    """A hub that is made late still knows what the store knows."""
    start = store.revision
    put(store, "a")
    middle = put(store, "b")
    hub = WatchCache(store)
    put(store, "c")
    assert told(hub.watch(MAPS, after=start).poll()) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert told(hub.watch(MAPS, after=middle).poll()) == [("ADDED", "c")]


def test_a_cursor_may_begin_in_the_future(store: MemoryStore, hub: WatchCache) -> None:
    """A revision that has not come is waited for."""
    cursor = hub.watch(MAPS, after=Revision(store.revision + 2))
    put(store, "a")
    assert cursor.poll() == []
    put(store, "b")
    put(store, "c")
    assert told(cursor.poll()) == [("ADDED", "c")]


def test_cursors_are_limited(store: MemoryStore, hub: WatchCache) -> None:
    """A cursor of a namespace or of a name gets nothing else, and no other resource."""
    start = store.revision
    for namespace, name in [("a", "x"), ("a", "y"), ("b", "x")]:
        put(store, name, namespace)
    put(store, "x", "a", PODS)
    put(store, "x", "", PODS)
    assert len(hub.watch(MAPS, after=start).poll()) == 3
    assert told(hub.watch(MAPS, "a", after=start).poll()) == [("ADDED", "x"), ("ADDED", "y")]
    assert told(hub.watch(MAPS, "a", "y", after=start).poll()) == [("ADDED", "y")]
    assert told(hub.watch(MAPS, None, "x", after=start).poll()) == [("ADDED", "x")] * 2
    assert len(hub.watch(PODS, "", after=start).poll()) == 1


def test_the_revision_is_a_bookmark(store: MemoryStore, hub: WatchCache) -> None:
    """With no change left to read, the cursor is at the store's revision; within a limit, at the last change read."""
    cursor = hub.watch(MAPS, "a", after=store.revision)
    first = put(store, "x", "a")
    second = put(store, "y", "a")
    put(store, "z", "b")
    last = put(store, "p", "a", PODS)
    assert told(cursor.poll(limit=1)) == [("ADDED", "x")]
    assert (cursor.revision, cursor.pending) == (first, True)
    assert [change.revision for change in cursor.poll(limit=1)] == [second]
    assert cursor.poll(limit=1) == []
    assert (cursor.revision, cursor.pending) == (last, False)
    assert cursor.poll(limit=0) == []


def test_an_overtaken_cursor_says_so(store: MemoryStore, hub: WatchCache) -> None:
    """A cursor whose next changes were compacted raises from then on; one that had read them does not."""
    slow, fast, other = (hub.watch(resource, after=store.revision) for resource in (MAPS, MAPS, PODS))
    for name in "abc":
        put(store, name)
    fast.poll()
    store.compact(through=store.revision)
    for _ in range(2):
        with pytest.raises(Compacted):
            slow.poll()
        assert slow.wait(0)
    assert fast.poll() == other.poll() == []
    put(store, "d")
    assert told(fast.poll()) == [("ADDED", "d")]


def test_a_watch_cannot_begin_before_history(store: MemoryStore, hub: WatchCache, clock: SimulatedClock) -> None:
    """A revision that was compacted, by hand or by time, is refused at once."""
    start = store.revision
    put(store, "a")
    clock.advance(minutes=6)
    with pytest.raises(Compacted):
        hub.watch(MAPS, after=start)
    put(store, "b")
    store.compact(through=store.revision)
    with pytest.raises(Compacted):
        hub.watch(MAPS, after=Revision(store.revision - 1))
    assert hub.watch(MAPS, after=store.revision).poll() == []


def test_turning_the_clock_does_not_overtake(store: MemoryStore, hub: WatchCache, clock: SimulatedClock) -> None:
    """Changes during a watch are delivered even if an hour was skipped before reading."""
    cursor = hub.watch(MAPS, after=store.revision)
    put(store, "a")
    clock.advance(hours=1)
    put(store, "b")
    assert told(cursor.poll()) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_quiet_cursor_is_never_overtaken(store: MemoryStore, hub: WatchCache, clock: SimulatedClock) -> None:
    """A cursor on a resource where nothing happens stays good while everything else is forgotten."""
    cursor = hub.watch(PODS, after=store.revision)
    for _ in range(3000):
        put(store, "a")
        clock.advance(1)
    put(store, "p", resource=PODS)
    assert told(cursor.poll()) == [("ADDED", "p")]


def test_rings_let_go(store: MemoryStore, hub: WatchCache, clock: SimulatedClock) -> None:
    """Rings hold little more than the store's history, and those who lag behind that are overtaken."""
    slow = hub.watch(MAPS, after=store.revision)
    for _ in range(8000):
        put(store, "a")
        clock.advance(1)
    assert len(hub.buffer(MAPS)) < 2500
    with pytest.raises(Compacted):
        slow.poll()


def test_one_waker_for_each_loop(store: MemoryStore, hub: WatchCache) -> None:
    """A batch of writes wakes each loop once, until one of its cursors has been read; other resources do not."""
    loops = [Calls(), Calls()]
    cursors = [hub.watch(MAPS, namespace, after=store.revision) for namespace in ("a", "b", "c")]
    for cursor in cursors:
        for calls in loops:
            cursor.on_change(calls)
    put(store, "p", "a", PODS)
    assert [calls.count for calls in loops] == [0, 0]
    for _ in range(5):
        put(store, "x", "a")
    assert [calls.count for calls in loops] == [1, 1]
    assert [len(cursor.poll()) for cursor in cursors] == [5, 0, 0]
    put(store, "x", "b")
    assert [calls.count for calls in loops] == [2, 2]


def test_news_that_are_there_already(store: MemoryStore, hub: WatchCache) -> None:
    """A callback that comes after the change is called at once."""
    calls, cursor = Calls(), hub.watch(MAPS, after=store.revision)
    put(store, "a")
    cursor.on_change(calls)
    assert calls.count == 1


def test_stopping(store: MemoryStore, hub: WatchCache) -> None:
    """A callback that was stopped, or whose cursors are closed, is not called; a closed cursor gives nothing."""
    calls, others = Calls(), Calls()
    first, second = (hub.watch(MAPS, after=store.revision) for _ in range(2))
    stop = first.on_change(calls)
    second.on_change(calls)
    second.on_change(others)
    stop()
    stop()
    put(store, "a")
    assert (calls.count, others.count) == (1, 1)
    second.poll()
    second.close()
    second.close()
    put(store, "b")
    assert (calls.count, others.count) == (1, 1)
    assert second.poll() == []
    assert not second.pending
    with first:
        assert len(first.poll()) == 2
    assert first.closed


def test_a_closed_cursor_does_not_keep_its_loop_asleep(store: MemoryStore, hub: WatchCache) -> None:
    """A loop that was woken for a cursor which is closed unread is woken again for its other cursors."""
    calls = Calls()
    first, second = hub.watch(MAPS, after=store.revision), hub.watch(PODS, after=store.revision)
    first.on_change(calls)
    second.on_change(calls)
    put(store, "a")
    first.close()
    put(store, "p", resource=PODS)
    assert calls.count == 2


def test_waiting(store: MemoryStore, hub: WatchCache) -> None:
    """A thread sleeps until a change that concerns its cursor, and gives up after its timeout."""
    with hub.watch(MAPS, "a", after=store.revision) as cursor:
        assert not cursor.wait(0)
        put(store, "x", "b")
        assert not cursor.wait(0.01)
        writer = threading.Timer(0.02, lambda: (put(store, "y", "b"), put(store, "x", "a")))
        writer.start()
        assert cursor.wait(30)
        writer.join()
        assert told(cursor.poll()) == [("ADDED", "x")]


def test_closing_ends_the_waiting(store: MemoryStore, hub: WatchCache) -> None:
    """A thread that waits on a cursor returns when it is closed."""
    cursor = hub.watch(MAPS, after=store.revision)
    closer = threading.Timer(0.02, cursor.close)
    closer.start()
    assert not cursor.wait(30)
    closer.join()


def test_a_closed_hub_hears_nothing_more(store: MemoryStore, hub: WatchCache) -> None:
    """After close the cursors keep what there is."""
    cursor = hub.watch(MAPS, after=store.revision)
    put(store, "a")
    hub.close()
    put(store, "b")
    assert told(cursor.poll()) == [("ADDED", "a")]


def test_forks_have_hubs_of_their_own(store: MemoryStore, hub: WatchCache) -> None:
    """A watch on a fork begins with the fork and does not hear the origin."""
    put(store, "a")
    fork = store.fork()
    cursor = WatchCache(fork).watch(MAPS, after=fork.revision)
    put(store, "b")
    put(fork, "c")
    assert told(cursor.poll()) == [("ADDED", "c")]


def test_readers_in_threads_miss_nothing(store: MemoryStore, hub: WatchCache) -> None:
    """Each of several waiting readers gets every change of its part, once and in order, from several writers."""
    start, each = store.revision, 200
    found: dict[str, list[Change]] = {}
    parts = [("all", None), ("a", "a"), ("b", "b")]

    def read(label: str, namespace: str | None, count: int) -> None:
        with hub.watch(MAPS, namespace, after=start) as cursor:
            while len(found.setdefault(label, [])) < count and cursor.wait(30):
                found[label] += cursor.poll(limit=7)

    def write(namespace: str) -> None:
        for number in range(each):
            put(store, f"{number}", namespace)
            put(store, "p", namespace, PODS)

    tasks: list[Callable[[], None]] = [lambda: write("a"), lambda: write("b")]
    for label, namespace in parts:
        count = 2 * each if namespace is None else each
        tasks.append(lambda label=label, namespace=namespace, count=count: read(label, namespace, count))  # type: ignore[misc]
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = [change for change in store.changes(after=start) if change.entry.key.resource == MAPS]
    for label, namespace in parts:
        assert found[label] == [step for step in history if namespace in (None, step.entry.key.namespace)]


def test_cursors_made_while_the_hub_is_made(store: MemoryStore) -> None:
    """A hub that is made beside a writer has every change once."""
    start = store.revision
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            put(store, "a")

    writer = threading.Thread(target=write)
    writer.start()
    cursors = [WatchCache(store).watch(MAPS, after=start) for _ in range(20)]
    done.set()
    writer.join()
    everything = list(store.changes(after=start))
    assert all(cursor.poll() == everything for cursor in cursors)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.sampled_from("pPfcsx"), st.integers(0, 6)), max_size=40))
def test_any_mixture_is_read_in_full_or_refused(steps: list[tuple[str, int]]) -> None:
    """Whatever is written, read, compacted and waited for, a cursor gives exactly the history or raises."""
    clock = SimulatedClock()
    store = MemoryStore(clock)
    hub = WatchCache(store)
    history: list[Change] = []
    store.listen(history.extend)
    readers: list[tuple[Watcher, Revision, list[Change]]] = []
    lost: set[int] = set()
    patch = pytest.MonkeyPatch()
    patch.setattr(watcher, "SLACK", 2)
    patch.setattr("simkit.engine.watch.watch_cache.SWEEP", 3)
    for step, number in steps:
        if step in "pP":
            put(store, f"{number}", resource=MAPS if step == "p" else PODS)
        elif step == "f":
            readers.append((hub.watch(MAPS, after=store.revision), store.revision, []))
        elif step == "c":
            store.compact(through=max(store.oldest, Revision(store.revision - number)))
        elif step == "s":
            clock.advance(100 * number)
        elif readers:
            _read(number % len(readers), readers, lost, number)
    patch.undo()
    for index, (_, start, found) in enumerate(readers):
        while index not in lost and _read(index, readers, lost, None):
            pass
        expected = [change for change in history if change.revision > start and change.entry.key.resource == MAPS]
        assert found == expected[: len(found)]
        assert index in lost or found == expected


def _read(index: int, readers: list[tuple[Watcher, Revision, list[Change]]], lost: set[int], limit: int | None) -> bool:
    cursor, _, found = readers[index]
    try:
        changes = cursor.poll(limit)
    except Compacted:
        lost.add(index)
        return False
    assert index not in lost
    found += changes
    return bool(changes)


@pytest.mark.parametrize("ends", [False, True])
def test_history_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    """Whoever writes or removes large objects without end does not fill all memory with what they were before.

    Within the minutes for which changes are kept, it could hold hundreds of gigabytes.
    """
    monkeypatch.setattr(revision_log, "MOST_BYTES", 100_000)
    for module in (revision_log, watch_cache):
        monkeypatch.setattr(module, "PORTION", 100_000 // 8)
    store = MemoryStore(SimulatedClock())
    hub, start = WatchCache(store), store.revision
    slow, quick = (hub.watch(MAPS, after=start) for _ in range(2))
    for number in range(100):
        key = Key(MAPS, "default", f"a{number}" if ends else "a")
        store.put(key, {"data": {"x": "x" * 5000}}, expect=None)
        if ends:
            store.delete(key, expect=None)
        quick.poll()
    kept = list(store.changes(after=store.oldest))
    held = sum(map(revision_log.held_by, kept))
    assert 50_000 < held <= 100_000 + 2 * 100_000 // 8 + 12_000
    assert len(hub.buffer(MAPS)) <= len(kept) + 10
    assert store.scan(MAPS, at=store.oldest) is not None
    for gone in (slow.poll, lambda: store.scan(MAPS, at=start), lambda: list(store.changes(after=start))):
        with pytest.raises(Compacted):
            gone()
