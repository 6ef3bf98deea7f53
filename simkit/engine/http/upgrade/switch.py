"""The change of a connection's protocol: the answer to the request for it, and what reads the connection then."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, Protocol

from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError, generate_accept_token

from simkit.engine.authn.bearer import IN_PROTOCOL, offered_protocols
from simkit.engine.http.loop_turns import reading_turns
from simkit.engine.http.upgrade.remote_command import PORT_FORWARD, channel
from simkit.engine.http.upgrade.spdy_session import SpdySession
from simkit.engine.http.upgrade.websocket_session import COMMANDS, PORTS, WebSocketSession
from simkit.engine.pipeline.subresources.connection_target import CommandSession, Session
from simkit.meta.errors import StatusError, bad_request
from simkit.meta.message import Request

_SPDY_COMMANDS: Final = (*map(channel, ("v4", "v3", "v2")), channel())
_SPDY_PORTS: Final = (PORT_FORWARD,)
_PIECE: Final = 1024
"""Bytes that are handed on at once: there may be hundreds of frames in them."""
_SLICE: Final = 0.001
"""Seconds for which the bytes of one connection are handed on."""
_PATIENCE: Final = 0.01
"""Seconds after which a link that was full is looked at again."""
Header = tuple[bytes, bytes]


class _Link(Protocol):
    @property
    def full(self) -> bool:
        """True while it holds so much that no more should be read."""
        ...

    def received(self, data: bytes) -> None: ...

    def lost(self) -> None: ...


class UpgradedConnection(asyncio.Protocol):
    """Reads a connection after its protocol has changed: for a millisecond, then others get their turn.

    A client that does not read its answers is not read either, nor one whose input nobody takes.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        gone: Callable[[Exception | None], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._transport, self._gone, self._loop = transport, gone, loop
        self.link: _Link | None = None
        self._unread: deque[bytes] = deque()
        """The bytes that were received and not handed on yet."""
        self._reads_on = self._paused = self._full = False
        self._turns = reading_turns(loop)
        self._room = asyncio.Event()
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._unread.extend(data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
        if self._reads_on:
            return
        if self._turns.crowded:
            self._read_later()
        else:
            self._read_on()

    def _read_later(self) -> None:
        """Leave what was received for one of the loop's next turns, and take no more until then."""
        self._pause(True)
        self._reads_on = True
        self._turns.later(self._loop, self._read_on)

    def _read_on(self) -> None:
        """Hand on what was received until it takes too long, and the rest in the loop's next turn."""
        self._reads_on, enough = False, perf_counter() + _SLICE
        while self._unread and not self._full and self.link is not None and not self._transport.is_closing():
            if self.link.full:
                break
            self.link.received(self._unread.popleft())
            if perf_counter() > enough:
                break
        if self._transport.is_closing():
            self._unread.clear()
            return
        self._pause(bool(self._unread) or self._full)
        if self._unread and self.link is not None and self.link.full:
            self._reads_on = True
            self._loop.call_later(_PATIENCE, self._read_on)
        elif self._unread and not self._full:
            self._read_later()

    def _pause(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            self._transport.pause_reading() if paused else self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Read no more while the client has much to read."""
        self._full = True
        self._room.clear()

    def resume_writing(self) -> None:
        """Go on reading, since the client does."""
        self._full = False
        self._room.set()
        if not self._reads_on:
            self._read_on()

    async def drained(self) -> None:
        """Return when there is room to write more, or nobody is there to read it."""
        await self._room.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.clear()
        self._room.set()
        if self.link is not None:
            self.link.lost()
        self._gone(exc)

    def write(self, data: bytes) -> None:
        """Send bytes, as long as the client is there."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Close once all is sent."""
        if not self._transport.is_closing():
            self._transport.close()

    def waiting(self) -> int:
        """Bytes that the client has not read."""
        return self._transport.get_write_buffer_size()


def handshake(request: Request, session: Session) -> tuple[list[Header], str]:
    """The headers of the answer, and the protocol that was agreed on. Raises 400 and 403 StatusError."""
    wanted = request.header("upgrade").lower()
    if wanted == "websocket":
        return _websocket(request, session)
    if wanted == "spdy/3.1":
        return _spdy(request, session)
    raise bad_request(f'unable to upgrade: missing upgrade headers in request: "{wanted}"')


def _websocket(request: Request, session: Session) -> tuple[list[Header], str]:
    key = request.header("sec-websocket-key")
    if not key or request.header("sec-websocket-version") != "13":
        raise bad_request("websocket: bad handshake")
    accepted = generate_accept_token(key.encode())
    headers = [(b"upgrade", b"websocket"), (b"connection", b"Upgrade"), (b"sec-websocket-accept", accepted)]
    offered = offered_protocols(request.headers)
    known = COMMANDS if isinstance(session, CommandSession) else PORTS
    protocol = _agreed(offered, known)
    if protocol:
        headers.append((b"sec-websocket-protocol", protocol.encode()))
    elif offered:
        raise bad_request("websocket: no supported protocol is offered")
    return headers, protocol or channel()


def _spdy(request: Request, session: Session) -> tuple[list[Header], str]:
    offered = [
        each.strip() for text in request.headers.get("x-stream-protocol-version", ()) for each in text.split(",")
    ]
    known = _SPDY_COMMANDS if isinstance(session, CommandSession) else _SPDY_PORTS
    protocol = _agreed(offered, known)
    if offered and not protocol:
        told = f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(offered)}]"
        raise StatusError(403, "Forbidden", f"{told}, server accepts [{' '.join(known)}]")
    headers = [(b"upgrade", b"SPDY/3.1"), (b"connection", b"Upgrade")]
    if protocol:
        headers.append((b"x-stream-protocol-version", protocol.encode()))
    return headers, protocol


def _agreed(offered: Sequence[str], known: Sequence[str]) -> str:
    return next((each for each in offered if each in known), "")


def switch(
    request: Request,
    session: Session,
    transport: asyncio.Transport,
    gone: Callable[[Exception | None], None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Change the protocol of a connection, and let the session begin on it. Raises StatusError where it cannot be."""
    headers, protocol = handshake(request, session)
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    transport.write(b"HTTP/1.1 101 Switching Protocols\r\n" + lines + b"\r\n")
    connection = UpgradedConnection(transport, gone, loop)
    transport.set_protocol(connection)
    make = WebSocketSession if request.header("upgrade").lower() == "websocket" else SpdySession
    connection.link = make(session, protocol, connection.write, connection.close, connection.waiting, loop)


# Watches over WebSockets: each event is one message, as consoles in browsers read them.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (``HandleWS``) and the handshake of
# golang.org/x/net/websocket, which that rests on, release 1.30.

_ORIGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.|/")
_LENGTH: Final = 4
"""Bytes before each event in protobuf that tell its length to readers of a stream; messages have their own."""
_REFUSED: Final = b"HTTP/1.1 400 Bad Request\r\n"


def watch_handshake(request: Request) -> tuple[bytes, bool]:
    """The answer to a client that asks for a watch as a WebSocket; True if it is one.

    A refusal is no Status, and has no headers: kube-apiserver does not write it either, but a library of its own.
    """
    key = request.header("sec-websocket-key")
    if not key:
        return _REFUSED + b"\r\nmismatch challenge/response", False
    if request.header("sec-websocket-version") != "13":
        return _REFUSED + b"Sec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version", False
    if not _ORIGIN.match(request.header("origin")):
        return b"HTTP/1.1 403 Forbidden\r\n\r\n", False
    offered = offered_protocols(request.headers)
    if "authorization" not in request.headers:
        offered = [each for each in offered if not each.startswith(IN_PROTOCOL)]  # that was read as a token
    if len(offered) > 1:
        return _REFUSED + b"\r\n", False
    lines = [b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade"]
    lines.append(b"Sec-WebSocket-Accept: " + generate_accept_token(key.encode()))
    lines += [b"Sec-WebSocket-Protocol: " + each.encode() for each in offered]
    return b"\r\n".join([*lines, b"", b""]), True


class WatchSocket:
    """The WebSocket on which the events of a watch are sent. What the client says is dropped.

    Parameters
    ----------
    text
        Whether events are texts; else they are protobuf.
    """

    full: Final = False

    def __init__(self, connection: UpgradedConnection, *, text: bool) -> None:
        self._connection, self._text = connection, text
        self._socket = Connection(ConnectionType.SERVER)
        self._ended = asyncio.Event()

    def received(self, data: bytes) -> None:
        """Take bytes from the client; what is no WebSocket ends the connection."""
        try:
            self._socket.receive_data(data)
            for event in self._socket.events():
                if isinstance(event, Ping):
                    self._connection.write(self._socket.send(event.response()))
                elif isinstance(event, CloseConnection):
                    self._ended.set()
        except (RemoteProtocolError, LocalProtocolError):
            self._connection.close()

    def lost(self) -> None:
        """The client is gone."""
        self._ended.set()

    async def receive(self) -> Any:
        """Return when the client has ended the watch, in the words of ASGI."""
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Send an event, given in the words of ASGI; without one, wait until the client has read."""
        frame = message["body"]
        if frame and not self._ended.is_set():
            event = TextMessage(frame.decode()) if self._text else BytesMessage(frame[_LENGTH:])
            self._connection.write(self._socket.send(event))
        await self._connection.drained()

    def close(self) -> None:
        """Say goodbye, and close once all is sent."""
        if self._socket.state is ConnectionState.OPEN:
            self._connection.write(self._socket.send(CloseConnection(1000)))
        self._connection.close()
