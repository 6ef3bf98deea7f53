"""Answers of servers behind registered group versions: whatever they send, it has a price that they cannot choose."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simkit.engine.aggregation.proxied_stream import CHUNK, MOST_WAITING, ProxiedStream
from simkit.engine.aggregation.proxy_handler import answer_of
from simkit.engine.egress import peer as peer_module
from simkit.engine.egress.peer import PeerResponse, fetch, send
from simkit.engine.egress.policy import MOST_VALUES, Peer, Unreachable, parse_answer
from simkit.engine.http.message import response_headers
from simkit.meta.deadline import Deadline, within
from simkit.meta.errors import PlainError
from simkit.meta.message import Response
from tests.security.prices import LINEAR, growth

OK = b"HTTP/1.1 200 OK\r\n"
Says = Callable[[socket.socket], None]


@contextlib.contextmanager
def server(says: Says) -> Iterator[Peer]:
    """A server without TLS that says something to whoever asks, over connections of their own."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    asking, _ = listening.accept()
                    with contextlib.suppress(OSError), asking:
                        asking.recv(65536)
                        says(asking)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Peer("127.0.0.1", listening.getsockname()[1], "behind.example", tls=False)
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def answer(text: bytes, *, timeout: float = 20.0) -> Response:
    """What is passed on of an answer, whose bytes come at once."""
    with server(lambda asking: asking.sendall(text)) as peer:
        try:
            return answer_of(send(peer, "GET", "/", [("Host", "a")], b"", timeout=timeout))
        except Unreachable as error:
            raise PlainError(503, str(error)) from None


def whole(stream: ProxiedStream) -> bytes:
    """All bytes of a stream."""
    parts = list[bytes]()
    while True:
        stream.wait(10)
        found = stream.poll()
        if not found and stream.closed:
            return b"".join(parts)
        parts += found


@pytest.mark.slow
def test_an_answer_without_end_is_read_no_faster_than_it_is_taken() -> None:
    """Some megabytes are read ahead of a client; then the server behind has to wait."""
    sent = 0
    waits = threading.Event()

    def endless(asking: socket.socket) -> None:
        nonlocal sent
        asking.sendall(OK + b"\r\n")
        asking.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            while True:
                sent += asking.send(b"x" * CHUNK)
        waits.set()

    with server(endless) as peer:
        passed = answer_of(send(peer, "GET", "/", [("Host", "a")], b"", timeout=20))
        assert isinstance(passed.stream, ProxiedStream)
        assert waits.wait(30)
        assert sent < 2 * MOST_WAITING * CHUNK + 16 * 1024 * 1024
        passed.stream.close()


def test_more_than_a_hundred_headers_are_refused() -> None:
    """So are lines without end; what remains is read in one pass."""
    fine = answer(OK + b"content-length: 2\r\n" + b"x-a: b\r\n" * 90 + b"\r\nok")
    assert fine.body == b"ok"
    for head in (b"x-a: b\r\n" * 200, b"x-a: " + b"b" * 70_000 + b"\r\n"):
        with pytest.raises(PlainError) as refused:
            answer(OK + head + b"\r\n")
        assert refused.value.code == 503


def test_twice_the_head_costs_about_twice_as_much() -> None:
    """Headers are taken over line by line."""

    def made(count: int) -> bytes:
        return (
            OK
            + b"content-length: 2\r\n"
            + b"".join(b"x-%d: " % n + b"b" * count + b"\r\n" for n in range(80))
            + b"\r\nok"
        )

    assert growth(lambda text: response_headers(answer(text), b"", length=2), made, 2000) < LINEAR


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0" * 100,
        b"HTTP/1.1 " + b"9" * 10_000 + b" OK\r\n\r\n",
        b"HTTP/1.1 -1 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 " + b"2" * 100_000,
        b"SSH-2.0-OpenSSH_9.0\r\n",
    ],
)
def test_what_is_no_answer_is_a_503(text: bytes) -> None:
    """A server behind that speaks something else is not available."""
    with pytest.raises(PlainError) as refused:
        answer(text)
    assert refused.value.code == 503


@pytest.mark.parametrize("status", [100, 101, 102, 103, 199])
def test_an_interim_answer_is_none(status: int) -> None:
    """A client would wait for another one behind it; a change of protocol that nobody asked for is no answer either."""
    with pytest.raises(PlainError) as refused:
        answer(b"HTTP/1.1 %d Wait\r\n\r\n" % status)
    assert refused.value.code in (502, 503)


def test_a_header_that_goes_on_in_the_next_line_is_one_line() -> None:
    """Clients must not take its continuation for a header of its own."""
    found = answer(OK + b"content-length: 2\r\nx-a: b\r\n\tc: d\r\n  e\r\ncontent-type: text/plain;\r\n a=b\r\n\r\nok")
    assert ("x-a", "b c: d e") in found.headers
    assert found.content_type == "text/plain; a=b"
    lines = response_headers(found, b"", length=2)
    assert not [line for line in lines if b"\r" in line[1] or b"\n" in line[1]]


