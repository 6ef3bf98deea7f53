"""The HTTPS client of all outgoing calls: webhooks, identity providers, aggregated servers.

Failures have the words of Go's net/http and crypto/x509, which kube-apiserver puts into its answers.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from simkit.engine.egress.address import Peer, Unreachable

_UNKNOWN_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's numbers for chains that lead to no trusted authority."""
_OUT_OF_TIME: Final = frozenset({9, 10})
_OTHER_HOST: Final = frozenset({62, 63, 64})


class PeerResponse:
    """A request that was sent, and whose response is being read.

    Attributes
    ----------
    response
        Status, headers and the body, which is read with ``read``.
    """

    def __init__(self, connection: _Connection, response: http.client.HTTPResponse) -> None:
        self.connection, self.response = connection, response
        assert connection.opened is not None
        self.sock = connection.opened

    def read(self, most: int) -> bytes:
        """Some bytes of the body, empty at its end. Raises Unreachable if the connection breaks."""
        try:
            return self.response.read1(most)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(_worded(error, "", 0)) from error

    def cut(self) -> None:
        """End the connection while another thread reads; that thread then gets the end."""
        _shut(self.sock)

    def close(self) -> None:
        """Close the connection, in the thread that reads."""
        _shut(self.sock)
        self.connection.close()
        self.response.close()


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side may have shut it already
        sock.shutdown(socket.SHUT_RDWR)


def send(
    peer: Peer, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes, *, timeout: float
) -> PeerResponse:
    """The beginning of a response: status and headers, with the body to be read.

    Parameters
    ----------
    timeout
        Seconds that all of this may take together, however slowly bytes come.

    Raises
    ------
    Unreachable
    """
    connection = _Connection(peer, timeout)
    watch = _Watch(connection, timeout)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body or None)
        response = connection.getresponse()
        peer_response = PeerResponse(connection, response)
        peer_response.sock.settimeout(None)
        return peer_response
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        text = "context deadline exceeded" if watch.expired else _worded(error, peer.host, peer.port)
        raise Unreachable(text) from error
    finally:
        watch.stop()


def fetch(
    peer: Peer,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    timeout: float,
    most: int = 16 * 1024 * 1024,
) -> tuple[int, bytes, str]:
    """Status, body and content type of a whole response. Raises Unreachable, also if it is larger than ``most``.

    The time is that of the whole exchange.
    """
    peer_response = send(peer, method, target, headers.items(), body, timeout=timeout)
    content = whole(peer_response, timeout=timeout, most=most)
    return peer_response.response.status, content, peer_response.response.getheader("content-type") or ""


def whole(peer_response: PeerResponse, *, timeout: float, most: int) -> bytes:
    """The body of a response; closes its connection.

    Raises Unreachable for one that takes longer than the timeout (seconds), however its bytes come, or is larger than
    ``most`` bytes.
    """
    watch = _Watch(peer_response.connection, timeout)
    parts: list[bytes] = []
    size = 0
    try:
        while part := peer_response.read(64 * 1024):
            parts.append(part)
            size += len(part)
            if size > most:
                raise Unreachable(f"the answer is larger than {most} bytes")
    except Unreachable:
        if watch.expired:
            raise Unreachable("context deadline exceeded") from None
        raise
    finally:
        watch.stop()
        peer_response.close()
    if watch.expired:
        raise Unreachable("context deadline exceeded")
    return b"".join(parts)


class _Watch:
    """Ends a connection after its time limit, in any state."""

    def __init__(self, connection: _Connection, seconds: float) -> None:
        self.expired = False
        self._connection = connection
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        self.expired = True
        if self._connection.opened is not None:
            _shut(self._connection.opened)

    def stop(self) -> None:
        self._timer.cancel()


class _Connection(http.client.HTTPConnection):
    """A connection to one address under another name."""

    def __init__(self, peer: Peer, timeout: float) -> None:
        super().__init__(peer.host, peer.port, timeout=timeout)
        self._peer = peer
        self._tls = _context(peer.authorities, peer.insecure, peer.certificate, peer.key) if peer.tls else None
        self.opened: socket.socket | None = None
        """The socket, also while only the response holds it."""

    def connect(self) -> None:
        super().connect()
        self.opened = self.sock
        if self._tls is not None:
            self.opened = self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._peer.name)


@lru_cache(maxsize=256)
def _context(authorities: bytes, insecure: bool, certificate: bytes, key: bytes) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=authorities.decode("ascii", "ignore") or None)
    except ssl.SSLError:
        text = "unable to load root certificates: unable to parse bytes as PEM block"
        raise Unreachable(text) from None
    # As in Go: whatever is in the bundle is trusted, roots of version 1 and authorities that others signed among it.
    context.verify_flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    if insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load certificate and key from temporary files, since the ssl module reads only files."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    except ssl.SSLError as error:
        raise Unreachable(f"tls: the certificate and the key cannot be used together: {error.reason}") from None
    finally:
        Path(name).unlink()


def _worded(error: Exception, host: str, port: int) -> str:
    """The words of Go's net/http for an error."""
    where = f"dial tcp {host}:{port}: "
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ConnectionRefusedError):
        return f"{where}connect: connection refused"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {_distrust(error)}"
    if isinstance(error, ssl.SSLError):
        plain = error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
        return "http: server gave HTTP response to HTTPS client" if plain else f"remote error: tls: {error.reason}"
    if isinstance(error, http.client.RemoteDisconnected):
        return "EOF"
    if isinstance(error, http.client.HTTPException):
        return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response ({type(error).__name__})"
    reason = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else str(error)
    return f"{where}connect: {reason}"


def _distrust(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "x509: certificate signed by unknown authority"
    if error.verify_code in _OUT_OF_TIME:
        return "x509: certificate has expired or is not yet valid"
    if error.verify_code in _OTHER_HOST:
        return f"x509: {error.verify_message[0].lower()}{error.verify_message[1:]}"
    return f"x509: {error.verify_message}"
