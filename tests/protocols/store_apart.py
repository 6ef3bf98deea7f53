"""The tests of forks and threads for every store; a part of the suite in ``store_suite``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.seams import ABSENT, Entry, Stale, Store

MAPS, PODS = GroupResource("", "configmaps"), GroupResource("", "pods")


def key(name: str, namespace: str = "default", resource: GroupResource = MAPS) -> Key:
    """A key, of a config map in the default namespace unless said otherwise."""
    return Key(resource, namespace, name)


def value(name: str, **data: str) -> Object:
    """A small object."""
    return {"metadata": {"name": name}, "data": data}


def names(entries: Sequence[Entry]) -> list[str]:
    """The names of entries, in their order."""
    return [entry.key.name for entry in entries]


def same(found: Entry | None, expected: Entry) -> bool:
    """True if two entries are equal: a store need not give out the same Python object twice."""
    return found is not None and fields(found) == fields(expected)


def fields(entry: Entry | None) -> tuple[Key, Revision, Object] | None:
    """The fields of an entry that have to be equal."""
    return None if entry is None else (entry.key, entry.revision, entry.object)


def rows(entries: Sequence[Entry]) -> list[tuple[Key, Revision, Object] | None]:
    """The fields of entries that have to be equal, in their order."""
    return [fields(entry) for entry in entries]


class Apart:
    """The promises of forks, and of threads that read and write at once."""

    def make(self, clock: SimulatedClock) -> Store:
        """An empty store that keeps five minutes of history on the clock."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> SimulatedClock:
        return SimulatedClock()

    @pytest.fixture
    def store(self, clock: SimulatedClock) -> Store:
        return self.make(clock)

    def test_fork(self, store: Store) -> None:
        """A fork and its origin go on without each other, and revisions continue on both."""
        for name in "abc":
            store.put(key(name), value(name), expect=None)
        fork = store.fork()
        assert fork.revision == store.revision
        assert names(fork.scan(MAPS)) == ["a", "b", "c"]
        fork.delete(key("a"), expect=None)
        store.put(key("b"), value("b", x="store"), expect=None)
        fork.put(key("d"), value("d"), expect=ABSENT)
        store.delete(key("c"), expect=None)
        assert (names(fork.scan(MAPS)), names(store.scan(MAPS))) == (["b", "c", "d"], ["a", "b"])
        kept = fork.get(key("b"))
        assert kept is not None
        assert kept.object["data"] == {}
        assert (fork.count(MAPS), store.count(MAPS)) == (3, 2)
        assert fork.revision == store.revision

    def test_fork_after_compaction(self, store: Store) -> None:
        """A fork keeps what it began with when its origin changes everything and forgets it."""
        for number in range(300):
            store.put(key(f"{number:03}"), value("x"), expect=None)
        fork = store.fork()
        before = fork.scan(MAPS)
        for number in range(300):
            if number % 2:
                store.delete(key(f"{number:03}"), expect=None)
            else:
                store.put(key(f"{number:03}"), value("y"), expect=None)
        store.put(key("new"), value("new"), expect=None)
        store.compact(through=store.revision)
        assert rows(fork.scan(MAPS)) == rows(before)
        assert same(fork.get(key("000")), before[0])
        assert same(fork.get(key("001")), before[1])
        assert fork.get(key("new")) is None
        assert fork.count(MAPS) == 300
        assert rows(fork.scan(MAPS, after=key("100"), limit=5)) == rows(before[101:106])

    def test_forks_of_forks(self, store: Store) -> None:
        """A chain of forks sees each step up to its own place, and each has a history of its own."""
        chain = [store]
        for number in range(8):
            chain[-1].put(key(f"{number}"), value("x"), expect=ABSENT)
            chain.append(chain[-1].fork())
        for depth, fork in enumerate(chain[:-1]):
            assert names(fork.scan(MAPS)) == [f"{number}" for number in range(depth + 1)]
        deepest = chain[-1]
        assert deepest.oldest == deepest.revision
        start = deepest.revision
        deepest.delete(key("3"), expect=None)
        assert [change.entry.key.name for change in deepest.changes(after=start)] == ["3"]
        assert deepest.get(key("3"), at=start) is not None
        assert chain[-2].get(key("3")) is not None

    def test_fork_does_not_tell_its_origin(self, store: Store) -> None:
        """Listeners of the origin do not hear of a fork's changes, nor the other way round."""
        heard: list[str] = []
        fork = store.fork()
        store.listen(lambda changes: heard.extend("store" for _ in changes))
        fork.listen(lambda changes: heard.extend("fork" for _ in changes))
        fork.put(key("a"), value("a"), expect=None)
        store.put(key("a"), value("a"), expect=None)
        assert heard == ["fork", "store"]

    def test_writers_in_threads(self, store: Store) -> None:
        """Writers that retry on Stale lose nothing, and listeners hear every revision once and in order."""
        start = store.revision
        heard: list[Revision] = []
        store.listen(lambda changes: heard.extend(change.revision for change in changes))
        store.put(key("n"), value("n", n="0"), expect=ABSENT)
        writers, steps = 6, 60

        def count_up() -> None:
            for _ in range(steps):
                while True:
                    entry = store.get(key("n"))
                    assert entry is not None
                    more = value("n", n=str(int(entry.object["data"]["n"]) + 1))
                    try:
                        store.put(key("n"), more, expect=entry.revision)
                        break
                    except Stale:
                        continue

        _run([count_up] * writers)
        final = store.get(key("n"))
        assert final is not None
        assert final.object["data"]["n"] == str(writers * steps)
        assert heard == sorted(set(heard))
        assert heard == [change.revision for change in store.changes(after=start)]
        assert len(heard) == writers * steps + 1

    def test_readers_beside_a_writer(self, store: Store) -> None:
        """A reader at a revision sees that revision whole, and a fork made meanwhile is whole too."""
        for name in ("left", "right"):
            store.put(key(name), value(name, n="0"), expect=None)
        done = threading.Event()
        wrong: list[str] = []

        def swing() -> None:
            for step in range(300):
                store.put(key("left"), value("left", n=str(step)), expect=None)
                store.put(key("right"), value("right", n=str(step)), expect=None)
            done.set()

        def look() -> None:
            while not done.is_set():
                for entries in (store.scan(MAPS, at=store.revision), store.fork().scan(MAPS)):
                    left, right = (int(entry.object["data"]["n"]) for entry in entries)
                    if left - right not in (0, 1):
                        wrong.append(f"{left} beside {right}")

        _run([swing, look, look])
        assert wrong == []


def _run(tasks: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
