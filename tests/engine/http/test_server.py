"""Requests over real sockets: what reaches the engine, and what comes back."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from simkit.engine.authn.x509 import ClientCertificates
from simkit.engine.http import tls
from simkit.engine.http.certificates import CertificateFiles
from simkit.engine.http.keypair import KeyPair, make_authority
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.clock import SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.message import BODY_LIMIT, Credentials
from tests.engine.http.echo import Client, EchoHandler, eventually, trusting
from tests.releases import BASE

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_parts_of_a_request(secure: Client, shelf: EchoHandler) -> None:
    """The path stays encoded, query and headers keep repeated and blank values, the body arrives whole."""
    secure.connection.putrequest("PUT", "/a%2Fb/c?x=1&x=%202&blank=&y", skip_accept_encoding=True)
    for name, value in (("X-Many", "a"), ("x-many", "b"), ("Content-Length", "3")):
        secure.connection.putheader(name, value)
    secure.connection.endheaders(b"abc")
    assert secure.connection.getresponse().read()
    (request,) = shelf.requests
    assert (request.method, request.path, request.body) == ("PUT", "/a%2Fb/c", b"abc")
    assert request.query == {"x": ["1", " 2"], "blank": [""], "y": [""]}
    assert request.headers["x-many"] == ("a", "b")
    assert request.certificates == ()


@pytest.mark.parametrize("path", ["/somewhere", "/blocking"])
@pytest.mark.parametrize("ahead", ["", "Expect: 100-continue\r\n"])
def test_bodies_in_pieces(plain: Client, shelf: EchoHandler, path: str, ahead: str) -> None:
    """A body that comes in pieces arrives whole, wherever the request is answered, and the next request is read."""
    sock = socket.create_connection((plain.host, plain.port), timeout=10)
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n{ahead}\r\n"
    for piece in (head, "ab", "cd", f"efGET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"):
        sock.sendall(piece.encode())
        time.sleep(0.02)
    answers = b"".join(iter(lambda: sock.recv(65536), b""))
    sock.close()
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [*([b"100"] if ahead else []), b"200", b"200"]
    assert [(request.method, request.body) for request in shelf.requests] == [("PUT", b"abcdef"), ("GET", b"")]


def test_headers_of_an_answer(secure: Client) -> None:
    """Every answer has a length, a date, an audit identifier and forbids caching."""
    answer = secure.ask("GET", "/api")
    assert answer.headers["Content-Length"] == str(len(answer.body))
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-cache, private"
    assert UUID.fullmatch(answer.headers["Audit-Id"])
    assert answer.headers["Date"]
    assert secure.ask("GET", "/api", Audit_ID="mine").headers["Audit-Id"] == "mine"


def test_header_values_cannot_break_out(plain: Client) -> None:
    """Line breaks in a header value become spaces, and repeated headers stay apart."""
    answer = plain.ask("GET", "/headers")
    assert answer.headers.get_all("Warning") == ["299 - a  set-cookie: b", "299 - c"]
    assert "set-cookie" not in answer.headers


def test_one_connection_serves_many_requests(secure: Client, shelf: EchoHandler) -> None:
    """Connections are kept alive, whatever kind of request came before."""
    first = secure.ask("GET", "/a")
    local = secure.connection.sock.getsockname()
    for target in ("/blocking", "/large?size=200000", "/empty", "/b"):
        secure.ask("GET", target, Accept_Encoding="gzip")
    assert first.status == 200
    assert secure.connection.sock.getsockname() == local
    assert len(shelf.requests) == 5


def test_close_on_request(plain: Client) -> None:
    """A client that wants the connection closed gets it closed."""
    assert plain.ask("GET", "/a", Connection="close").headers["Connection"] == "close"


def test_head(plain: Client) -> None:
    """HEAD has the headers of the answer and no body, and leaves the connection usable."""
    answer = plain.ask("HEAD", "/large?size=70000")
    assert (answer.headers["Content-Length"], answer.body) == ("70000", b"")
    assert plain.ask("GET", "/a").status == 200


def test_no_length_without_content(plain: Client) -> None:
    """304 says nothing about a length."""
    answer = plain.ask("GET", "/empty")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (304, None, b"")


@pytest.mark.parametrize(("size", "accepted", "encoded"), [
    (128 * 1024 + 1, "deflate, gzip", "gzip"),
    (3_000_000, "gzip", "gzip"),
    (128 * 1024, "gzip", None),
    (200_000, "gzip;q=1.0", None),
    (200_000, "", None),
])  # fmt: skip
def test_gzip(secure: Client, size: int, accepted: str, encoded: str | None) -> None:
    """Bodies above 128 KiB are compressed for clients that take gzip."""
    answer = secure.ask("GET", f"/large?size={size}", Accept_Encoding=accepted)
    assert answer.headers["Content-Encoding"] == encoded
    body = gzip.decompress(answer.body) if encoded else answer.body
    assert body == b"x" * size
    assert answer.headers["Vary"] == ("Accept-Encoding" if encoded else None)


def test_body_at_the_limit(plain: Client, shelf: EchoHandler) -> None:
    """A body of exactly 3 MiB reaches the engine."""
    assert plain.ask("POST", "/a", b"x" * BODY_LIMIT).object["size"] == BODY_LIMIT


@pytest.mark.parametrize("more", [{}, {"Expect": "100-continue"}])
def test_body_above_the_limit(secure: Client, shelf: EchoHandler, more: dict[str, str]) -> None:
    """Of a larger body the engine sees that it is too large, and not all of it; the connection stays usable."""
    answer = secure.ask("POST", "/a", b"x" * (8 * BODY_LIMIT), **more)
    assert BODY_LIMIT < answer.object["size"] < 2 * BODY_LIMIT
    assert secure.ask("GET", "/a").status == 200


def test_blocking_requests_leave_the_loop_alone(
    server: Server, identities: CertificateFiles, shelf: EchoHandler
) -> None:
    """A request that may wait or compute runs on a worker thread, any other in the loop's own."""
    client = Client(server.url, trusting(identities.authority))
    for path in ("/blocking", "/computing", "/a"):
        client.ask("GET", path)
    client.close()
    found = {name.rpartition("_")[0] or name for name in shelf.threads}
    assert found == {"simkit-waiting", "simkit-computing", "simkit-server"}


