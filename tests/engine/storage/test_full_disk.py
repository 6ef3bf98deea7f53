"""A full disk refuses writes, and what was stored can be read and opened again."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection

import pytest

from simkit.engine.storage import sqlite
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupResource, Key
from simkit.seams import ABSENT

CONFIG_MAPS = GroupResource("", "configmaps")


def fill(store: MemoryStore) -> None:
    """Write more than there is room for."""
    for number in range(100):
        obj = {"metadata": {"name": f"c{number}"}, "data": {"x": "y" * 10_000}}
        store.put(Key(CONFIG_MAPS, "a", f"c{number}"), obj, expect=ABSENT)


def test_a_full_disk_is_told_to_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is 500 with what is wrong, not a fault of the server; after a restart everything is there."""
    prepare = sqlite._prepare

    def small(connection: Connection, file: Path) -> None:
        prepare(connection, file)
        connection.execute("PRAGMA max_page_count = 40")

    monkeypatch.setattr(sqlite, "_prepare", small)
    path, clock = tmp_path / "store.db", SimulatedClock()
    store = sqlite.open_store(path, clock)
    with pytest.raises(StatusError, match="is full"):
        fill(store)
    written = len(store.scan(CONFIG_MAPS))
    assert written > 1
    store.close()
    again = sqlite.open_store(path, clock)
    assert len(again.scan(CONFIG_MAPS)) == written
    again.close()
