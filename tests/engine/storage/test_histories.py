"""Histories of several clients over stores in memory and in files; those over etcd stand with its own tests."""

from __future__ import annotations

from pathlib import Path

from simkit.engine.storage import sqlite
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SystemClock
from tests.engine.storage.histories import check, record


def test_memory() -> None:
    """Threads that use one store see one order of changes."""
    store = MemoryStore(SystemClock())
    start = store.revision
    check(store, start, record([store], steps=300))


def test_sqlite(tmp_path: Path) -> None:
    """The same over a file, also as the next process reads it."""
    store = sqlite.open_store(tmp_path / "objects.db", SystemClock())
    start = store.revision
    done = record([store], steps=150)
    check(store, start, done)
    store.close()
    again = sqlite.open_store(tmp_path / "objects.db", SystemClock())
    check(again, start, done)
    again.close()