def raw(server: Server, data: bytes) -> bytes:
    """The answer of the plain port to these bytes until it closes."""
    with socket.create_connection(("127.0.0.1", int(str(server.insecure_url).rpartition(":")[2])), timeout=10) as sock:
        sock.sendall(data)
        said = b""
        while part := sock.recv(65536):
            said += part
    return said


@pytest.mark.parametrize(
    "data", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"]
)
def test_bad_messages(server: Server, shelf: EchoHandler, data: bytes) -> None:
    """A message that is no HTTP is answered 400 and ends the connection."""
    assert raw(server, data).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert shelf.requests == []


def test_endless_headers(server: Server) -> None:
    """Headers of more than a megabyte are refused, even when they never end."""
    assert raw(server, b"GET / HTTP/1.1\r\nx: " + b"y" * (1024 * 1024 + 1)).startswith(b"HTTP/1.1 431 ")


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    """Requests sent at once are answered one after another, a blocking one among them."""
    targets = ["/a", "/blocking", "/b", "/c"]
    lines = [f"GET {target} HTTP/1.1\r\nHost: x\r\n" for target in targets]
    lines[-1] += "Connection: close\r\n"
    said = raw(server, "".join(line + "\r\n" for line in lines).encode())
    bodies = [part.partition(b"HTTP/1.1")[0] for part in said.split(b"\r\n\r\n")[1:]]
    assert [orjson.loads(body).get("path") for body in bodies] == ["/a", None, "/b", "/c"]


def test_absolute_targets_and_chunked_bodies(server: Server, shelf: EchoHandler) -> None:
    """A target with scheme and host means its path; a body in chunks arrives whole."""
    chunked = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert raw(server, b"POST http://box/x?y=1 HTTP/1.1\r\nHost: box\r\n" + chunked).startswith(b"HTTP/1.1 200 OK\r\n")
    (request,) = shelf.requests
    assert (request.path, request.query, request.body) == ("/x", {"y": ["1"]}, b"abcde")


def offering(authority: Path, pair: KeyPair, folder: Path) -> ssl.SSLContext:
    """A client's TLS context with a certificate of its own."""
    (folder / "client.crt").write_bytes(pair.certificate_pem())
    (folder / "client.key").write_bytes(pair.key_pem())
    context = trusting(authority)
    context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


