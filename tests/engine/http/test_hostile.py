"""Clients that send too little, too much, too slowly, or two things at once: the others are served on."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http import request_state
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import BODY_LIMIT
from tests.engine.http.echo import Client

TOKENS = StaticTokens({"ann": Identity("ann"), "root": Identity("root", (MASTERS,))})
GET = b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n"
HEAD = b"POST /api/v1/namespaces HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A served cluster."""
    cluster = Cluster(options=Options(seed=1, authenticators=(TOKENS,)))
    with Server(
        APIServerHandler(cluster.engine), ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    ) as running:
        yield running


@pytest.fixture
def hasty(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """One that gives its clients little time."""
    monkeypatch.setattr(request_state, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(request_state, "BODY_SECONDS", 1.0)
    return server


def connect(server: Server) -> socket.socket:
    """An open connection to the plain port."""
    assert server.insecure_url
    return socket.create_connection(("127.0.0.1", int(server.insecure_url.rpartition(":")[2])), timeout=60)


def all_of(sock: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    parts = []
    try:
        while part := sock.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    finally:
        sock.close()
    return b"".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("begun", [b"", b"GET /ver", GET[:-2]])
def test_headers_that_do_not_come(hasty: Server, begun: bytes) -> None:
    """A connection on which no whole head comes ends without an answer; meanwhile others are served."""
    sock = connect(hasty)
    sock.sendall(begun)
    assert hasty.insecure_url
    other = Client(hasty.insecure_url)
    assert other.ask("GET", "/version").status == 200
    other.close()
    assert all_of(sock) == b""


def test_drip_feeding(hasty: Server) -> None:
    """A byte now and then does not give a client more time."""
    sock = connect(hasty)
    sock.setblocking(False)
    for _ in range(10_000):
        try:
            sock.send(b"a")
            if sock.recv(10) == b"":
                break
        except BlockingIOError:
            time.sleep(0.02)
        except (ConnectionResetError, BrokenPipeError):
            break
    else:
        pytest.fail("the connection was kept")
    sock.close()


@pytest.mark.slow
def test_second_requests_are_timed_too(hasty: Server) -> None:
    """Half a request after a whole one is waited for as briefly."""
    sock = connect(hasty)
    sock.sendall(GET + b"GET /ver")
    answer = all_of(sock)
    assert answer.count(b"HTTP/1.1 200") == 1


@pytest.mark.slow
def test_bodies_that_do_not_come(hasty: Server) -> None:
    """A body that is announced and not sent ends in the answer of a request that takes too long."""
    sock = connect(hasty)
    sock.sendall(HEAD + b"authorization: Bearer root\r\n\r\n{")
    answer = all_of(sock)
    assert answer.startswith(b"HTTP/1.1 504 ")
    assert b"request did not complete within the allotted timeout" in answer


@pytest.mark.parametrize("ahead", [b"", b"expect: 100-continue\r\n"])
@pytest.mark.parametrize(("token", "status"), [(b"wrong", b"401"), (b"ann", b"403")])
def test_refused_before_the_body_is_there(server: Server, token: bytes, status: bytes, ahead: bytes) -> None:
    """Whoever is unknown, or may not write, is told so before any of the body has come, and none of it is kept."""
    sock = connect(server)
    sock.sendall(HEAD + ahead + b"authorization: Bearer " + token + b"\r\n\r\n")
    assert sock.recv(65536).startswith(b"HTTP/1.1 " + status)
    sock.close()


def test_dropped_bodies_end_in_the_next_request(server: Server) -> None:
    """The rest of a refused request is neither read as a request nor in the way of the next one."""
    sock = connect(server)
    sock.sendall(HEAD + b"\r\n")
    assert b"HTTP/1.1 403 " in sock.recv(65536)
    sock.sendall((GET * 200_000)[:5_000_000] + GET.replace(b"host: x", b"host: x\r\nconnection: close"))
    assert re.findall(rb"HTTP/1.1 (\d+)", all_of(sock)) == [b"200"]


def test_bodies_hold_no_room(tmp_path: Path) -> None:
    """While the body of a request is on its way, others take its place."""
    options = Options(
        authenticators=(TOKENS,),
        authorization_mode=("AlwaysAllow",),
        max_mutating_requests_inflight=1,
        enable_priority_and_fairness=False,
    )
    cluster = Cluster(options=options)
    serving = ServingOptions(port=None, insecure_port=0, certificate_folder=tmp_path)
    with Server(APIServerHandler(cluster.engine), serving) as running:
        slow = connect(running)
        slow.sendall(HEAD.replace(b"5000000", b"2") + b"authorization: Bearer ann\r\n\r\n{")
        assert running.insecure_url
        client = Client(running.insecure_url)
        named = b'{"metadata":{"name":"a"}}'
        assert client.ask("POST", "/api/v1/namespaces", named, authorization="Bearer ann").status == 201
        client.close()
        slow.sendall(b"}")
        assert slow.recv(65536).startswith(b"HTTP/1.1 422 ")
        slow.close()


def test_size_is_checked_after_authorization(server: Server) -> None:
    """A client that may not write does not learn that its body is too large."""
    assert server.insecure_url
    client = Client(server.insecure_url)
    large = b" " * (BODY_LIMIT + 1)
    found = [
        client.ask("POST", "/api/v1/namespaces", large, authorization=f"Bearer {token}").status
        for token in ("wrong", "ann", "root")
    ]
    client.close()
    assert found == [401, 403, 413]


@pytest.mark.parametrize(
    "smuggled",
    [
        b"content-length: 4\r\ncontent-length: 40\r\n",
        b"content-length: 4\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        b"transfer-encoding: xchunked\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"content-length: +4\r\n",
        b"content-length: 4, 4\r\n",
        b"content-length : 4\r\n",
        b"content-length: -1\r\n",
        b"bad header: x\r\n",
        b"x: a\r\n folded: b\r\n",
    ],
)
def test_ambiguous_lengths(server: Server, smuggled: bytes) -> None:
    """A message whose length two readers could take for different ones is refused, and nothing behind it is read."""
    sock = connect(server)
    hidden = b"GET /livez HTTP/1.1\r\nhost: x\r\nauthorization: Bearer root\r\n\r\n"
    sock.sendall(b"POST /version HTTP/1.1\r\nhost: x\r\n" + smuggled + b"\r\n0\r\n\r\n" + hidden)
    answer = all_of(sock)
    assert not answer.startswith(b"HTTP/1.1 200")
    assert b"\r\n\r\nok" not in answer


UPGRADES = [b"websocket", b"h2c", b"SPDY/3.1", b"websocket\r\nupgrade: h2c"]


@pytest.mark.parametrize("protocol", UPGRADES)
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_bodies_of_upgrades_are_no_requests(server: Server, protocol: bytes, pause: float) -> None:
    """The body of a request that asks for another protocol is its body, and what stands behind it the next request."""
    sock = connect(server)
    hidden = b"GET /livez HTTP/1.1\r\nhost: x\r\nauthorization: Bearer root\r\n\r\n"
    ahead = b"connection: upgrade\r\nupgrade: " + protocol + b"\r\nauthorization: Bearer root\r\n"
    head = b"POST /api/v1/namespaces HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n" % len(hidden)
    last = GET.replace(b"host: x", b"host: x\r\nconnection: close")
    whole = [head + ahead + b"\r\n", hidden, last]
    for piece in whole if pause else [b"".join(whole)]:
        sock.sendall(piece)
        time.sleep(pause)
    answer = all_of(sock)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"400", b"200"]
    assert b"\r\n\r\nok" not in answer
    assert b"couldn't get version/kind" in answer


def test_many_upgrades_at_once(server: Server) -> None:
    """Any number of such requests may come together."""
    sock = connect(server)
    asking = b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    sock.sendall(asking * 1500 + GET.replace(b"host: x", b"host: x\r\nconnection: close"))
    assert all_of(sock).count(b"HTTP/1.1 200") == 1501


def test_pipelined_requests_keep_their_own_credentials(server: Server) -> None:
    """Each request on a connection is known by its own headers, not by those of the one before."""
    sock = connect(server)
    path = b"GET /api/v1/secrets HTTP/1.1\r\nhost: x\r\n"
    known, last = b"authorization: Bearer root\r\n\r\n", b"connection: close\r\n\r\n"
    sock.sendall(path + known + path + b"authorization: Bearer ann\r\n\r\n" + path + last)
    assert re.findall(rb"HTTP/1.1 (\d+)", all_of(sock)) == [b"200", b"403", b"403"]


def test_many_silent_connections(server: Server) -> None:
    """Hundreds of connections that say nothing do not keep a client from its answer."""
    silent = [connect(server) for _ in range(300)]
    assert server.insecure_url
    client = Client(server.insecure_url)
    assert client.ask("GET", "/version").status == 200
    client.close()
    for sock in silent:
        sock.close()


TRAILERS = b"Authorization: Bearer root\r\nImpersonate-User: root\r\nX-Remote-User: root\r\n"


@pytest.mark.parametrize("ahead", [b"", b"expect: 100-continue\r\n"])
def test_trailers_are_no_headers(server: Server, ahead: bytes) -> None:
    """Trailers do not change the identity of a request, even if no header gave one."""
    sock = connect(server)
    head = b"POST /api/v1/secrets HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n"
    sock.sendall(head + ahead + b"trailer: authorization\r\n\r\n2\r\n{}\r\n0\r\n" + TRAILERS + b"\r\n")
    answer = all_of(sock)
    assert b"HTTP/1.1 403" in answer
    assert b'User \\"system:anonymous\\" cannot create' in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "headers"),
    [
        (b"/api/v1/pods", b"a: b\r\n" * 150_000),
        (b"/api/v1/pods?" + b"a&" * 400_000, b""),
        (b"/api/v1/pods?fieldSelector=metadata.name%3Dx" + b"%20" * 200_000 + b"y", b""),
        (b"/api/v1/pods", b"x-forwarded-for: " + b"1.1.1.1," * 100_000 + b"\r\n"),
        (b"/api/v1/pods", b"accept: " + b"a/b," * 200_000 + b"\r\n"),
        (b"/api/v1/pods", b"authorization: bearer " + b"a." * 400_000 + b"\r\n"),
    ],
)
def test_large_heads(server: Server, target: bytes, headers: bytes) -> None:
    """A head as large as it may be is answered: each part is read in one pass (those that were not took minutes)."""
    sock = connect(server)
    sock.sendall(b"GET " + target + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + headers + b"\r\n")
    assert all_of(sock).startswith(b"HTTP/1.1 40")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"CONNECT a:443 HTTP/1.1", b"400"),
        (b"OPTIONS * HTTP/1.1", b"403"),
        (b"GET * HTTP/1.1", b"403"),
        (b"GET http://elsewhere/api/v1/secrets HTTP/1.1", b"403"),
        (b"GET http:// HTTP/1.1", b"400"),
        (b"GET http://a:99999999/ HTTP/1.1", b"400"),
        (b"GET //elsewhere/api/v1/secrets HTTP/1.1", b"403"),
        (b"get /api/v1/secrets HTTP/1.1", b"403"),
        (b"FOO /api/v1/secrets HTTP/1.1", b"403"),
        (b"M!X /version HTTP/1.1", b"403"),
        (b"FO/O /version HTTP/1.1", b"400"),
        (b"FOO /version HTTP/2.0", b"505"),
        (b"PRI * HTTP/2.0", b"400"),
        (b"GET /api/v1/secrets\x00 HTTP/1.1", b"400"),
        (b"GET /api/v1/\xff HTTP/1.1", b"400"),
        (b"GET /api/v1/%ff HTTP/1.1", b"403"),
        (b"GET /api/v1/%zz HTTP/1.1", b"400"),
        (b"GET /api/v1/% HTTP/1.1", b"400"),
        (b"GET /api/v1/a%2 HTTP/1.1", b"400"),
        (b"GET /api/v1/pods?a=%zz HTTP/1.1", b"403"),
        (b"GET api/v1/secrets HTTP/1.1", b"400"),
        (b"TRACE /api/v1/secrets HTTP/1.1", b"403"),
        (b"GET /api/v1/secrets HTTP/3.0", b"505"),
        (b"GET /api/v1/secrets HTTP/2.0", b"505"),
        (b"GET /api/v1/secrets HTTP/0.9", b"505"),
        (b"GET /api/v1/secrets HTTP/1.11", b"400"),
        (b"GET /api/v1/secrets HTTP/x", b"400"),
    ],
)
def test_strange_request_lines(server: Server, line: bytes, status: bytes) -> None:
    """Malformed requests, and those for another server, are refused like any other that its sender may not make."""
    sock = connect(server)
    sock.sendall(line + b"\r\nhost: x\r\nauthorization: Bearer ann\r\nconnection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", all_of(sock)) == [status]


