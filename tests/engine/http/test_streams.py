"""Watches over real sockets: frames as they come, slow readers, clients that leave."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simkit.engine.http import asgi
from simkit.engine.http.asgi import Application
from simkit.engine.http.certificates import CertificateFiles
from simkit.engine.http.protocol import HTTPConnection
from simkit.engine.http.server import Server, ServingOptions
from simkit.engine.http.watch_server import BATCH, CHUNK, SLICE, LoopBroadcaster, WatchServer, joined
from tests.engine.http.echo import Client, EchoHandler, eventually, trusting


def opened(client: Client, target: str = "/stream") -> http.client.HTTPResponse:
    """A stream whose headers have arrived."""
    client.connection.request("GET", target)
    return client.connection.getresponse()


def test_frames_arrive_as_they_are_written(secure: Client, shelf: EchoHandler) -> None:
    """Headers come at once, present frames first, later ones each by itself without waiting for more."""
    shelf.frames.append(b"first\n")
    response = opened(secure)
    assert response.headers["Transfer-Encoding"] == "chunked"
    assert response.headers["Content-Length"] is None
    assert response.readline() == b"first\n"
    for frame in (b"second\n", b"third\n"):
        shelf.write(frame)
        assert response.readline() == frame


def test_an_unchanged_stream_is_not_polled(plain: Client, shelf: EchoHandler) -> None:
    """A quiet stream costs nothing: it is looked at when there is news and not before."""
    opened(plain)
    assert eventually(lambda: bool(shelf.taps and shelf.taps[0].polls))
    before = shelf.taps[0].polls
    time.sleep(0.2)
    assert shelf.taps[0].polls == before
    shelf.write(b"x\n")
    assert eventually(lambda: shelf.taps[0].polls > before)


def test_equal_callbacks_for_all_streams(server: Server, shelf: EchoHandler) -> None:
    """All streams of a loop share one callback, so that a writer calls once however many read."""
    clients = [Client(str(server.insecure_url)) for _ in range(20)]
    responses = [opened(client) for client in clients]
    assert len({callback for tap in shelf.taps for callback in tap.callbacks}) == 1
    shelf.write(b"news\n")
    assert [response.readline() for response in responses] == [b"news\n"] * 20
    for client in clients:
        client.close()


def test_a_client_that_leaves_closes_its_stream(plain: Client, shelf: EchoHandler) -> None:
    """Disconnecting ends the stream at once, without any news."""
    response = opened(plain)
    response.close()
    plain.close()
    assert eventually(lambda: shelf.taps[0].closed)


def test_a_timeout_ends_the_stream_cleanly(secure: Client, shelf: EchoHandler) -> None:
    """After its seconds the stream ends as a whole answer, and the connection serves the next request."""
    shelf.frames.append(b"only\n")
    assert opened(secure, "/stream?timeoutSeconds=0.1").read() == b"only\n"
    assert shelf.taps[0].closed
    assert secure.ask("GET", "/a").status == 200


def test_a_closed_stream_ends(plain: Client, shelf: EchoHandler) -> None:
    """Frames that are ready before the engine closes a stream are still sent, then the answer ends."""
    response = opened(plain)
    tap = shelf.taps[0]
    shelf.frames.append(b"last\n")
    tap.closed = True
    for callback in tap.callbacks:
        callback()
    assert response.read() == b"last\n"


def test_a_slow_reader_is_not_read_ahead(server: Server, shelf: EchoHandler) -> None:
    """If the client does not read, polling stops, the writer goes on, and everything arrives in the end."""
    port = int(str(server.insecure_url).rpartition(":")[2])
    frame = b"x" * 4095 + b"\n"
    total = 20_000
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        assert eventually(lambda: bool(shelf.taps))
        shelf.frames.extend([frame] * (total - 1))
        shelf.write(frame)
        tap = shelf.taps[0]
        assert eventually(lambda: tap.place >= BATCH)
        time.sleep(0.2)
        stalled = tap.place
        time.sleep(0.2)
        assert tap.place == stalled < total / 2
        left, sock_file = total, sock.makefile("rb")
        while left:
            left -= sock_file.readline() == frame or 0
    assert tap.place == total


def test_a_slow_reader_costs_as_much_with_tls_as_without(
    server: Server, identities: CertificateFiles, shelf: EchoHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a megabyte was written ahead of each client that reads nothing."""
    made, connected = list[HTTPConnection](), HTTPConnection.connection_made

    def noted(connection: HTTPConnection, transport: Any) -> None:
        made.append(connection)
        connected(connection, transport)

    monkeypatch.setattr(HTTPConnection, "connection_made", noted)
    slow = Client(server.url, trusting(identities.authority))
    opened(slow)
    shelf.frames.extend([b"x" * 4095 + b"\n"] * 20_000)
    shelf.write(b"last\n")
    tap = shelf.taps[0]
    assert eventually(lambda: tap.place >= BATCH and made[-1].flow.write_paused)
    assert CHUNK <= made[-1].transport.get_write_buffer_size() < 4 * CHUNK
    slow.close()


