"""A store that lasts: the memory store with a SQLite file behind it.

Every change is in the file before it can be seen. The file is in write-ahead mode: a process that is killed in the
middle of a write loses nothing that was acknowledged. What was stored is read when the file is opened, and decoded
object by object when first asked for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.engine.seams import Change, Entry
from simkit.engine.storage.memory import FIRST, MemoryStore
from simkit.engine.storage.state import Tables, tables_of
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object

FORMAT: Final = 1
"""The layout of the file; a file of another one is refused."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS objects (
    api_group TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    revision INTEGER NOT NULL, object BLOB NOT NULL,
    PRIMARY KEY (api_group, resource, namespace, name)
);
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), revision INTEGER NOT NULL);
"""
_PUT: Final = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM objects WHERE api_group = ? AND resource = ? AND namespace = ? AND name = ?"
_REVISION: Final = "INSERT OR REPLACE INTO state VALUES (0, ?)"


class StoredEntry(Entry):
    """An entry out of the file, whose object is decoded when first asked for."""

    __slots__ = ("_held",)

    def __init__(self, key: Key, revision: Revision, raw: bytes) -> None:
        self.key, self.revision, self.encodings = key, revision, {}
        self._held: bytes | Object = raw

    @property
    def object(self) -> Object:  # type: ignore[override]
        held = self._held  # one slot, read and written once: threads may decode twice, but never see half of it
        if isinstance(held, bytes):
            held = orjson.loads(held)
            self._held = held
        return held


class _Journal:
    """Writes changes to the file, all of a batch or none."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def __call__(self, changes: Sequence[Change]) -> None:
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                for change in changes:
                    self._write(change)
                if changes:
                    highest = max(change.revision for change in changes)
                    self._connection.execute(_REVISION, (highest,))
        except sqlite3.Error as error:
            raise SimkitError(f"cannot write to {self._path}: {error}; nothing was changed") from error

    def close(self) -> None:
        self._connection.close()

    def _write(self, change: Change) -> None:
        key = change.entry.key
        place = (key.resource.group, key.resource.resource, key.namespace, key.name)
        if change.type == "DELETED":
            self._connection.execute(_DELETE, place)
        else:
            self._connection.execute(_PUT, (*place, change.revision, orjson.dumps(change.entry.object)))


def open_store(path: str | Path, clock: Clock, *, durable: bool = False) -> MemoryStore:
    """The store in a file, which is made where there is none.

    Parameters
    ----------
    path
        The SQLite file. Only one process can have it open.
    clock
        Tells when history becomes too old; history itself is not kept in the file.
    durable
        Whether a write waits until the disk has it. Without it what was acknowledged survives the death of the
        process, but perhaps not of the machine.

    Raises
    ------
    SimkitError
        For a file that is no store, of another format, or open elsewhere.

    Notes
    -----
    Opening reads every row once: about 0.6 s for 100,000 objects of 1 KB.
    """
    file = Path(path)
    connection = sqlite3.connect(file, timeout=1.0, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, file, durable)
        state = _read(connection)
    except (sqlite3.Error, SimkitError) as error:
        connection.close()
        if isinstance(error, SimkitError):
            raise
        raise SimkitError(f"cannot open {file} as a store: {error}; is another server using it?") from error
    return MemoryStore(clock, state=state, journal=_Journal(connection, file))


def _prepare(connection: sqlite3.Connection, file: Path, durable: bool) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, FORMAT):
        raise SimkitError(f"{file} has format {found}, this simkit reads format {FORMAT}")
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _read(connection: sqlite3.Connection) -> Tables:
    resources: dict[tuple[str, str], GroupResource] = {}

    def entry(row: tuple[Any, ...]) -> Entry:
        group, resource, namespace, name, revision, raw = row
        shared = resources.setdefault((group, resource), GroupResource(group, resource))
        return StoredEntry(Key(shared, namespace, name), Revision(revision), raw)

    tables = tables_of(map(entry, connection.execute("SELECT * FROM objects")))
    row = connection.execute("SELECT revision FROM state").fetchone()
    return Tables(Revision(row[0]) if row else FIRST, tables)
