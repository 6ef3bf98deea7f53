"""The model of stores over those that outlast their process: files of SQLite, and etcd."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from simkit.engine.storage import sqlite
from simkit.meta.names import Key
from simkit.seams import Store
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed
from tests.engine.storage.test_etcd import opened
from tests.model.test_store_model import KEYS, Pair, Stores

pytestmark = pytest.mark.slow

FEW: Final = settings(max_examples=10, stateful_step_count=40, deadline=None)


class OwnRevisions(Stores):
    """Stores that give seeded objects revisions of their own: the model takes them over."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        for pair in self.all:
            pair.store.close()
        self.folder.cleanup()

    @initialize(target=Stores.pairs, keys=st.sets(KEYS, max_size=6))
    def begin(self, keys: set[Key]) -> Pair:
        store = self.made()
        store.seed([(key, {"n": 0, "metadata": {}}) for key in keys])
        state = {key: (entry.revision, 0) for key in keys if (entry := store.get(key)) is not None}
        assert state.keys() == keys
        return self._track(store, state, store.revision)

    def made(self) -> Store:
        """A new and empty store."""
        return sqlite.open_store(Path(self.folder.name) / "objects.db", self.clock)


def over_etcd(etcd: Callable[[], EtcdServer]) -> type[OwnRevisions]:
    """The machine over stores in an etcd, each under a prefix of its own."""
    prefixes = count()

    class Etcd(OwnRevisions):
        def made(self) -> Store:
            return opened(etcd(), f"/model{next(prefixes)}", self.clock)

    return Etcd


TestSqlite = OwnRevisions.TestCase
TestSqlite.settings = FEW


@pytest.mark.skipif(not installed(), reason=MISSING)
def test_etcd(tmp_path: Path) -> None:
    """Whatever is written, read, forked and compacted, a store in etcd answers as the model."""
    server = EtcdServer(tmp_path / "data")
    server.start()
    try:
        machine = over_etcd(lambda: server).TestCase
        machine.settings = FEW
        machine("runTest").runTest()
    finally:
        server.stop()
