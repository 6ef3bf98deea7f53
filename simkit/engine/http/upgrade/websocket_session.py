"""Sessions over WebSockets: channels by the first byte of each message, and SPDY in a tunnel.

Upstream: k8s.io/apimachinery/pkg/util/httpstream/wsstream, k8s.io/kubelet/pkg/cri/streaming/{remotecommand,portforward}
/websocket.go and k8s.io/client-go/tools/{remotecommand,portforward}, releases 1.30 and 1.31.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Callable
from typing import Any, Final

from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from simkit.engine.http.upgrade.remote_command import PORT_FORWARD, CommandDriver, channel, exit_status, plain_exit
from simkit.engine.http.upgrade.spdy_session import SpdySession
from simkit.engine.pipeline.subresources.connection_target import CommandSession, PortSession
from simkit.meta.errors import StatusError
from simkit.seams import PortHandler, has_closed

TUNNEL: Final = f"SPDY/3.1+{PORT_FORWARD}"
COMMANDS: Final = (channel("v5"), channel("v4"), channel("v4.base64"), channel(), channel("base64"))
PORTS: Final = (TUNNEL, channel("v4"), channel("v4.base64"), PORT_FORWARD)
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE = 0, 1, 2, 3, 255
_CHUNK: Final = 32 * 1024
_MOST_MESSAGE: Final = 1 << 22


class WebSocketSession:
    """One connection as a WebSocket, after its handshake."""

    def __init__(
        self,
        session: CommandSession | PortSession,
        protocol: str,
        write: Callable[[bytes], None],
        close: Callable[[], None],
        waiting: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._socket = Connection(ConnectionType.SERVER)
        self._raw_write, self._raw_close, self.waiting, self.loop = write, close, waiting, loop
        self._base64 = "base64" in protocol
        self._parts = bytearray()
        """The message that is being received."""
        self._end: _Command | _Ports | _Tunnel
        if isinstance(session, CommandSession):
            self._end = _Command(session, protocol, self)
        elif protocol == TUNNEL:
            self._end = _Tunnel(session, self)
        else:
            self._end = _Ports(session, self)
        self._end.begin()

    @property
    def full(self) -> bool:
        """True while so much waits at its other end that no more should be read."""
        return self._end.full

    def received(self, data: bytes) -> None:
        """Take bytes from the client; what is no WebSocket ends the connection."""
        try:
            self._socket.receive_data(data)
            for event in self._socket.events():
                self._on(event)
        except (RemoteProtocolError, LocalProtocolError):
            self._raw_close()

    def _on(self, event: Any) -> None:
        if isinstance(event, Ping):
            self._raw_write(self._socket.send(event.response()))
        elif isinstance(event, CloseConnection):
            if self._socket.state is ConnectionState.REMOTE_CLOSING:
                self._raw_write(self._socket.send(event.response()))
            self._raw_close()
        elif isinstance(event, BytesMessage | TextMessage) and not isinstance(event, Pong):
            self._message(event)

    def _message(self, event: Any) -> None:
        self._parts += event.data.encode() if isinstance(event.data, str) else event.data
        if len(self._parts) > _MOST_MESSAGE:
            self._raw_close()
            return
        if not event.message_finished:
            return
        whole = bytes(self._parts)
        self._parts.clear()
        if not self._base64:
            self._end.message(whole)
            return
        try:
            self._end.message(bytes([whole[0] - 48]) + base64.b64decode(whole[1:], validate=True))
        except (IndexError, ValueError):
            self._raw_close()

    def send(self, channel: int, data: bytes) -> None:
        """Send data on a channel."""
        for start in range(0, len(data) or 1, _CHUNK):
            part = data[start : start + _CHUNK]
            if self._base64:
                self._send(TextMessage(str(channel) + base64.b64encode(part).decode()))
            else:
                self.send_message(bytes([channel]) + part)

    def send_message(self, data: bytes) -> None:
        """Send a binary message."""
        self._send(BytesMessage(data))

    def _send(self, event: Any) -> None:
        if self._socket.state is ConnectionState.OPEN:
            self._raw_write(self._socket.send(event))

    def close(self) -> None:
        """Say goodbye; the client closes."""
        self._send(CloseConnection(1000))
        self.loop.call_later(1.0, self._raw_close)

    def lost(self) -> None:
        """The client is gone."""
        self._end.stop()


class _Command:
    """The channels of one command."""

    def __init__(self, session: CommandSession, protocol: str, link: WebSocketSession) -> None:
        self._session, self._protocol, self._link = session, protocol, link
        self._driver = CommandDriver(session, self, link.loop)
        self.waiting = link.waiting

    @property
    def full(self) -> bool:
        return self._driver.full

    def begin(self) -> None:
        """Tell the client by an empty message that the streams are there, and let the process run."""
        if not self._protocol.startswith("v5"):
            self._link.send(_STDOUT if self._session.stdout else _STDERR if self._session.stderr else _ERROR, b"")
        self._link.loop.call_soon(self._driver.pump)

    def message(self, data: bytes) -> None:
        if data[:1] == bytes([_STDIN]):
            self._driver.feed(data[1:])
        elif data[:2] == bytes([_CLOSE, _STDIN]) and self._protocol.startswith("v5"):
            self._driver.end_input()

    def output(self, stream: str, data: bytes) -> None:
        self._link.send(_STDOUT if stream == "stdout" else _STDERR, data)

    def ended(self) -> None:
        told = (exit_status if self._protocol.startswith(("v4", "v5")) else plain_exit)(self._session.process)
        if told:
            self._link.send(_ERROR, told)
        self._link.close()

    def stop(self) -> None:
        self._driver.leave()


class _Ports:
    """Two channels for each port that the request names: data, and errors."""

    full: Final = False

    def __init__(self, session: PortSession, link: WebSocketSession) -> None:
        self._session, self._link = session, link
        self._handlers: dict[int, PortHandler] = {}

    def begin(self) -> None:
        """Tell the number of the port on each channel, and what is wrong with a port on that of its errors."""
        for number, port in enumerate(self._session.ports):
            for stream in (2 * number, 2 * number + 1):
                self._link.send(stream, struct.pack("<H", port & 0xFFFF))
            try:
                self._handlers[2 * number] = self._session.handler(port)
            except StatusError as error:
                self._link.send(2 * number + 1, str(error).encode())

    def message(self, data: bytes) -> None:
        handler = self._handlers.get(data[0]) if data else None
        answer = handler(data[1:]) if handler is not None and len(data) > 1 else b""
        if answer:
            self._link.send(data[0], answer)
        if handler is not None and has_closed(handler):
            del self._handlers[data[0]]
            if not self._handlers:
                self._link.close()

    def stop(self) -> None:
        self._handlers.clear()


class _Tunnel:
    """SPDY in binary messages."""

    full: Final = False

    def __init__(self, session: PortSession, link: WebSocketSession) -> None:
        self._spdy = SpdySession(session, "", link.send_message, link.close, link.waiting, link.loop)

    def begin(self) -> None:
        """The client begins."""

    def message(self, data: bytes) -> None:
        self._spdy.received(data)

    def stop(self) -> None:
        self._spdy.lost()
