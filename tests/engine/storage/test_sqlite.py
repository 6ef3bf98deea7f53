"""The store in a file: the promises of every store, and that it lasts."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.storage.memory import FIRST, HISTORY_SECONDS, MemoryStore
from simkit.engine.storage.sqlite import open_store
from simkit.meta.clock import SimulatedClock, SystemClock
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


def test_a_name_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One wrong byte in the name of an object kept the server from its start."""
    path = tmp_path / "store.db"
    store = open_store(path, SimulatedClock())
    for name in "abc":
        store.put(key(name), value(name), expect=ABSENT)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE objects SET name = CAST(x'ff62' AS TEXT) WHERE name = 'b'")
    store = open_store(path, SimulatedClock())
    assert [entry.key.name for entry in store.scan(MAPS)] == ["a", "c"]
    assert "cannot be read" in caplog.text
    store.close()


def test_a_page_that_is_damaged_is_not_blamed_on_others(tmp_path: Path) -> None:
    """The error says how to read what is left, and not that another server uses the file."""
    path = tmp_path / "store.db"
    store = open_store(path, SimulatedClock())
    store.put(key("a"), value("a", x="x" * 100_000), expect=ABSENT)
    store.close()
    content = path.read_bytes()
    path.write_bytes(content[:8192] + bytes(len(content) - 8192))
    with pytest.raises(SimkitError, match=r"malformed; the command \.recover"):
        open_store(path, SimulatedClock())


FORKING = """
import os, sys
from tests.engine.storage.test_sqlite import forked
forked(sys.argv[1], sys.argv[2])
"""


def forked(path: str, child_does: str) -> None:
    """Write, fork, have the child end in some way, and write on until killed; each name is told once it is stored."""
    store = open_store(path, SystemClock())
    for number in range(20):
        store.put(key(f"c{number}"), value(f"c{number}"), expect=ABSENT)
        print(f"c{number}", flush=True)
    child = os.fork()
    if not child:
        with contextlib.suppress(StatusError):
            if child_does == "write":
                store.put(key("child"), value("child"), expect=ABSENT)
                print("child", flush=True)
        if child_does == "close":
            store.close()
        sys.exit(0)
    os.waitpid(child, 0)
    for number in range(20, 60):
        store.put(key(f"c{number}"), value(f"c{number}"), expect=ABSENT)
        print(f"c{number}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("child_does", ["end", "close", "write"])
def test_a_child_takes_nothing_from_its_parent(tmp_path: Path, child_does: str) -> None:
    """Whatever a forked process does, the writes of the one that opened the file are there, and those of no other."""
    command = [sys.executable, "-c", FORKING, str(tmp_path / "a.db"), child_does]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    store = open_store(tmp_path / "a.db", SimulatedClock())
    assert ended.stdout.split() == [f"c{number}" for number in range(60)]
    assert store.count(MAPS) == 60
    store.close()


def _moved(file: Path) -> None:
    file.rename(file.with_suffix(".old"))


def _replaced(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_bytes(file.read_bytes())
    other.replace(file)


TAKEN_AWAY: dict[str, Callable[[Path], object]] = {
    "file removed": lambda file: file.unlink(),
    "file moved": _moved,
    "file replaced": _replaced,
    "file emptied": lambda file: os.truncate(file, 0),
    "write-ahead file removed": lambda file: Path(f"{file}-wal").unlink(),
    "write-ahead file emptied": lambda file: os.truncate(f"{file}-wal", 0),
    "last of the write-ahead file cut": lambda file: os.truncate(f"{file}-wal", os.stat(f"{file}-wal").st_size - 1),
    "folder removed": lambda file: shutil.rmtree(file.parent),
}


@pytest.mark.parametrize("accident", TAKEN_AWAY)
def test_a_file_that_was_taken_away_takes_no_writes(
    tmp_path: Path, accident: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What nobody will find again is refused, and is not seen; what was written before is told to be lost."""
    file = tmp_path / "store" / "a.db"
    file.parent.mkdir()
    store = open_store(file, SimulatedClock())
    store.put(key("a"), value("a"), expect=ABSENT)
    TAKEN_AWAY[accident](file)
    for _ in range(2):
        with pytest.raises(StatusError, match="nothing was changed"):
            store.put(key("b"), value("b"), expect=ABSENT)
    assert store.get(key("a")) is not None
    assert store.get(key("b")) is None
    store.close()
    assert "lacks what was written" in caplog.text


ROWS = "SELECT name, object FROM objects WHERE resource = ? ORDER BY namespace, name"
STORED = ("clusterroles", "clusterrolebindings", "roles", "namespaces", "flowschemas", "services", "apiservices")
SPOILT = {
    "cut": "substr(object, 1, 20)",
    "of wrong types": "CAST(json_set(CAST(object AS TEXT), '$.rules', 3, '$.spec', 'x', '$.roleRef', 7) AS BLOB)",
    "of another name": "CAST(json_set(CAST(object AS TEXT), '$.metadata.name', 'other') AS BLOB)",
}


@pytest.mark.parametrize("resource", STORED)
@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_server_starts_on_rows_that_cannot_be_read(tmp_path: Path, resource: str, spoilt: str) -> None:
    """Each is told and left as it is, so that nothing is lost that somebody could repair; the others are served."""
    options = Options(storage=f"sqlite:{tmp_path / 'a.db'}")
    simkit.Cluster(options=options).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as file, file:
        file.execute(f"UPDATE objects SET object = {SPOILT[spoilt]} WHERE resource = ?", (resource,))
        before = file.execute(ROWS, (resource,)).fetchall()
    again = simkit.Cluster(options=options)
    again.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
    store = again._control_plane.store
    unreadable = [key.name for kind in store.resources() for key in store.unreadable(kind)]  # type: ignore[attr-defined]
    assert sorted(unreadable) == sorted(name for name, _ in before)
    again.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as file:
        assert file.execute(ROWS, (resource,)).fetchall() == before


def test_a_watch_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A client that has seen a revision before the restart gets what came since, and what a new server wrote."""
    options = Options(storage=f"sqlite:{tmp_path / 'a.db'}")
    cluster = simkit.Cluster(options=options)
    first = cluster._control_plane.store.revision
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    cluster.close()
    again = simkit.Cluster(options=options)
    again.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}})
    seen = [change.entry.key.name for change in again.engine.watch_cache.watch(MAPS, after=first).poll()]
    assert [name for name in seen if name in ("a", "b")] == ["a", "b"]
    again.close()
