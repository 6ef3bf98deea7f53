"""A served cluster for the client libraries that other people use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import simkit


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of an administrator of a fresh cluster that is served over HTTPS."""
    path = tmp_path_factory.mktemp("clients") / "kubeconfig"
    server = simkit.Cluster(seed=1).serve(kubeconfig=path)
    yield path
    server.stop()
