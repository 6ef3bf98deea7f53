"""Connections to services; imported with the first call, since most servers never make one."""

from __future__ import annotations

import os
import ssl
import tempfile
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import SplitResult

from simkit.engine.egress.kubeconfig import ClientConfig
from simkit.meta.errors import SimkitError


def connection(parts: SplitResult, context: ssl.SSLContext | None, name: str, timeout: float) -> HTTPConnection:
    """A connection to an address that is not open yet; ``name`` is what the certificate is checked for, if not it."""
    host, port = parts.hostname or "", parts.port
    if context is None:
        return HTTPConnection(host, port, timeout=timeout)
    if not name:
        return HTTPSConnection(host, port, timeout=timeout, context=context)
    return _Renamed(host, port, timeout, context, name)


def trusting(endpoint: ClientConfig) -> ssl.SSLContext:
    """The TLS side of a client of an endpoint. Raises SimkitError for certificates that cannot be used."""
    authorities = endpoint.authorities.decode("ascii", "ignore") or None
    try:
        context = ssl.create_default_context(cadata=authorities)
    except ssl.SSLError as error:
        raise SimkitError(f"the authorities of {endpoint.url} cannot be read: {error}") from error
    if endpoint.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if endpoint.certificate:
        _load_pair(context, endpoint)
    return context


class _Renamed(HTTPSConnection):
    """A connection to a server whose certificate names another host."""

    def __init__(self, host: str, port: int | None, timeout: float, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._tls, self._name = context, name

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)


def _load_pair(context: ssl.SSLContext, endpoint: ClientConfig) -> None:
    """The ssl module reads certificate and key from files only."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(endpoint.certificate + b"\n" + endpoint.key)
        context.load_cert_chain(name)
    except (OSError, ssl.SSLError) as error:
        raise SimkitError(f"certificate and key for {endpoint.url} cannot be used: {error}") from error
    finally:
        Path(name).unlink()
