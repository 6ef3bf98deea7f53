"""Headers that a connection sends again: recognized byte for byte, and nothing else."""

from __future__ import annotations

import pytest

from simkit.engine.http.message import KnownHeads, audit_id, header_lines, parse_headers, response_headers
from simkit.meta.message import Request, Response, Sender

HEAD = b"Host: a\r\nAuthorization: Bearer t\r\n"
RAW = [(b"host", b"a"), (b"authorization", b"Bearer t")]


def learned(data: bytes, raw: list[tuple[bytes, bytes]]) -> KnownHeads:
    """The heads that are known after a first request."""
    known = KnownHeads()
    known.learn(data, Request("GET", "/", headers=parse_headers(raw), sender=Sender()), raw)
    return known


def test_the_same_headers_are_recognized_with_another_target() -> None:
    """The request line is read anew, with its query; the headers are those that were parsed."""
    known = learned(b"GET /version HTTP/1.1\r\n" + HEAD + b"\r\n", RAW)
    found = known.find(b"DELETE /api/v1/pods?limit=1&a=b HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert found is not None
    line, head, body = found
    assert (line.method, line.path, line.query, body) == ("DELETE", "/api/v1/pods", {"limit": ["1"], "a": ["b"]}, b"")
    assert head.headers == {"host": ("a",), "authorization": ("Bearer t",)}


@pytest.mark.parametrize(
    "data",
    [
        b"GET /version HTTP/1.1\r\n" + HEAD,
        b"GET /version HTTP/1.1\r\n" + HEAD[:-2],
        b"GET /version HTTP/1.1\r\n" + HEAD + b"\r\nX",
        b"GET /version HTTP/1.1\r\n" + HEAD.lower() + b"\r\n",
        b"GET /version HTTP/1.0\r\n" + HEAD + b"\r\n",
        b"GET /a%zz HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /a b HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET http://x/ HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /\n HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"CONNECT /x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"HEAD /x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b" GET /x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /version HTTP/1.1\r\n" + HEAD + b"\r\nGET /version HTTP/1.1\r\n" + HEAD + b"\r\n",
    ],
)
def test_anything_else_is_left_to_the_parser(data: bytes) -> None:
    """Part of a request, more than one, another version, other headers, or a target that needs care."""
    assert learned(b"GET /version HTTP/1.1\r\n" + HEAD + b"\r\n", RAW).find(data) is None


def test_a_body_has_the_announced_length() -> None:
    """The headers announce it: a shorter or longer body is not the end of the request."""
    head, raw = HEAD + b"Content-Length: 2\r\n", [*RAW, (b"content-length", b"2")]
    known = learned(b"POST / HTTP/1.1\r\n" + head + b"\r\n{}", raw)
    found = known.find(b"POST /x HTTP/1.1\r\n" + head + b"\r\n[]")
    assert found is not None
    assert found[2] == b"[]"
    for body in (b"", b"{", b"{} "):
        assert known.find(b"POST /x HTTP/1.1\r\n" + head + b"\r\n" + body) is None


@pytest.mark.parametrize(
    "more",
    [
        [(b"transfer-encoding", b"chunked")],
        [(b"connection", b"close")],
        [(b"expect", b"100-continue")],
        [(b"upgrade", b"websocket")],
        [(b"content-length", b"0"), (b"content-length", b"0")],
        [(b"content-length", b"+0")],
        [(b"content-length", b"5")],
    ],
)
def test_headers_with_a_meaning_for_the_connection_are_not_remembered(more: list[tuple[bytes, bytes]]) -> None:
    """Whatever says how the message goes on is read by the parser each time."""
    lines = HEAD + b"".join(b"%s: %s\r\n" % header for header in more)
    data = b"GET / HTTP/1.1\r\n" + lines + b"\r\n"
    assert learned(data, [*RAW, *more]).find(data) is None


@pytest.mark.parametrize(
    "response",
    [
        Response(200, b"{}"),
        Response(201, b"", "text/plain", [("X-A", "b"), ("Warning", '299 - "x\ny"')]),
        Response(204, b"", ""),
        Response(200, b"x", headers=[("Cache-Control", "public"), ("Audit-Id", "7")]),
        Response(200, b"x", headers=[("Warning", "w" * 1000)]),
        Response(429, b"x", headers=[("Content-Length", "1")]),
    ],
)
def test_lines_of_headers_are_the_headers(response: Response) -> None:
    """Cached lines have the names, values and order of the headers that are listed."""
    listed = response_headers(response, b"id", length=len(response.body))
    expected = b"".join(b"%s: %s\r\n" % header for header in listed)
    assert header_lines(response, b"id", length=len(response.body)) == expected


def test_audit_ids_are_uuids_that_nobody_has_had() -> None:
    """They are version 4, and each is given once."""
    drawn = {audit_id(Request("GET", "/")) for _ in range(600)}
    assert len(drawn) == 600
    assert all(len(each) == 36 and each[14:15] == b"4" and each[19:20] in b"89ab" for each in drawn)
