"""The store in a file: the promises of every store, and that it lasts."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simkit.engine.storage.memory import FIRST, HISTORY_SECONDS, MemoryStore
from simkit.engine.storage.sqlite import open_store
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.names import Revision
from simkit.seams import ABSENT, Change, Compacted, Store
from tests.protocols.store_suite import MAPS, StoreSuite, key, value

WRITER = """
import sys
from simkit.engine.storage.sqlite import open_store
from simkit.meta.clock import SystemClock
from simkit.meta.names import GroupResource, Key
store = open_store(sys.argv[1], SystemClock())
start = store.count(GroupResource("", "configmaps"))
for number in range(start, start + 100_000):
    key = Key(GroupResource("", "configmaps"), "default", f"c{number:06d}")
    store.put(key, {"metadata": {"name": key.name}, "data": {"n": str(number)}}, expect=None)
    print(number, flush=True)
"""


class TestSQLite(StoreSuite):
    """A file of its own for every test."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> Iterator[None]:
        self._files = iter(tmp_path / f"{number}.db" for number in range(1_000_000))
        self._open: list[MemoryStore] = []
        interval = sys.getswitchinterval()
        sys.setswitchinterval(interval / 20)  # each statement gives way to the other threads, which here never rest
        yield
        sys.setswitchinterval(interval)
        for store in self._open:
            store.close()

    def make(self, clock: SimulatedClock) -> Store:
        self._open.append(open_store(next(self._files), clock))
        return self._open[-1]


def test_stored_objects_survive_reopening(tmp_path: Path) -> None:
    """Objects, their revisions and the store's revision outlast the process's own memory of them."""
    first = open_store(tmp_path / "a.db", SimulatedClock())
    kept = first.put(key("a"), value("a", x="1"), expect=ABSENT)
    first.put(key("b"), value("b"), expect=ABSENT)
    first.delete(key("b"), expect=None)
    revision = first.revision
    first.close()
    again = open_store(tmp_path / "a.db", SimulatedClock())
    found = again.get(key("a"))
    assert found is not None
    assert (found.object, found.revision) == (kept.object, kept.revision)
    assert again.get(key("b")) is None
    assert again.revision == revision
    again.close()


@pytest.mark.slow
def test_a_file_has_one_owner(tmp_path: Path) -> None:
    """A second server cannot open the file of a running one, and is told so."""
    first = open_store(tmp_path / "a.db", SimulatedClock())
    first.put(key("a"), value("a"), expect=ABSENT)
    with pytest.raises(SimkitError, match="another server"):
        open_store(tmp_path / "a.db", SimulatedClock())
    first.close()


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """A file that is no store is named, and left alone."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be looked at " * 40)
    with pytest.raises(SimkitError, match=r"notes\.txt"):
        open_store(file, SimulatedClock())
    assert file.read_text().startswith("not a database")


def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Killed in the middle of writes again and again, the store has every object that was reported as written."""
    file, acknowledged = tmp_path / "a.db", -1
    for round_ in range(4):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(50 + 70 * round_):
            acknowledged = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
        complete = [int(line) for line in rest if line.isdigit()]
        process.wait()
        process.stdout.close()
        acknowledged = max([acknowledged, *complete[:-1]])
        store = open_store(file, SimulatedClock())
        assert store.count(MAPS) > acknowledged
        last = store.get(key(f"c{acknowledged:06d}"))
        assert last is not None
        assert last.object["data"] == {"n": str(acknowledged)}
        store.close()


def test_history_outlasts_the_process(tmp_path: Path) -> None:
    """Changes of the last five minutes can be watched, and states read, after the file was opened again."""
    clock = SimulatedClock()
    first = open_store(tmp_path / "a.db", clock)
    for number in range(700):
        first.put(key(f"c{number % 50}"), value(f"c{number % 50}", n=str(number)), expect=None)
    first.delete(key("c7"), expect=None)
    told, revision = list(first.changes(after=Revision(20))), first.revision
    then = [(entry.key, entry.object) for entry in first.scan(MAPS, at=Revision(333))]
    first.close()
    again = open_store(tmp_path / "a.db", clock)
    assert again.oldest == FIRST
    assert [_shown(change) for change in again.changes(after=Revision(20))] == [_shown(change) for change in told]
    assert [(entry.key, entry.object) for entry in again.scan(MAPS, at=Revision(333))] == then
    clock.advance(HISTORY_SECONDS + 1)
    assert again.oldest == revision
    again.put(key("late"), value("late"), expect=ABSENT)
    assert [change.entry.key for change in again.changes(after=revision)] == [key("late")]
    again.close()


def _shown(change: Change) -> tuple[object, ...]:
    before = change.previous
    return change.type, change.revision, change.entry.object, before and (before.revision, before.object)


def test_history_ends_where_it_is_unknown(tmp_path: Path) -> None:
    """A file whose history has a gap, as one that an older simkit wrote to, gives what comes after the gap."""
    clock, file = SimulatedClock(), tmp_path / "a.db"
    store = open_store(file, clock)
    for number in range(5):
        store.put(key(f"c{number}"), value(f"c{number}"), expect=ABSENT)
    store.close()
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM changes WHERE revision = 3")
    again = open_store(file, clock)
    assert [change.revision for change in again.changes(after=again.oldest)] == [4, 5, 6]
    assert again.oldest == 3
    with pytest.raises(Compacted):
        list(again.changes(after=Revision(2)))
    again.close()


def test_a_seed_has_no_history(tmp_path: Path) -> None:
    """Loaded objects keep their revisions, which say nothing about this file."""
    clock = SimulatedClock()
    store = open_store(tmp_path / "a.db", clock)
    seeded = {"metadata": {"name": "a", "resourceVersion": "900"}}
    store.seed([(key("a"), seeded), (key("b"), value("b"))])
    store.put(key("c"), value("c"), expect=ABSENT)
    store.close()
    again = open_store(tmp_path / "a.db", clock)
    assert (again.oldest, again.revision) == (900, 901)
    assert [change.entry.key.name for change in again.changes(after=again.oldest)] == ["c"]
    again.close()


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"metadata":1}', b"\xff\x00", "text", 7])
def test_a_row_that_cannot_be_read(tmp_path: Path, broken: object, caplog: pytest.LogCaptureFixture) -> None:
    """The file is opened, the log tells of the row, its key answers 500, and everything else is there."""
    path = tmp_path / "store.db"
    store = open_store(path, SimulatedClock())
    for name in "abc":
        store.put(key(name), value(name), expect=ABSENT)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE objects SET object = ? WHERE name = 'b'", (broken,))
    store = open_store(path, SimulatedClock())
    assert [entry.key.name for entry in store.scan(MAPS)] == ["a", "c"]
    assert "cannot be read" in caplog.text
    for act in (store.get, lambda at: store.put(at, value("b"), expect=None), store.fork().get):
        with pytest.raises(StatusError) as refused:
            act(key("b"))
        assert refused.value.code == 500
    store.put(key("d"), value("d"), expect=ABSENT)
    assert store.get(key("nobody")) is None
    store.close()
