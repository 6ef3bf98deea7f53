"""Exchanges with servers that objects of the cluster name, and the door that they go through."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

import pytest

from simkit.engine.egress.peer import _context, fetch, send, whole
from simkit.engine.egress.policy import EgressPolicy, Peer, SkippedCall, Unreachable
from simkit.engine.http.keypair import make_authority
from simkit.meta.errors import SimkitError
from tests.engine.egress.service import SPAN, serving


def peer_of(url: str, authorities: bytes = b"", *, insecure: bool = False) -> Peer:
    host, port = url.removeprefix("https://").split(":")
    return Peer(host, int(port), host, authorities, insecure)


def test_an_answer_is_read_to_its_end(tmp_path: Path) -> None:
    """Status, body and content type."""
    with serving(tmp_path, lambda path, _: (201, {"path": path})) as service:
        peer = peer_of(service.url, service.authority.certificate_pem())
        found = fetch(peer, "GET", "/x?y=1", {"Host": "h"}, timeout=5)
    assert found == (201, b'{"path":"/x?y=1"}', "application/json")


def test_an_insecure_peer_is_not_verified(tmp_path: Path) -> None:
    """The certificate is not verified if the object says so."""
    with serving(tmp_path, lambda *_: (200, {})) as service:
        with pytest.raises(Unreachable, match="x509: certificate signed by unknown authority"):
            fetch(peer_of(service.url), "GET", "/", {}, timeout=5)
        assert fetch(peer_of(service.url, insecure=True), "GET", "/", {}, timeout=5)[0] == 200


def test_trusted_authorities_need_no_more_than_to_be_in_the_bundle() -> None:
    """As in Go: authorities that others signed are trusted, and OpenSSL's strict mode is off, whatever Python's default."""
    bundle = make_authority("root", SPAN).certificate_pem()
    context = _context(bundle, insecure=False, certificate=b"", key=b"")
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_answers_have_a_greatest_size(tmp_path: Path) -> None:
    """A larger answer is not read to its end."""
    with serving(tmp_path, lambda *_: (200, b"x" * 5000)) as service:
        peer = peer_of(service.url, service.authority.certificate_pem())
        with pytest.raises(Unreachable, match="larger than 1000 bytes"):
            fetch(peer, "GET", "/", {}, timeout=5, most=1000)


def test_a_bundle_that_is_none() -> None:
    """A CA bundle without a certificate is told as such."""
    with pytest.raises(Unreachable, match="unable to load root certificates"):
        fetch(Peer("127.0.0.1", 1, "x", b"nonsense"), "GET", "/", {}, timeout=1)


def test_plain_http_is_told_apart() -> None:
    """A server that does not speak TLS."""
    with socket.create_server(("127.0.0.1", 0)) as plain:
        thread = threading.Thread(target=_answer_plainly, args=(plain,), daemon=True)
        thread.start()
        with pytest.raises(Unreachable, match="server gave HTTP response to HTTPS client"):
            fetch(Peer("127.0.0.1", plain.getsockname()[1], "x"), "GET", "/", {}, timeout=5)
        thread.join()


def _answer_plainly(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_time_is_that_of_the_whole_exchange() -> None:
    """A server that lets bytes drip, each in time, is given up all the same."""
    with socket.create_server(("127.0.0.1", 0)) as dripping:
        stop = threading.Event()
        thread = threading.Thread(target=_drip, args=(dripping, stop), daemon=True)
        thread.start()
        with pytest.raises(Unreachable, match="context deadline exceeded"):
            fetch(Peer("127.0.0.1", dripping.getsockname()[1], "x"), "GET", "/", {}, timeout=0.5)
        stop.set()
        thread.join()


def _drip(listener: socket.socket, stop: threading.Event) -> None:
    """The beginning of a TLS record that never ends."""
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"\x16\x03\x03\x40\x00")
        while not stop.wait(0.05):
            try:
                connection.sendall(b"\x02")
            except OSError:
                return


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    """The time is that of the body too, for a server that promises more than it sends."""
    authority = make_authority("test-authority", SPAN)
    pair = authority.sign_server("localhost", (["localhost"], ["127.0.0.1"]), SPAN)
    (tmp_path / "server.pem").write_bytes(pair.certificate_pem() + pair.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_promise, args=(listener, context), daemon=True)
        thread.start()
        peer = Peer("127.0.0.1", listener.getsockname()[1], "localhost", authority.certificate_pem())
        exchange = send(peer, "GET", "/", [("Host", "localhost")], b"", timeout=20)
        with pytest.raises(Unreachable, match="context deadline exceeded"):
            whole(exchange, timeout=0.2, most=1000)
        thread.join()


@pytest.mark.slow
def test_a_body_that_comes_byte_by_byte_is_given_up(tmp_path: Path) -> None:
    """No byte is late, and the answer as a whole is."""
    authority = make_authority("test-authority", SPAN)
    pair = authority.sign_server("localhost", (["localhost"], ["127.0.0.1"]), SPAN)
    (tmp_path / "server.pem").write_bytes(pair.certificate_pem() + pair.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_drip_body, args=(listener, context, stop), daemon=True)
        thread.start()
        peer = Peer("127.0.0.1", listener.getsockname()[1], "localhost", authority.certificate_pem())
        with pytest.raises(Unreachable, match="context deadline exceeded"):
            fetch(peer, "POST", "/review", {"Host": "localhost"}, b"{}", timeout=1)
        stop.set()
        thread.join()


def _drip_body(listener: socket.socket, context: ssl.SSLContext, stop: threading.Event) -> None:
    """An answer whose bytes come one after the other, for as long as the client is there."""
    connection, _ = listener.accept()
    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
        secure.recv(1024)
        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not stop.wait(0.02):
            secure.sendall(b" ")


def _promise(listener: socket.socket, context: ssl.SSLContext) -> None:
    """The beginning of an answer; the rest is waited for until the client has gone."""
    connection, _ = listener.accept()
    with context.wrap_socket(connection, server_side=True) as secure:
        secure.recv(1024)
        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        with contextlib.suppress(OSError):
            secure.recv(1)


@pytest.mark.parametrize("address", ["127.0.0.1", "https://", "host:port"])
def test_addresses_that_are_none(address: str) -> None:
    """An address needs a host and a port."""
    with pytest.raises(SimkitError, match="is no host:port"):
        EgressPolicy(services={"a/b": address}).address("a", "b", 443)


def test_a_port_may_have_an_address_of_its_own() -> None:
    """The entry with the port wins over the one without."""
    egress = EgressPolicy(services={"a/b": "one:1", "a/b:8443": "https://two:2"})
    assert egress.address("a", "b", 443) == ("one", 1)
    assert egress.address("a", "b", 8443) == ("two", 2)
    assert egress.address("a", "c", 443) is None


def test_a_fork_starts_closed_and_with_a_clean_slate() -> None:
    """Functions and addresses are taken over, notes are not."""
    egress = EgressPolicy(services={"a/b": "one:1"}, functions={"w": lambda _: None})
    egress.note(SkippedCall("webhook", "w", "https://x", "CREATE pods a/b"))
    fork = egress.fork()
    assert (fork.allowed, fork.uncalled, fork.services, list(fork.functions)) == (False, [], egress.services, ["w"])
