"""Watches over WebSockets: each event is one message, as consoles in browsers read them.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/watch.go (``HandleWS``) and the handshake of
golang.org/x/net/websocket, which that rests on, release 1.30.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from simkit.engine.authn.bearer import IN_PROTOCOL
from simkit.meta.message import Request

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""The identifier that the answer to a WebSocket's key is made with (RFC 6455)."""
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
    offered = [each.strip() for text in request.headers.get("sec-websocket-protocol", ()) for each in text.split(",")]
    if "authorization" not in request.headers:
        offered = [each for each in offered if not each.startswith(IN_PROTOCOL)]  # that was read as a token
    if len(offered) > 1:
        return _REFUSED + b"\r\n", False
    accepted = base64.b64encode(hashlib.sha1(key.encode("latin-1") + _GUID).digest())  # noqa: S324 - RFC 6455
    lines = [b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade"]
    lines.append(b"Sec-WebSocket-Accept: " + accepted)
    lines += [b"Sec-WebSocket-Protocol: " + each.encode("latin-1") for each in offered]
    return b"\r\n".join([*lines, b"", b""]), True


class WatchSocket(asyncio.Protocol):
    """A connection that has become a WebSocket, on which events are sent. What the client says is dropped.

    Parameters
    ----------
    gone
        Called when the connection is lost.
    text
        Whether events are texts; else they are protobuf.
    """

    def __init__(self, transport: asyncio.Transport, gone: Callable[[Exception | None], None], *, text: bool) -> None:
        self._transport, self._gone, self._text = transport, gone, text
        self._socket = Connection(ConnectionType.SERVER)
        self._writable, self._ended = asyncio.Event(), asyncio.Event()
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._socket.receive_data(data)
            for event in self._socket.events():
                if isinstance(event, Ping):
                    self._transport.write(self._socket.send(event.response()))
                elif isinstance(event, CloseConnection):
                    self._ended.set()
        except (RemoteProtocolError, LocalProtocolError):
            self._transport.abort()

    def pause_writing(self) -> None:
        """The client does not read: wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has read."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()
        self._writable.set()
        self._gone(exc)

    async def receive(self) -> Any:
        """Return when the client has ended the watch, in the words of ASGI."""
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Send an event, given in the words of ASGI; without one, wait until the client has read."""
        frame = message["body"]
        if frame and not self._ended.is_set():
            event = TextMessage(frame.decode()) if self._text else BytesMessage(frame[_LENGTH:])
            self._transport.write(self._socket.send(event))
        await self._writable.wait()

    def close(self) -> None:
        """Say goodbye, and close once all is sent."""
        if self._socket.state is ConnectionState.OPEN and not self._transport.is_closing():
            self._transport.write(self._socket.send(CloseConnection(1000)))
        self._transport.close()
