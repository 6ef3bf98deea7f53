"""The HTTPS client of all outgoing calls: webhooks, identity providers, aggregated servers.

Failures have the words of Go's net/http and crypto/x509, which kube-apiserver puts into its answers.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import os
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Final

from simkit.engine.egress.policy import Peer, Unreachable
from simkit.meta.deadline import current_deadline

_UNKNOWN_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's numbers for chains that lead to no trusted authority."""
_MOST_PIECES: Final = 100_000
"""Pieces of a body, such as chunks, which cost some microseconds each however small they are."""
_BROKEN: Final = "net/http: HTTP/1.x transport connection broken"
_MOST_INTERIM: Final = 5
_LONGEST_TRAILER: Final = 4096
_MOST_ADDRESSES: Final = 16
_RESOLVERS: Final = 32
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
        Seconds that all of this may take together, however slowly bytes come; less where the deadline of this thread's
        request is earlier.

    Raises
    ------
    Unreachable
    """
    timeout = _until_deadline(timeout)
    try:
        connection = _Connection(peer, timeout)
    except http.client.InvalidURL as error:
        raise Unreachable(str(error)) from error
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
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: for what cannot be sent
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
    end = time.monotonic() + timeout
    peer_response = send(peer, method, target, headers.items(), body, timeout=timeout)
    content = whole(peer_response, timeout=max(0.0, end - time.monotonic()), most=most)
    return peer_response.response.status, content, peer_response.response.getheader("content-type") or ""


def whole(peer_response: PeerResponse, *, timeout: float, most: int) -> bytes:
    """The body of a response; closes its connection.

    Raises Unreachable for one that takes longer than the timeout (seconds), however its bytes come, or is larger than
    ``most`` bytes, or comes in more pieces than anybody would send.
    """
    watch = _Watch(peer_response.connection, _until_deadline(timeout))
    found, pieces = bytearray(), 0
    try:
        while part := peer_response.read(64 * 1024):
            found += part
            pieces += 1
            if len(found) > most:
                raise Unreachable(f"the answer is larger than {most} bytes")
            if pieces > _MOST_PIECES:
                raise Unreachable(f"the answer comes in more than {_MOST_PIECES} pieces")
    except Unreachable:
        if watch.expired:
            raise Unreachable("context deadline exceeded") from None
        raise
    finally:
        watch.stop()
        peer_response.close()
    if watch.expired:
        raise Unreachable("context deadline exceeded")
    return bytes(found)


def _until_deadline(seconds: float) -> float:
    """The seconds, or fewer where the request that this thread works for ends earlier."""
    deadline = current_deadline()
    return seconds if deadline is None else min(seconds, deadline.left)


class _Watch:
    """Ends a connection after its time limit, in any state."""

    def __init__(self, connection: _Connection, seconds: float) -> None:
        self.expired = False
        self._connection = connection
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        self.expired = self._connection.over = True
        if self._connection.opened is not None:
            _shut(self._connection.opened)

    def stop(self) -> None:
        self._timer.cancel()


class _TooMuch(http.client.HTTPException):
    """More than Go's client reads; the text is its own."""


class _Response(http.client.HTTPResponse):
    """A response that has its limits where Go's client has them: interim answers, and lines behind the last chunk."""

    _interim = 0

    def _read_status(self) -> tuple[str, int, str]:
        found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        self._interim += found[1] == http.client.CONTINUE
        if self._interim > _MOST_INTERIM:
            raise _TooMuch(f"{_BROKEN}: net/http: too many 1xx informational responses")
        return found

    def _read_and_discard_trailer(self) -> None:
        read = 0
        while (line := self.fp.readline(_LONGEST_TRAILER)).strip():
            read += len(line)
            if read >= _LONGEST_TRAILER:
                raise _TooMuch("http: suspiciously long trailer after chunked body")


@lru_cache(maxsize=1)
def _resolvers() -> ThreadPoolExecutor:
    """The threads that wait for name servers, which nobody can interrupt."""
    return ThreadPoolExecutor(_RESOLVERS, thread_name_prefix="simkit-names")


def _resolved(host: str, port: int, seconds: float) -> list[tuple[str, int]]:
    """The addresses of a host. Raises TimeoutError where its name servers are slow, and OSError where it has none."""
    with contextlib.suppress(ValueError):
        return [(str(ipaddress.ip_address(host)), port)]
    found = _resolvers().submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM).result(timeout=seconds)
    addresses = dict.fromkeys((str(each[4][0]), port) for each in found)
    return list(addresses)[:_MOST_ADDRESSES]


class _Connection(http.client.HTTPConnection):
    """A connection to one address under another name."""

    response_class = _Response

    def __init__(self, peer: Peer, timeout: float) -> None:
        super().__init__(peer.host, peer.port, timeout=timeout)
        self._peer = peer
        self._tls = _context(peer.authorities, peer.insecure, peer.certificate, peer.key) if peer.tls else None
        self.opened: socket.socket | None = None
        """The socket, also while only the response holds it."""
        self.over = False
        """True once its time has passed."""

    def connect(self) -> None:
        """Connect to the first address that answers; all addresses together have the time of one."""
        end = time.monotonic() + (self.timeout or 0.0)
        addresses = _resolved(self.host, self.port, self.timeout or 0.0)
        for number, address in enumerate(addresses):
            left = end - time.monotonic()
            if left <= 0 or self.over:
                raise TimeoutError
            try:
                self.sock = socket.create_connection(address, left / (len(addresses) - number))
                break
            except OSError:
                if number == len(addresses) - 1:
                    raise
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.opened = self.sock
        if self.over:  # the watch had nothing to end
            raise TimeoutError
        self.sock.settimeout(max(0.001, end - time.monotonic()))
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
    if isinstance(error, _TooMuch):
        return str(error)
    if isinstance(error, http.client.HTTPException):
        return f"{_BROKEN}: malformed HTTP response ({type(error).__name__})"
    if isinstance(error, ValueError):  # its text may hold a credential
        return "net/http: invalid header field value, host or path"
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
