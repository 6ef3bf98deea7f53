"""The price of frames on connections whose protocol was changed, and what a client costs that does not read."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, cast

import pytest

from simkit.engine.http.serving import new_loop
from simkit.engine.http.upgrade.spdy import SpdyConnection
from simkit.engine.http.upgrade.spdy_session import SpdySession
from simkit.engine.http.upgrade.switch import UpgradedConnection
from simkit.engine.http.upgrade.watch_socket import WatchSocket
from simkit.engine.http.upgrade.websocket_session import WebSocketSession
from simkit.engine.pipeline.subresources.connection_session import PortSession
from tests.security.prices import LINEAR, growth

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
    "WebSocket, a message in empty parts": (_websocket, lambda n: _frame(_TEXT_PART) + _frame(_PART) * n, 4000),
    "WebSocket, pings": (_websocket, lambda n: _frame(_PING) * n, 1500),
    "watch, a message in empty parts": (_watch, lambda n: _frame(_TEXT_PART) + _frame(_PART) * n, 4000),
    "watch, pings": (_watch, lambda n: _frame(_PING) * n, 1500),
    "SPDY, pings": (_spdy, lambda n: _control(6, bytes(4)) * n, 4000),
    "SPDY, streams": (_spdy, _streams, 1000),
    "SPDY, empty data": (_spdy, lambda n: _streams(1) + struct.pack(">II", 1, 0) * n, 8000),
    "SPDY, one frame in many pieces": (_spdy, lambda n: struct.pack(">II", 1, n) + bytes(n), 1_000_000),
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


class _Answers:
    """A link that answers each piece with one of its length."""

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
