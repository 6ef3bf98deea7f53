"""Watches over WebSockets: each event is one message, as consoles in browsers read them.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (``HandleWS``) and the handshake of
golang.org/x/net/websocket, which that rests on, release 1.30.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError, generate_accept_token

from simkit.engine.authn.bearer import IN_PROTOCOL, offered_protocols
from simkit.engine.http.upgrade.switch import UpgradedConnection
from simkit.meta.message import Request

_ORIGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.|/")
_LENGTH: Final = 4
"""Bytes before each event in protobuf that tell its length to readers of a stream; messages have their own."""
_REFUSED: Final = b"HTTP/1.1 400 Bad Request\r\n"


def handshake(request: Request) -> tuple[bytes, bool]:
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
