"""An etcd for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.storage.etcd_server import EtcdServer


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path_factory.mktemp("etcd"))
    server.start()
    yield server
    server.stop()