def span(start: float, end: float) -> tuple[datetime, datetime]:
    """Days from now."""
    now = datetime.now(UTC)
    return now + timedelta(days=start), now + timedelta(days=end)


@pytest.mark.parametrize(("days", "user"), [((-1, 1), "ann"), ((-9, -1), None), ((1, 9), None)])
def test_client_certificates(
    server: Server,
    identities: CertificateFiles,
    shelf: EchoHandler,
    tmp_path: Path,
    days: tuple[int, int],
    user: str | None,
) -> None:
    """The peer's certificate reaches the engine, even out of its time: it is judged there, not in the handshake."""
    authority = KeyPair.load(identities.authority.read_bytes(), identities.authority.with_name("ca.key").read_bytes())
    context = offering(identities.authority, authority.sign_client("ann", ["devs"], span(*days)), tmp_path)
    client = Client(server.url, context)
    for target in ("/a", "/blocking"):
        assert client.ask("GET", target).status == 200
    client.close()
    verifier = ClientCertificates(BASE, identities.authority.read_bytes(), SystemClock())
    for request in shelf.requests:
        credentials = Credentials(certificates=request.certificates)
        if user is None:
            with pytest.raises(Exception, match="Unauthorized"):
                verifier.authenticate(credentials)
        else:
            identity = verifier.authenticate(credentials)
            assert identity is not None
            assert (identity.user, identity.groups) == ("ann", ("devs",))


def test_intermediate_authorities(
    server: Server, identities: CertificateFiles, shelf: EchoHandler, tmp_path: Path
) -> None:
    """The whole chain that a client sends reaches the engine, leaf first."""
    root = KeyPair.load(identities.authority.read_bytes(), identities.authority.with_name("ca.key").read_bytes())
    between = root.sign_authority("between", span(-1, 1))
    leaf = between.sign_client("ann", [], span(-1, 1))
    context = offering(identities.authority, leaf, tmp_path)
    chain = tmp_path / "chain.crt"
    chain.write_bytes(leaf.certificate_pem() + between.certificate_pem())
    context.load_cert_chain(chain, tmp_path / "client.key")
    client = Client(server.url, context)
    client.ask("GET", "/a")
    client.close()
    assert [ssl.DER_cert_to_PEM_cert(der).encode() for der in shelf.requests[0].certificates] == [
        leaf.certificate_pem(),
        between.certificate_pem(),
    ]


def test_unknown_authorities_reach_the_engine(
    server: Server, identities: CertificateFiles, shelf: EchoHandler, tmp_path: Path
) -> None:
    """A certificate of an authority that nobody named is not refused by TLS: authenticators answer 401."""
    other = make_authority("other", span(-1, 1)).sign_client("ann", [], span(-1, 1))
    client = Client(server.url, offering(identities.authority, other, tmp_path))
    assert client.ask("GET", "/a").status == 200
    client.close()
    [seen] = shelf.requests[0].certificates
    assert ssl.DER_cert_to_PEM_cert(seen).encode() == other.certificate_pem()


def test_certificates_without_access_to_openssl(
    monkeypatch: pytest.MonkeyPatch, shelf: EchoHandler, folder: Path, identities: CertificateFiles, tmp_path: Path
) -> None:
    """If its switch cannot be set, OpenSSL itself ends the handshake with such a certificate, and no other."""
    monkeypatch.setattr(tls, "_OLDEST_UNTRIED", (3, 0))
    authority = KeyPair.load(identities.authority.read_bytes(), identities.authority.with_name("ca.key").read_bytes())
    with Server(shelf, ServingOptions(certificate_folder=folder)) as server:
        known = Client(
            server.url, offering(identities.authority, authority.sign_client("a", [], span(-1, 1)), tmp_path)
        )
        assert known.ask("GET", "/a").status == 200
        known.close()
        other = make_authority("other", span(-1, 1)).sign_client("ann", [], span(-1, 1))
        client = Client(server.url, offering(identities.authority, other, tmp_path))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            client.ask("GET", "/a")
        client.close()


