"""Servers over a small engine, and clients of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simkit.engine.http.certificates import CertificateFiles
from simkit.engine.http.server import Server, ServingOptions
from tests.engine.http.echo import Client, EchoHandler, trusting


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of certificates for all servers of a run."""
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="session")
def identities(folder: Path) -> CertificateFiles:
    """The files of that folder."""
    return ServingOptions(certificate_folder=folder).identities()


@pytest.fixture
def shelf() -> EchoHandler:
    """A fresh engine."""
    return EchoHandler()


@pytest.fixture
def server(shelf: EchoHandler, folder: Path, tmp_path: Path) -> Iterator[Server]:
    """The engine over HTTPS and plain HTTP, on free ports."""
    serving = ServingOptions(insecure_port=0, certificate_folder=folder, kubeconfig=tmp_path / "kubeconfig")
    with Server(shelf, serving) as running:
        yield running


@pytest.fixture
def plain(server: Server) -> Iterator[Client]:
    """A client of the plain port."""
    assert server.insecure_url
    client = Client(server.insecure_url)
    yield client
    client.close()


@pytest.fixture
def secure(server: Server, identities: CertificateFiles) -> Iterator[Client]:
    """A client of the HTTPS port, without a certificate of its own."""
    client = Client(server.url, trusting(identities.authority))
    yield client
    client.close()