@pytest.mark.parametrize(
    ("version", "hosts", "status", "told"),
    [
        (b"1.1", [], b"400", b"400 Bad Request: missing required Host header"),
        (b"1.0", [], b"403", b""),
        (b"1.1", [b""], b"403", b""),
        (b"1.1", [b"a", b"a"], b"400", b"400 Bad Request"),
        (b"1.1", [b"a b"], b"400", b"400 Bad Request: malformed Host header"),
        (b"1.1", [b"a/b"], b"400", b"400 Bad Request: malformed Host header"),
        (b"1.1", [b"[::1]:6443"], b"403", b""),
        (b"1.1", [b"\xc3\xa4"], b"400", b"400 Bad Request: malformed Host header"),
    ],
)
def test_hosts(server: Server, version: bytes, hosts: list[bytes], status: bytes, told: bytes) -> None:
    """HTTP/1.1 wants one Host, in letters that an address may have, as Go's server does."""
    sock = connect(server)
    lines = b"".join(b"host: %s\r\n" % host for host in hosts)
    sock.sendall(b"GET /api/v1/secrets HTTP/" + version + b"\r\n" + lines + b"connection: close\r\n\r\n")
    answer = all_of(sock)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [status]
    assert told in answer


def test_no_headers_at_all(server: Server) -> None:
    """The shortest request lacks its Host too, also as the second one on its connection."""
    for ahead, found in ((b"", [b"400"]), (GET, [b"200", b"400"]), (GET * 2, [b"200", b"200", b"400"])):
        sock = connect(server)
        sock.sendall(ahead + b"GET /version HTTP/1.1\r\n\r\n")
        assert re.findall(rb"HTTP/1.1 (\d+)", all_of(sock)) == found
    sock = connect(server)
    sock.sendall(GET + GET.replace(b"HTTP/1.1", b"HTTP/2.0"))
    assert re.findall(rb"HTTP/1.1 (\d+)", all_of(sock)) == [b"200", b"505"]


def test_a_request_with_an_unlisted_method_has_a_body_and_a_successor(server: Server) -> None:
    """The body belongs to it, and the connection goes on with the next request."""
    sock = connect(server)
    body = b"GET /nope HTTP/1.1\r\nhost: x\r\n\r\n"
    sock.sendall(b"FOO /version HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    time.sleep(0.1)
    sock.sendall(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    answer = all_of(sock)
    assert answer.count(b"HTTP/1.1 ") == 2
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"gitVersion" in answer