def test_kubeconfig(server: Server, shelf: EchoHandler, tmp_path: Path) -> None:
    """The client configuration leads an administrator to the server, and is private."""
    assert server.kubeconfig == tmp_path / "kubeconfig"
    assert server.kubeconfig.stat().st_mode & 0o777 == 0o600
    config = orjson.loads(server.kubeconfig.read_bytes())
    assert config["clusters"][0]["cluster"]["server"] == server.url
    assert config["current-context"] == config["contexts"][0]["name"]
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}


def test_a_taken_port_names_its_holder(server: Server, shelf: EchoHandler, folder: Path) -> None:
    """A second server on the same port is refused, and the message says which server of this process has it."""
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(SimkitError, match=f"port {port} is held by <simkit server at {re.escape(server.url)}"):
        Server(shelf, ServingOptions(port=port, certificate_folder=folder)).start()


def test_a_port_taken_by_somebody_else(shelf: EchoHandler, folder: Path) -> None:
    """A port of another process is refused without a name, and an HTTPS port opened before is given back."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        server = Server(shelf, ServingOptions(insecure_port=taken, certificate_folder=folder))
        with pytest.raises(SimkitError, match=f"port {taken} on 127.0.0.1 is held by another process"):
            server.start()
        assert not server.running


def test_stop_and_start_again(shelf: EchoHandler, folder: Path) -> None:
    """A stopped server gives its port back at once, and can be started again on it."""
    with Server(shelf, ServingOptions(port=None, insecure_port=0)) as first:
        assert first.insecure_url == first.url
        port = int(first.url.rpartition(":")[2])
        client = Client(first.url)
        assert client.ask("GET", "/a").status == 200
        assert repr(first) == f"<simkit server at http://127.0.0.1:{port}>"
        with pytest.raises(SimkitError, match="runs already"):
            first.start()
    client.close()
    assert repr(first) == "<simkit server, stopped>"
    with pytest.raises(SimkitError, match="does not run"):
        _ = first.url
    again = Server(shelf, ServingOptions(port=None, insecure_port=port)).start()
    again.stop()
    again.stop()
    assert not again.running


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that would wait for its clients waits for ever."""
    monkeypatch.setattr("simkit.engine.http.serving.GRACE", 10_000)


@pytest.mark.usefixtures("patient")
def test_stopping_ends_watches(server: Server, plain: Client, shelf: EchoHandler) -> None:
    """A server that stops ends its watches cleanly and does not wait for them."""
    plain.connection.request("GET", "/stream")
    response = plain.connection.getresponse()
    server.stop()
    assert response.read() == b""
    assert shelf.taps[0].closed


def test_idle_tls_connections_do_not_delay_the_stop(server: Server, secure: Client) -> None:
    """A client that keeps its connection open is cut off."""
    secure.ask("GET", "/a")
    server.stop()
    with pytest.raises((http.client.HTTPException, OSError)):
        secure.ask("GET", "/a")


def test_wrong_settings(shelf: EchoHandler, folder: Path) -> None:
    """Settings that cannot be are refused before anything listens."""
    with pytest.raises(SimkitError, match="needs a port"):
        Server(shelf, ServingOptions(port=None))
    with pytest.raises(SimkitError, match="given together"):
        Server(shelf, ServingOptions(certificate_file=Path("a")))
    with pytest.raises(SimkitError, match="needs HTTPS"):
        Server(shelf, ServingOptions(port=None, insecure_port=0, kubeconfig=Path("a"))).start()
    with pytest.raises(SimkitError, match="cannot serve with certificate"):
        Server(
            shelf,
            ServingOptions(certificate_folder=folder, certificate_file=folder / "ca.crt", key_file=folder / "sa.key"),
        ).start()


def test_a_process_ends_with_its_server_running(folder: Path) -> None:
    """An interpreter that is left with a running server ends, and quickly."""
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.engine.http.echo import EchoHandler\n"
        "from simkit.engine.http.server import Server, ServingOptions\n"
        "print(Server(EchoHandler(), ServingOptions(certificate_folder=Path(sys.argv[1]))).start().url)\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert done.stdout.startswith(b"https://127.0.0.1:")
    assert done.stderr == b""


def test_missing_client_leaves_nothing(server: Server, shelf: EchoHandler) -> None:
    """A client that goes away in the middle of a body leaves no request behind."""
    port = int(str(server.insecure_url).rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
    assert not eventually(lambda: bool(shelf.requests), 0.1)
