"""The price of frames on connections whose protocol was changed, and what a client costs that does not read."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, cast

import pytest

from simkit.engine.http.loop_turns import SLICE, reading_turns
from simkit.engine.http.serving import new_loop
from simkit.engine.http.upgrade import switch
from simkit.engine.http.upgrade.spdy_session import SpdyConnection, SpdySession
from simkit.engine.http.upgrade.switch import UpgradedConnection, WatchSocket
from simkit.engine.http.upgrade.websocket_session import WebSocketSession
from simkit.engine.pipeline.subresources.connection_target import PortSession
from tests.security.prices import LINEAR, growth

pytestmark = pytest.mark.slow

_PING, _TEXT_PART, _PART = 0x89, 0x02, 0x00


class _Wire:
    """What a session writes."""

    def __init__(self) -> None:
        self.written, self.closed = 0, False

    def write(self, data: bytes) -> None:
        self.written += len(data)

    def close(self) -> None:
        self.closed = True


def _ports() -> PortSession:
    return PortSession(lambda _: bytes.upper, [80])


def _websocket(frames: bytes) -> _Wire:
    """What a WebSocket has answered to frames, which come a thousand bytes at a time, as a connection hands them on."""
    wire, loop = _Wire(), asyncio.new_event_loop()
    session = WebSocketSession(_ports(), "v4.channel.k8s.io", wire.write, wire.close, lambda: 0, loop)
    for start in range(0, len(frames), 1024):
        session.received(frames[start : start + 1024])
    loop.close()
    return wire


def _watch(frames: bytes) -> _Wire:
    wire = _Wire()
    watching = WatchSocket(cast(UpgradedConnection, wire), text=True)
    for start in range(0, len(frames), 1024):
        watching.received(frames[start : start + 1024])
    return wire


def _spdy(frames: bytes) -> _Wire:
    wire, loop = _Wire(), asyncio.new_event_loop()
    session = SpdySession(_ports(), "", wire.write, wire.close, lambda: 0, loop)
    for start in range(0, len(frames), 1024):
        session.received(frames[start : start + 1024])
    loop.close()
    return wire


def _frame(opcode: int) -> bytes:
    """An empty masked frame."""
    return bytes((opcode, 0x80)) + bytes(4)


def _control(kind: int, payload: bytes) -> bytes:
    return struct.pack(">II", 1 << 31 | 3 << 16 | kind, len(payload)) + payload


def _streams(count: int) -> bytes:
    client = SpdyConnection()
    return b"".join(client.open(2 * n + 1, {"streamtype": "data", "port": "80"}) for n in range(count))


FRAMES: dict[str, tuple[Callable[[bytes], _Wire], Callable[[int], bytes], int]] = {
    "WebSocket, a message in empty parts": (_websocket, lambda n: _frame(_TEXT_PART) + _frame(_PART) * n, 400),
    "WebSocket, pings": (_websocket, lambda n: _frame(_PING) * n, 150),
    "watch, a message in empty parts": (_watch, lambda n: _frame(_TEXT_PART) + _frame(_PART) * n, 400),
    "watch, pings": (_watch, lambda n: _frame(_PING) * n, 150),
    "SPDY, pings": (_spdy, lambda n: _control(6, bytes(4)) * n, 400),
    "SPDY, streams": (_spdy, _streams, 100),
    "SPDY, empty data": (_spdy, lambda n: _streams(1) + struct.pack(">II", 1, 0) * n, 800),
    "SPDY, one frame in many pieces": (_spdy, lambda n: struct.pack(">II", 1, n) + bytes(n), 100_000),
}


@pytest.mark.parametrize("name", FRAMES)
def test_twice_the_frames_cost_about_twice_as_much(name: str) -> None:
    """However small they are, and however many belong together."""
    act, make, size = FRAMES[name]
    assert growth(act, make, size) < LINEAR


def test_streams_of_a_command_have_the_names_that_there_are() -> None:
    """A client cannot have the server remember others, nor more connections to ports than are of use."""
    assert not _spdy(_streams(3000)).closed


def test_a_client_that_does_not_read_is_not_read() -> None:
    """Pings without end are read until the answers fill the buffers; once they are read, all are answered."""
    loop = new_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(_flooded(), 60))
    finally:
        loop.close()


class _Slow:
    """A link that takes half of a slice for each piece, and holds as many as it is told to."""

    def __init__(self, clock: list[float], most: int) -> None:
        self._clock, self._most, self.pieces = clock, most, 0

    @property
    def full(self) -> bool:
        return self.pieces >= self._most

    def received(self, data: bytes) -> None:
        self._clock[0] += SLICE / 2
        self.pieces += 1

    def lost(self) -> None:
        """Nothing is kept."""


class _Reading(_Wire):
    """A transport that tells whether it reads."""

    reads = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


def _upgraded(
    count: int, clock: list[float], most: int, loop: asyncio.AbstractEventLoop
) -> list[tuple[UpgradedConnection, _Slow, _Reading]]:
    made = []
    for _ in range(count):
        wire, link = _Reading(), _Slow(clock, most)
        connection = UpgradedConnection(cast(asyncio.Transport, wire), lambda _: None, loop)
        connection.link = link
        made.append((connection, link, wire))
    return made


def test_many_connections_with_much_to_read_share_the_turns_of_their_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond each, for hundreds of clients, kept everybody else waiting for as many milliseconds."""
    clock = [0.0]
    loop = new_loop()
    monkeypatch.setattr(switch, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(reading_turns(loop), "_clock", lambda: clock[0])

    async def most_in_a_turn() -> float:
        made, turns = _upgraded(100, clock, 1000, loop), list[float]()
        for connection, _, _ in made:
            connection.data_received(bytes(20 * 1024))
        assert not any(wire.reads for _, _, wire in made)
        while sum(link.pieces for _, link, _ in made) < 100 * 20:
            before = clock[0]
            await asyncio.sleep(0)
            turns.append(clock[0] - before)
        return max(turns)

    try:
        assert loop.run_until_complete(most_in_a_turn()) <= 4 * SLICE
    finally:
        loop.close()


def test_a_client_whose_input_nobody_takes_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a busy process has not been given yet stays at the client, beyond a megabyte."""
    clock, loop = [0.0], new_loop()
    monkeypatch.setattr(switch, "_PATIENCE", 0.0)

    async def read() -> None:
        [(connection, link, wire)] = _upgraded(1, clock, 5, loop)
        connection.data_received(bytes(20 * 1024))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert (link.pieces, wire.reads) == (5, False)
        link._most = 1000
        while not wire.reads:
            await asyncio.sleep(0.001)
        assert link.pieces == 20

    try:
        loop.run_until_complete(asyncio.wait_for(read(), 60))
    finally:
        loop.close()


class _Answers:
    """A link that answers each piece with one of its length."""

    full = False

    def __init__(self, connection: UpgradedConnection) -> None:
        self._connection = connection

    def received(self, data: bytes) -> None:
        self._connection.write(data.upper())

    def lost(self) -> None:
        """Nothing is kept."""


async def _flooded() -> None:
    loop = asyncio.get_running_loop()
    made: list[UpgradedConnection] = []

    class Switched(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            made.append(UpgradedConnection(transport, lambda _: None, loop))
            transport.set_protocol(made[0])
            made[0].link = _Answers(made[0])

    server = await loop.create_server(Switched, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2], limit=1024)
    sent = 40_000_000
    writer.write(b"a" * sent)
    most, before = 0, -1
    while not made or writer.transport.get_write_buffer_size() != before:
        before = writer.transport.get_write_buffer_size()
        await asyncio.sleep(0.05)
        most = max(most, made[0].waiting() if made else 0)
    assert before > 0
    assert most < 1_000_000
    taken = 0
    while taken < sent:
        part = await reader.read(1 << 20)
        assert part.strip(b"A") == b""
        taken += len(part)
    writer.close()
    server.close()
