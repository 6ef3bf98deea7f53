"""Servers that are killed, fill their disk, lose rows or have their clock turned keep what they acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.mishaps import damaged, full, killed, turned
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed

pytestmark = pytest.mark.slow


def test_a_file_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """In SQLite, after two kills, with a turned clock, on a full disk, and beside rows that were cut."""
    storage = f"sqlite:{tmp_path / 'store.db'}"
    assert killed(tmp_path, storage, 2) == 0
    assert turned(tmp_path, storage) == 0
    assert full(tmp_path) == 0
    assert damaged(tmp_path) == 0


@pytest.mark.skipif(not installed(), reason=MISSING)
def test_an_etcd_keeps_what_was_acknowledged(tmp_path: Path, etcd: EtcdServer) -> None:
    """The etcd outlives the servers."""
    assert killed(tmp_path, etcd.url, 2) == 0
    assert turned(tmp_path, etcd.url) == 0
