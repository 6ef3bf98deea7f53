"""TLS: versions, cipher suites, certificates by name, and the header that asks browsers to insist on it."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from simkit.cli import main
from simkit.engine.http.certificates import CertificateFiles
from simkit.engine.http.keypair import make_authority
from simkit.engine.http.server import Server, ServingOptions
from simkit.engine.http.tls import TLSOptions, server_context
from simkit.meta.errors import SimkitError
from tests.engine.http.echo import Client, EchoHandler, trusting

NOW = datetime.now(UTC)
SPAN = (NOW - timedelta(days=1), NOW + timedelta(days=9))
ECDSA_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def spoken(
    server: Server, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, name: str = "localhost"
) -> tuple[str, str, str]:
    """Version, suite and common name that a server shows to a client who trusts anybody."""
    context = ssl._create_unverified_context()
    context.maximum_version = newest
    with (
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        der, cipher = sock.getpeercert(binary_form=True), sock.cipher()
        assert der is not None
        assert cipher is not None
        subject = x509.load_der_x509_certificate(der).subject.rfc4514_string()
        return sock.version() or "", cipher[0], subject


def test_oldest_version(shelf: EchoHandler, folder: Path) -> None:
    """A server that insists on version 1.3 speaks no older one; usually 1.2 is enough."""
    with Server(shelf, ServingOptions(certificate_folder=folder)) as usual:
        assert spoken(usual, newest=ssl.TLSVersion.TLSv1_2)[0] == "TLSv1.2"
    strict = ServingOptions(certificate_folder=folder, tls=TLSOptions("VersionTLS13"))
    with Server(shelf, strict) as server:
        assert spoken(server)[0] == "TLSv1.3"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            spoken(server, newest=ssl.TLSVersion.TLSv1_2)


def test_suites(shelf: EchoHandler, folder: Path) -> None:
    """Only the suites that are listed are spoken in version 1.2; those of 1.3 may be listed."""
    serving = ServingOptions(certificate_folder=folder, tls=TLSOptions("", ("TLS_AES_128_GCM_SHA256", ECDSA_SUITE)))
    with Server(shelf, serving) as server:
        assert spoken(server, newest=ssl.TLSVersion.TLSv1_2)[1] == "ECDHE-ECDSA-AES256-GCM-SHA384"


def test_certificates_by_name(shelf: EchoHandler, folder: Path, tmp_path: Path) -> None:
    """A client that asks for a name gets the certificate for it: named by the flag, or by the certificate itself."""
    authority = make_authority("others", SPAN)
    files = []
    for common, names in (("one", ["one.example"]), ("many", ["*.many.example"])):
        pair = authority.sign_server(common, (names, []), SPAN)
        (tmp_path / f"{common}.crt").write_bytes(pair.certificate_pem())
        (tmp_path / f"{common}.key").write_bytes(pair.key_pem())
        files.append((tmp_path / f"{common}.crt", tmp_path / f"{common}.key"))
    named = [(*files[0], ("given.example",)), (*files[1], ())]
    with Server(shelf, ServingOptions(certificate_folder=folder, tls=TLSOptions(named=named))) as server:
        assert spoken(server, name="given.example")[2] == "CN=one"
        assert spoken(server, name="a.MANY.example")[2] == "CN=many"
        assert spoken(server, name="localhost")[2] == spoken(server, name="one.example")[2] == "CN=kubernetes-apiserver"


def greeted(server: Server) -> bytes:
    """All that a server of version 1.2 says in the clear before the client shows a certificate."""
    context = ssl._create_unverified_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    read, written = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = context.wrap_bio(read, written, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    heard = b""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as plain:
        plain.sendall(written.read())
        while not heard.endswith(b"\x0e\x00\x00\x00"):  # ServerHelloDone
            heard += plain.recv(65536)
    return heard


def test_acceptable_authorities_are_named(shelf: EchoHandler, folder: Path, identities: CertificateFiles) -> None:
    """The handshake names the authorities of clients and front proxies, the made one among them, each once."""
    clients, proxies, strangers = (make_authority(name, SPAN) for name in ("clients", "proxies", "strangers"))
    bundle = clients.certificate_pem() * 2
    serving = ServingOptions(
        certificate_folder=folder, client_authorities=bundle, proxy_authorities=proxies.certificate_pem()
    )
    made = x509.load_pem_x509_certificate(identities.authority.read_bytes())
    with Server(shelf, serving) as server:
        heard = greeted(server)
    request = heard[heard.rindex(made.subject.public_bytes()) - 1000 :]
    for authority in (clients.certificate, proxies.certificate):
        assert request.count(authority.subject.public_bytes()) == 1
    assert strangers.certificate.subject.public_bytes() not in heard


def test_wrong_settings(identities: CertificateFiles) -> None:
    """A version or a suite that nobody knows is told."""
    own = identities.certificate, identities.key
    with pytest.raises(SimkitError, match=r'unknown tls version "1\.3"'):
        server_context(*own, settings=TLSOptions("1.3"))
    with pytest.raises(SimkitError, match="TLS_NONSENSE not supported or doesn't exist"):
        server_context(*own, settings=TLSOptions("", ("TLS_NONSENSE",)))


def test_transport_security(shelf: EchoHandler, folder: Path, identities: CertificateFiles) -> None:
    """The header is sent over TLS alone, and only where directives were given."""
    serving = ServingOptions(insecure_port=0, certificate_folder=folder, transport_security=("max-age=9", "preload"))
    with Server(shelf, serving) as server:
        secure, plain = Client(server.url, trusting(identities.authority)), Client(server.insecure_url or "")
        assert secure.ask("GET", "/a").headers["Strict-Transport-Security"] == "max-age=9; preload"
        assert plain.ask("GET", "/a").headers["Strict-Transport-Security"] is None
        secure.close()
        plain.close()


def test_wrong_flags(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A pair of files needs both."""
    assert main(["serve", "--cert-dir", str(tmp_path), "--tls-sni-cert-key", "a.crt"]) == 2
    assert "expected comma separated certificate and key file paths" in capsys.readouterr().err