@pytest.mark.parametrize(
    ("head", "body", "whole_of_it"),
    [
        (b"transfer-encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"transfer-encoding: chunked\r\n", b"-5\r\nhello\r\n0\r\n\r\n", None),
        (b"transfer-encoding: chunked\r\n", b"f" * 5000 + b"\r\nhello", None),
        (b"transfer-encoding: chunked\r\n", b"5;" + b"a=b;" * 30_000 + b"\r\nhello\r\n0\r\n\r\n", None),
        (b"transfer-encoding: chunked\r\n", b"zz\r\nhello", None),
        (b"content-length: " + b"9" * 5000 + b"\r\n", b"hello", None),
        (b"content-length: -1\r\n", b"hello", b"hello"),
        (b"content-length: 5000000\r\n", b"hello", None),
    ],
)
def test_lengths_that_are_none(head: bytes, body: bytes, whole_of_it: bytes | None) -> None:
    """The answer ends where the connection does; nothing is waited for that does not come."""
    passed = answer(OK + head + b"\r\n" + body)
    assert isinstance(passed.stream, ProxiedStream)
    found = whole(passed.stream)
    assert len(found) < 1024 * 1024
    if whole_of_it is not None:
        assert found == whole_of_it


def test_the_whole_answer_has_its_time() -> None:
    """A server that goes on saying that it will answer is not listened to for longer than for any other answer."""

    def stalls(asking: socket.socket) -> None:
        asking.sendall(OK)
        while True:
            asking.sendall(b"x")
            threading.Event().wait(0.05)

    with server(stalls) as peer, pytest.raises(Unreachable, match="deadline exceeded"):
        fetch(peer, "GET", "/", {"Host": "a"}, timeout=0.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 6 + OK + b"\r\n", "too many 1xx informational responses"),
        (OK + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + b"x-a: b\r\n" * 1000, "long trailer"),
        (OK + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200, "more than 100 pieces"),
    ],
    ids=["interim answers", "trailers", "pieces"],
)
def test_what_costs_more_than_its_bytes_is_not_read_on(monkeypatch: pytest.MonkeyPatch, text: bytes, told: str) -> None:
    """Interim answers, lines behind the last chunk and chunks of one byte took processor time until the time limit."""
    monkeypatch.setattr(peer_module, "_MOST_PIECES", 100)
    with server(lambda asking: asking.sendall(text)) as peer, pytest.raises(Unreachable, match=told):
        fetch(peer, "GET", "/", {"Host": "a"}, timeout=20)


def test_five_interim_answers_and_some_trailers_are_read() -> None:
    """As by Go's client."""
    text = (
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5 + OK + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx-a: b\r\n\r\n"
    )
    with server(lambda asking: asking.sendall(text)) as peer:
        assert fetch(peer, "GET", "/", {"Host": "a"}, timeout=20)[:2] == (200, b"x")


def test_a_name_that_is_not_resolved_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name servers that are slow are not waited for longer than anybody else."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60) and [])
    with pytest.raises(Unreachable, match="deadline exceeded"):
        fetch(Peer("slow.example", 1, "slow.example", tls=False), "GET", "/", {"Host": "a"}, timeout=0.2)
    assert not over.is_set()
    over.set()


def test_all_addresses_of_a_name_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with hundreds of addresses that do not answer has the time of one."""
    given = list[float]()

    def refused(_: object, timeout: float) -> socket.socket:
        given.append(timeout)
        raise TimeoutError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"10.0.0.{number}", 1)) for number in range(200)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_connection", refused)
    with pytest.raises(Unreachable, match="deadline exceeded"):
        fetch(Peer("many.example", 1, "many.example", tls=False), "GET", "/", {"Host": "a"}, timeout=16)
    assert (len(given), given[0] <= 1.0) == (16, True)


def test_calls_for_a_request_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for an answer on behalf of a request for which nobody waits any more stops as well."""
    given = list[float]()

    def refused(_: object, timeout: float) -> socket.socket:
        given.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", refused)
    peer = Peer("127.0.0.1", 1, "a", tls=False)
    for seconds in (600.0, 2.0):
        with pytest.raises(Unreachable):
            within(Deadline(seconds), lambda: fetch(peer, "GET", "/", {"Host": "a"}, timeout=30))
    assert [each <= 2.0 for each in given] == [False, True]


def test_the_body_has_what_is_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Head and body together have the time of the exchange."""
    given = list[float]()

    def slow(asking: socket.socket) -> None:
        threading.Event().wait(0.3)
        asking.sendall(OK + b"\r\n")

    def body(_: PeerResponse, *, timeout: float, most: int) -> bytes:
        given.append(timeout)
        return b""

    monkeypatch.setattr(peer_module, "whole", body)
    with server(slow) as peer:
        fetch(peer, "GET", "/", {"Host": "a"}, timeout=20)
    assert given[0] <= 19.7


@pytest.mark.slow
def test_values_in_an_answer_have_a_greatest_number() -> None:
    """Sixteen megabytes of empty lists are objects of half a gigabyte, and kept all threads waiting while they were made."""
    many = b"[" + b"[]," * MOST_VALUES + b"[]]"
    with pytest.raises(json.JSONDecodeError, match="more than 500,000 values"):
        parse_answer(many)
    document: dict[str, Any] = {"items": [{"a": [number, "b", None, True, 1.5, {}]} for number in range(20_000)]}
    assert parse_answer(json.dumps(document).encode()) == document
    for text in (b"[" + b"NaN," * 60_000 + b"1]", b"[" * 2000 + b"1," * 60_000):
        with pytest.raises(json.JSONDecodeError):
            parse_answer(text)
    assert growth(parse_answer, lambda count: b"[" + b'{"a":1},' * count + b"1]", 6000) < LINEAR
