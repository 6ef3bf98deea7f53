"""The oldest version of TLS that a server speaks."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from simkit.engine.http.server import Server, ServingOptions
from tests.engine.http.echo import EchoHandler


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_versions(shelf: EchoHandler, folder: Path, version: ssl.TLSVersion) -> None:
    """Version 1.2 and later are spoken."""
    context = ssl._create_unverified_context()
    context.minimum_version = context.maximum_version = version
    with Server(shelf, ServingOptions(certificate_folder=folder)) as server:
        address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        with socket.create_connection(address, timeout=10) as plain, context.wrap_socket(plain) as spoken:
            assert spoken.version() == version.name.replace("v1_", "v1.")
