"""Messages whose end two readers could see in different places: what is refused, and that nothing behind it is read."""

from __future__ import annotations

import re

import pytest

from simkit.engine.http.server import Server
from tests.engine.http.test_hostile import all_of, connect, server

__all__ = ["server"]
BODY = b'{"metadata":{"name":"smuggler"}}'
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
BEHIND = b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
LAST = b"transfer-encoding: chunked\r\n"


def answers(server: Server, head: bytes, body: bytes, version: bytes = b"1.1") -> list[bytes]:
    """The status of each answer to a write of somebody unknown, and to a request behind it."""
    sock = connect(server)
    line = b"POST /api/v1/namespaces HTTP/%s\r\nhost: x\r\n" % version
    sock.sendall(line + head + b"\r\n" + body + BEHIND)
    return re.findall(rb"HTTP/1.1 (\d+)", all_of(sock))


@pytest.mark.parametrize(
    "head",
    [
        b"transfer-encoding: gzip, chunked\r\n",
        b"transfer-encoding: identity, chunked\r\n",
        b"transfer-encoding: gzip\r\n" + LAST,
        b"transfer-encoding: gzip\r\n",
        b"transfer-encoding: xchunked\r\n",
        b'transfer-encoding: "chunked"\r\n',
        b"transfer-encoding: chunked;q=1\r\n",
    ],
)
def test_codings(server: Server, head: bytes) -> None:
    """Another coding than a single chunked is 501, as in Go, and ends the connection."""
    assert answers(server, head, CHUNKED) == [b"501"]


@pytest.mark.parametrize(
    "head",
    [
        b"transfer-encoding: chunked, identity\r\n",
        b"transfer-encoding: chunked, chunked\r\n",
        b"transfer-encoding:\r\n" + LAST,
        LAST + LAST,
    ],
)
def test_codings_that_cannot_be_read(server: Server, head: bytes) -> None:
    """Several that name chunked end the connection too."""
    assert answers(server, head, CHUNKED) == [b"400"]


@pytest.mark.parametrize("head", [LAST, b"transfer-encoding: Chunked\r\n", b"Transfer-Encoding:\tchunked \r\n"])
def test_chunked(server: Server, head: bytes) -> None:
    """The one coding is read however it is written, and the request behind it is answered."""
    assert answers(server, head, CHUNKED) == [b"403", b"200"]


def test_chunked_before_there_were_chunks(server: Server) -> None:
    """HTTP/1.0 has no codings."""
    assert answers(server, LAST, CHUNKED, b"1.0") == [b"400"]


@pytest.mark.parametrize("wanted", [b"200-ok", b"100-continue, x"])
def test_expectations(server: Server, wanted: bytes) -> None:
    """Other expectations than 100-continue are 417, and the body is not read."""
    head = b"expect: %s\r\ncontent-length: %d\r\n" % (wanted, len(BODY))
    assert answers(server, head, BODY) == [b"417"]


@pytest.mark.parametrize(
    "body",
    [
        b" " + CHUNKED,
        b"0x" + CHUNKED,
        b"-" + CHUNKED,
        b"f" * 17 + b"\r\n" + BODY,
        CHUNKED.replace(b"\r\n", b"\n"),
        b"%x\r\n%s0\r\n\r\n" % (len(BODY), BODY),
        b"%x;a\nb\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    ],
)
def test_broken_chunks(server: Server, body: bytes) -> None:
    """Sizes that are none, and ends of lines that are none, end the connection."""
    assert b"200" not in answers(server, LAST, body)
