"""A persistent store: the memory store with a SQLite file behind it.

Every change is in the file before it can be seen. The file is in write-ahead mode: a process that is killed in the
middle of a write loses nothing that was acknowledged. What was stored is read when the file is opened, and decoded
object by object when first asked for. The last changes are kept beside the objects, so that a watch can go on where it
was when the server stopped.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final

import orjson

from simkit.engine.storage.memory import FIRST, HISTORY_SECONDS, MemoryStore, stamped
from simkit.engine.storage.revision_log import RevisionLog
from simkit.engine.storage.sqlite_file import SqliteFile
from simkit.engine.storage.state import State, Table
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.meta.python_gc import collection_paused
from simkit.seams import Change, Entry

# An entry whose object is decoded when first asked for

Decode = Callable[[Key, bytes, Revision], Object]
"""Makes the object of stored bytes, given its key and revision. Raises where the bytes are none."""


Check = Callable[[Object], str]
"""The reason why a stored object cannot be one of its kind; empty where it can."""


def _believed(obj: Object) -> str:
    return ""


class LazyEntry(Entry):
    """An entry with the bytes of its object, which ``decode`` reads at the first access."""

    __slots__ = ("_decode", "_held")

    def __init__(self, key: Key, revision: Revision, raw: bytes, decode: Decode) -> None:
        self.key, self.revision, self.encodings, self.size = key, revision, {}, len(raw)
        self._held: bytes | Object = raw
        self._decode = decode

    @property
    def object(self) -> Object:  # type: ignore[override]
        held = self._held  # one slot, read and written once: threads may decode twice, but never see half of it
        if isinstance(held, bytes):
            held = self._decode(self.key, held, self.revision)
            self._held = held
        return held

    def moved(self, revision: Revision) -> Entry:
        """The same object under another revision."""
        held = self._held
        if isinstance(held, bytes):
            return LazyEntry(self.key, revision, held, self._decode)
        return Entry(self.key, revision, stamped(held, revision), self.size)


_LOG: Final = logging.getLogger("simkit.storage")
FORMAT: Final = 1
"""The format of the file; a file with another one is refused."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS objects (
    api_group TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    revision INTEGER NOT NULL, object BLOB NOT NULL,
    PRIMARY KEY (api_group, resource, namespace, name)
);
CREATE TABLE IF NOT EXISTS changes (
    revision INTEGER PRIMARY KEY, moment REAL NOT NULL, type TEXT NOT NULL,
    api_group TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    object BLOB NOT NULL, previous_revision INTEGER, previous BLOB
);
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), revision INTEGER NOT NULL);
"""
_PUT: Final = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM objects WHERE api_group = ? AND resource = ? AND namespace = ? AND name = ?"
_REVISION: Final = "INSERT OR REPLACE INTO state VALUES (0, ?)"
_RESOURCES: Final = "SELECT DISTINCT api_group, resource FROM objects"
_OBJECTS: Final = "SELECT namespace, name, revision, object FROM objects WHERE api_group = ? AND resource = ?"
_CHANGE: Final = "INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET: Final = "DELETE FROM changes WHERE moment < ? OR revision <= ?"
_FORGET_ALL: Final = "DELETE FROM changes"
_LAST: Final = "SELECT * FROM changes WHERE moment >= ? ORDER BY revision DESC LIMIT ?"

_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "; is another server using it?",
    sqlite3.SQLITE_CORRUPT: "; the command .recover of sqlite3 writes what can be read into another file",
}
"""What to do about errors of SQLite."""
KEPT: Final = 10_000
"""Changes that are kept in the file, if they are young enough: more would make opening slow."""
_SWEEP: Final = 512
"""The number of changes after which too old ones are deleted from the file."""


def _decoded(key: Key, raw: bytes, revision: Revision) -> Object:
    """The object of a row, which is stored with its revision."""
    found: Object = orjson.loads(raw)
    return found


class _Journal:
    """Writes changes to the file, all of a batch or none, and deletes those that are too old for watches."""

    def __init__(self, file: SqliteFile, clock: Clock) -> None:
        self._file, self._clock = file, clock
        weakref.finalize(self, file.close)
        self._since_sweep = 0

    def __call__(self, changes: Sequence[Change]) -> None:
        with self._file.transaction() as connection:
            for change in changes:
                _write(connection, change)
            if changes:
                highest = max(change.revision for change in changes)
                connection.execute(_REVISION, (highest,))
                self._remember(connection, changes, highest)

    def close(self) -> None:
        self._file.close()

    def _remember(self, connection: sqlite3.Connection, changes: Sequence[Change], highest: Revision) -> None:
        if len(changes) > 1:  # objects that were seeded have no history: their revisions come from elsewhere
            connection.execute(_FORGET_ALL)
            return
        now, (change,) = self._clock.now(), changes
        before = (change.previous.revision, orjson.dumps(change.previous.object)) if change.previous else (None, None)
        place, held = _place(change.entry.key), orjson.dumps(change.entry.object)
        connection.execute(_CHANGE, (highest, now, change.type, *place, held, *before))
        self._since_sweep += 1
        if self._since_sweep >= _SWEEP:
            self._since_sweep = 0
            connection.execute(_FORGET, (now - HISTORY_SECONDS, highest - KEPT))


def _write(connection: sqlite3.Connection, change: Change) -> None:
    place = _place(change.entry.key)
    if change.type == "DELETED":
        connection.execute(_DELETE, place)
    else:
        connection.execute(_PUT, (*place, change.revision, orjson.dumps(change.entry.object)))


def _place(key: Key) -> tuple[str, str, str, str]:
    return key.resource.group, key.resource.resource, key.namespace, key.name


def open_store(path: str | Path, clock: Clock, *, check: Check = _believed) -> MemoryStore:
    """The store in a file, which is created if it does not exist.

    Parameters
    ----------
    path
        The SQLite file. Only one process can have it open.
    clock
        Tells when history becomes too old.
    check
        Asked of each stored object.

    Raises
    ------
    SimkitError
        For a file that is no store, of another format, or open elsewhere.

    Notes
    -----
    Opening reads every row once: about 0.6 s for 100,000 objects of 1 KB. Of the history at most ``KEPT`` changes are
    there again; a watch from before them is told that its revision is too old.
    """
    place = Path(path)
    _make_private(place)
    try:
        file = SqliteFile(place, lambda connection: _prepare(connection, place))
        with collection_paused():
            state, unreadable = file.read(lambda connection: _read(connection, check))
            log = file.read(lambda connection: _read_log(connection, state, clock.now() - HISTORY_SECONDS))
    except sqlite3.Error as error:
        advice = _ADVICE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "")
        raise SimkitError(f"cannot open {place} as a store: {error}{advice}") from error
    return MemoryStore(clock, state=state, log=log, journal=_Journal(file, clock), unreadable=unreadable)


def _make_private(file: Path) -> None:
    """Create a file that only its owner can read, since it and those beside it will contain secrets."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise SimkitError(f"cannot open {file} as a store: {error.strerror or error}") from error


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    connection.text_factory = lambda text: text.decode(errors="replace")  # of a damaged row, which only itself is lost
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # what is acknowledged outlives the process, not the machine
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, FORMAT):
        raise SimkitError(f"{file} has format {found}, this simkit reads format {FORMAT}")
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _read(connection: sqlite3.Connection, check: Check) -> tuple[State, dict[Key, str]]:
    """The state of the file without what cannot be read, and why that cannot."""
    tables: dict[GroupResource, Table[Entry]] = {}
    unreadable: dict[Key, str] = {}
    for group, resource in connection.execute(_RESOURCES).fetchall():
        shared = GroupResource(group, resource)
        rows: list[tuple[str, Entry]] = []
        for namespace, name, revision, raw in connection.execute(_OBJECTS, (group, resource)):
            key = Key(shared, namespace, name)
            if why := _error(raw, key, check):
                unreadable[key] = why
                _LOG.error("%s cannot be read, and is left out: %s", key, why)
            else:
                rows.append((f"{namespace}/{name}", LazyEntry(key, revision, raw, _decoded)))
        rows.sort(key=itemgetter(0))
        tables[shared] = Table.of(rows)
    row = connection.execute("SELECT revision FROM state").fetchone()
    return State(Revision(row[0]) if row else FIRST, tables), unreadable


def _error(raw: object, key: Key, check: Check = _believed) -> str:
    """The reason why a row does not hold the object of its key; empty where it does."""
    if not isinstance(raw, bytes):
        return "it is no bytes"
    try:
        held = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return str(error)
    meta = held.get("metadata") if isinstance(held, dict) else None
    if not isinstance(meta, dict):
        return "it is no object with metadata"
    return check(held) if meta.get("name") == key.name else "it is an object of another name"


def _read_log(connection: sqlite3.Connection, state: State, cutoff: float) -> RevisionLog:
    """The last changes without a gap up to the current state."""
    changes: list[Change] = []
    times: list[float] = []
    for row in connection.execute(_LAST, (cutoff, KEPT)):
        revision, moment, kind, group, resource, namespace, name, held, previous_revision, previous = row
        key = Key(GroupResource(group, resource), namespace, name)
        if revision != state.revision - len(changes) or _error(held, key) or (previous and _error(previous, key)):
            break
        before = LazyEntry(key, Revision(previous_revision), previous, _decoded) if previous is not None else None
        changes.append(Change(kind, LazyEntry(key, Revision(revision), held, _decoded), before))
        times.append(moment)
    return RevisionLog.restored(state, changes[::-1], times[::-1])
