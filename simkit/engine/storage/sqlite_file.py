"""The SQLite file of one store, as long as this process may write it: not in a fork, and not once it was removed.

Whatever closes a connection as the last one ends its write-ahead file, so a child that inherited it would take the
writes of its parent away. Therefore no connection is open while the process forks.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

from simkit.meta.errors import SimkitError, unexplained

Prepare = Callable[[sqlite3.Connection], None]
"""Brings a new connection into the state that its store needs."""
Read = TypeVar("Read")
_OPEN: Final = WeakSet["SqliteFile"]()
_LOG: Final = logging.getLogger("simkit.storage")
_TAKEN: Final = "removed, replaced or cut while it was open"


class SqliteFile:
    """A file with its connection.

    Parameters
    ----------
    prepare
        Called with each new connection. It has to write, so that the write-ahead file is there.
    """

    def __init__(self, path: Path, prepare: Prepare) -> None:
        self._path, self._prepare = path.absolute(), prepare
        self._using = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._known: list[os.stat_result] = []
        """The file and its write-ahead file, as they were last seen."""
        self._closed = ""
        """The reason why nothing can be written; empty while something can."""
        self._connect()
        _OPEN.add(self)

    def _connect(self) -> None:
        """Open the file. Raises sqlite3.Error where that fails, and whatever ``prepare`` raises."""
        connection = sqlite3.connect(self._path, timeout=1.0, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._known = connection, self._seen()

    def read(self, read: Callable[[sqlite3.Connection], Read]) -> Read:
        """What is read from the file, which is closed where that fails."""
        try:
            return read(self._usable())
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection, whose changes are kept as a whole when the block ends, and given up where it raises.

        Raises a 500 StatusError where the file is full, or not that of this process any more, and for whatever SQLite
        says. Nothing was changed then.
        """
        try:
            with self._using:
                with self._usable() as connection:
                    connection.execute("BEGIN")
                    yield connection
                    if self._is_cut():
                        raise unexplained(f"{self._path.name} was {_TAKEN}; nothing was changed")
                self._known = self._seen()
        except sqlite3.Error as error:
            full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            why = f"the disk of {self._path.name} is full" if full else f"cannot write to {self._path.name}: {error}"
            raise unexplained(f"{why}; nothing was changed") from error

    def close(self, why: str = "it is closed") -> None:
        """Write no more; ``why`` says the reason."""
        with self._using:
            self._disconnect()
            self._closed, self._connection = self._closed or why, None

    def _disconnect(self) -> None:
        if self._connection is not None:
            cut = self._is_cut()
            self._connection.close()
            if cut:
                self._closed, self._connection = f"it was {_TAKEN}", None
                _LOG.error("%s was %s, and lacks what was written; Cluster.save writes all of it", self._path, _TAKEN)

    def _usable(self) -> sqlite3.Connection:
        if self._connection is None:
            raise unexplained(f"cannot write to {self._path.name}: {self._closed}; nothing was changed")
        return self._connection

    def _is_cut(self) -> bool:
        """Whether somebody has taken the files away: whoever opens them finds nothing of what is written now."""
        pairs = list(zip(self._known, self._seen(), strict=False))
        return len(pairs) < 2 or any(not os.path.samestat(old, new) or new.st_size < old.st_size for old, new in pairs)

    def _seen(self) -> list[os.stat_result]:
        try:
            return [os.stat(path) for path in (self._path, f"{self._path}-wal")]
        except OSError:
            return []

    # Around a fork

    def suspend(self) -> None:
        """Close the connection, and let nobody write until one of the following two."""
        self._using.acquire()
        self._disconnect()

    def resume(self) -> None:
        """Go on in the process that has forked."""
        try:
            if self._connection is not None:
                self._connection = None
                self._connect()
        except (sqlite3.Error, SimkitError) as error:
            self._closed = f"it could not be opened again after a fork of this process: {error}"
        self._using.release()

    def abandon(self) -> None:
        """Leave the file to the process that this one is a fork of."""
        self._using = threading.RLock()
        self._connection, self._closed = None, "this process is a fork of the one that opened it"


def _before_fork() -> None:
    for file in list(_OPEN):
        file.suspend()


def _in_parent() -> None:
    for file in list(_OPEN):
        file.resume()


def _in_child() -> None:
    for file in list(_OPEN):
        file.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