def test_one_slow_reader_does_not_hold_up_another(
    server: Server, identities: CertificateFiles, shelf: EchoHandler
) -> None:
    """A reader that keeps up gets everything while another has stopped reading."""
    slow, quick = (Client(server.url, trusting(identities.authority)) for _ in range(2))
    opened(slow)
    response = opened(quick)
    frame = b"y" * 9999 + b"\n"

    def write() -> None:
        for _ in range(3000):
            shelf.write(frame)

    writer = threading.Thread(target=write)
    writer.start()
    assert all(response.readline() == frame for _ in range(3000))
    writer.join()
    slow.close()
    quick.close()


def test_requests_behind_a_stream_wait(server: Server, shelf: EchoHandler) -> None:
    """A request that is pipelined behind a watch is answered when the watch has ended."""
    port = int(str(server.insecure_url).rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(
            b"GET /stream?timeoutSeconds=0.2 HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        said = b""
        while part := sock.recv(65536):
            said += part
    assert said.count(b"HTTP/1.1 200 OK") == 2
    assert said.index(b"0\r\n\r\n") < said.index(b'"path":"/a"')


def test_frames_are_joined_up_to_a_size() -> None:
    """Small frames travel together, a large one alone, and none is lost or reordered."""
    frames = [b"a" * 10, b"b" * 10, b"c" * (CHUNK + 1), b"d", b"e" * CHUNK]
    assert [len(chunk) for chunk in joined(frames)] == [20, CHUNK + 1, 1, CHUNK]
    assert b"".join(joined(frames)) == b"".join(frames)


def test_the_application_runs_under_any_asgi_server(shelf: EchoHandler, identities: CertificateFiles) -> None:
    """Without our protocol class the same answers come, and certificates come from the TLS extension."""
    pem = identities.authority.read_text()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"ab", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"x=1",
        "headers": [(b"x-y", b"z")],
        "extensions": {"tls": {"client_cert_chain": [pem]}},
    }
    application = Application(shelf)
    asyncio.run(application(scope, receive, send))
    application.close()
    (request,) = shelf.requests
    assert (request.path, request.query, request.body) == ("/a%20b", {"x": ["1"]}, b"ab")
    assert request.certificates[0][:1] == b"\x30"
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def test_other_protocols_are_refused(shelf: EchoHandler) -> None:
    """The application says that it is only for HTTP."""

    async def never(*_: Any) -> Any:
        raise AssertionError

    application = Application(shelf)
    with pytest.raises(NotImplementedError):
        asyncio.run(application({"type": "lifespan"}, never, never))
    application.close()


def test_a_waker_of_a_closed_loop_is_silent() -> None:
    """A writer that outlives a server's loop is not disturbed."""
    loop = asyncio.new_event_loop()
    waker = LoopBroadcaster(loop)
    loop.close()
    waker.wake()
    waker.wake()


class _Polled:
    """A stream that has so many frames for its one reader, each after a millisecond of a clock."""

    deadline, blocks, computes, behind = 0.5, False, False, False

    def __init__(self, clock: list[float], frames: int) -> None:
        self._clock, self.left = clock, frames

    @property
    def closed(self) -> bool:
        return self.left < 0

    def poll(self, limit: int = 512) -> list[bytes]:
        self._clock[0] += 0.001
        self.left -= 1
        return [b"frame"] if self.left >= 0 else []

    def bookmark(self) -> list[bytes]:
        return []

    def on_change(self, callback: Callable[[], None]) -> None:
        """Nothing comes later."""

    def close(self) -> None:
        self.left = -1


@pytest.mark.parametrize(("watches", "frames"), [(400, 1), (1, 400), (40, 10)])
def test_watches_share_the_turns_of_their_loop(watches: int, frames: int) -> None:
    """However many watches have news, and however much of it: others get their turn after some milliseconds."""
    clock, turns = [0.0], list[float]()

    async def deliver() -> None:
        loop = asyncio.get_running_loop()
        waker = LoopBroadcaster(loop, lambda: clock[0])

        async def watch() -> None:
            await waker.news(loop.create_future(), 60)
            await WatchServer(_Polled(clock, frames), waker).run(never, sent)

        async def never() -> Any:
            await asyncio.Event().wait()

        async def sent(_: Any) -> None:
            """The client reads at once."""

        running = [asyncio.ensure_future(watch()) for _ in range(watches)]
        await asyncio.sleep(0)
        waker.wake()
        while not all(each.done() for each in running):
            before = clock[0]
            await asyncio.sleep(0)
            turns.append(clock[0] - before)

    asyncio.run(deliver())
    assert sum(turns) >= watches * frames * 0.001
    assert max(turns) <= 2 * SLICE


def test_long_answers_that_nobody_reads(shelf: EchoHandler, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together they have a greatest size, beyond which others get 429, and each has the time of a request."""
    monkeypatch.setattr(asgi, "MOST_UNREAD", 30_000_000)
    serving = ServingOptions(insecure_port=0, certificate_folder=folder, request_timeout=1)
    target = "/large?size=20000000"
    with Server(shelf, serving) as running:
        clients = [Client(str(running.insecure_url)) for _ in range(2)]
        assert [opened(client, target).status for client in clients] == [200, 429]
        assert eventually(lambda: _status(str(running.insecure_url), target) == 200)
        for client in clients:
            client.close()


def _status(url: str, target: str) -> int:
    client = Client(url)
    try:
        return client.ask("GET", target).status
    finally:
        client.close()
